package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/awaken-go/awaken/engine/internal/shorten"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// summary makes one summary.
type summary struct {
	*registry.Summariser
	paid    llm.Model // with retries and, if there is a budget, metered
	ratio   float64   // reported tokens per estimated token
	routing llm.Routing
	caller  llm.Caller
	limits  llm.ReplyLimits

	mu    sync.Mutex
	usage llm.Usage
}

// summarise summarises messages. Summaries among them are the summary so far.
func (s *summary) summarise(ctx context.Context, msgs []*llm.Message) (string, error) {
	var previous []string
	for _, m := range msgs {
		if m.IsSummary() {
			previous = append(previous, builtin.SummaryText(m))
		}
	}
	lines := shorten.Transcript(msgs, s.Artifact.Preview)
	if len(lines) == 0 {
		return "", errors.New("nothing to summarise")
	}
	size := s.Window
	for attempt := 0; ; attempt++ {
		text, err := s.reduce(ctx, lines, strings.Join(previous, "\n\n"), size, 0)
		if llm.KindOf(err) != llm.ContextOverflow || attempt == maxShrinks {
			return text, err
		}
		size /= 2
	}
}

const (
	maxShrinks   = 4 // how often the window is halved after an overflow
	maxReduces   = 6 // how often summaries are summarised
	maxSummaries = 4 // concurrent requests
)

// reduce summarises a transcript with one request, if it fits into a window of that size.
// Otherwise it summarises parts, and then their summaries.
func (s *summary) reduce(ctx context.Context, lines []string, previous string, size, depth int) (string, error) {
	out := min(s.MaxTokens(), size/4)
	room := int(float64(size-out)/s.ratio*0.9) - (len(s.SummarizerSystemPrompt)+len(s.SummarizerUserPrompt)+len(previous))/4 - 64
	if room < 64 {
		return "", &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf("a context of %d tokens leaves no room for a conversation to summarise", size)}
	}
	parts := shorten.Pack(lines, 4*room)
	if len(parts) == 1 {
		return s.ask(ctx, parts[0], previous, out)
	}
	if depth == maxReduces {
		return "", errors.New("the summaries are no shorter than the parts they summarise")
	}
	short := make([]string, len(parts))
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxSummaries)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, part := range parts {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			var text string
			if text, errs[i] = s.ask(ctx, part, "", min(out, room/4)); errs[i] != nil {
				cancel()
			}
			short[i] = fmt.Sprintf("[Summary of part %d of %d]: %s", i+1, len(parts), text)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && llm.KindOf(err) != llm.Cancelled {
			return "", err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return s.reduce(ctx, short, previous, size, depth+1)
}

// ask makes one request. A panic of the model is an error.
func (s *summary) ask(ctx context.Context, transcript, previous string, out int) (text string, err error) {
	defer caught(&err, "model %q", s.Upstream)
	req := &llm.Request{Model: s.Upstream, Messages: llm.NewMessages(llm.UserText(s.Prompt(transcript, previous))), Routing: s.routing, Caller: s.caller, IdleTimeout: s.Idle}
	if s.SummarizerSystemPrompt != "" {
		req.System = []llm.Block{llm.Text(s.SummarizerSystemPrompt)}
	}
	req.MaxTokens = &out
	req.Limits = &s.limits
	var got llm.Collector
	defer got.Release()
	got.Bound(req)
	var failed error
	for d, err := range s.paid.Stream(ctx, req) {
		if failed = err; err == nil {
			failed = got.Add(d)
		}
		if failed != nil {
			break
		}
	}
	s.mu.Lock()
	s.usage.Add(got.Usage())
	s.mu.Unlock()
	switch {
	case failed != nil:
		return "", failed
	case ctx.Err() != nil:
		return "", &llm.Error{Kind: llm.Cancelled, Err: context.Cause(ctx)}
	case !got.Finished():
		return "", &llm.Error{Kind: llm.Interrupted, Message: "the stream ended without a finish"}
	}
	text = strings.TrimSpace(got.Message().Text())
	if text == "" {
		return "", errors.New("the summary is empty")
	}
	return shorten.MiddleOut(text, 4*4*out), nil // in case the model ignored its limit
}
