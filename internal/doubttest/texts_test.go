//go:build unix

package doubttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/threadfile"
	"github.com/awaken-go/awaken/internal/claimtest"
)

// eventFolder is the folder of the files in which a server writes the events of runs.
const eventFolder = "events"

// texts returns everything that clients of every protocol, people, receivers of webhooks, collectors and exports are given about
// threads.
func (l *lane) texts(ctx context.Context, threads ...string) (out []string, err error) {
	for _, thread := range threads {
		paths := []string{"/v1/threads/" + thread, "/v1/threads/" + thread + "/messages?limit=200", "/v1/threads/" + thread + "/events?limit=200",
			"/v1/ai-sdk/threads/" + thread + "/messages?limit=200", "/v1/ai-sdk/threads/" + thread + "/replay?limit=500",
			"/v1/ag-ui/threads/" + thread + "/messages?limit=200", "/v1/ag-ui/threads/" + thread + "/replay?limit=500",
			"/v1/approvals?thread_id=" + thread, "/v1/traces?thread_id=" + thread}
		runs, err := l.runs(ctx, thread)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			paths = append(paths, "/v1/runs/"+r.ID, "/v1/runs/"+r.ID+"/events?limit=200", "/v1/runs/"+r.ID+"/timeline", "/v1/runs/"+r.ID+"/explain",
				"/v1/decisions?run_id="+r.ID, "/v1/a2a/tasks/"+r.ID, "/openai/v1/responses/resp_"+r.ID, "/v1/traces/"+r.ID)
			out = append(append(out, l.receiver.about(r.ID)...), l.observed(r.ID)...)
			text, err := l.resource(ctx, "awaken://runs/"+r.ID)
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
		for _, path := range paths {
			text, err := l.get(ctx, path, nil)
			if err != nil {
				return nil, err
			}
			out = append(out, path+"\n"+text)
		}
		text, err := l.resource(ctx, "awaken://threads/"+thread)
		if err != nil {
			return nil, err
		}
		asks := len(runs) > 0 && runs[0].Waiting != nil && len(runs[0].Waiting.Tickets) > 0
		lines, err := loaded(ctx, l.job.Editors, thread, asks)
		if err != nil {
			return nil, err
		}
		var file bytes.Buffer
		if err := threadfile.Export(ctx, l.store, thread, &file); err != nil {
			return nil, err
		}
		out = append(append(out, text, "export\n"+file.String()), lines...)
	}
	return out, nil
}

// observed returns what the collector and the files of events have about a run.
func (l *lane) observed(run string) (out []string) {
	for _, span := range l.spans.Spans() {
		if text := span.String(); strings.Contains(text, run) {
			out = append(out, text)
		}
	}
	files, _ := filepath.Glob(filepath.Join(l.job.Dir, eventFolder, "*")) // the pattern is correct
	for _, name := range files {
		data, _ := os.ReadFile(name) // it may have been removed
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, run) {
				out = append(out, line)
			}
		}
	}
	return out
}

// sent waits until receivers and collectors have what they get about the runs of a thread, and returns it.
func (l *lane) sent(ctx context.Context, thread string) (out []string, err error) {
	err = poll(ctx, func() error {
		runs, err := l.runs(ctx, thread)
		if err != nil {
			return err
		}
		out = nil
		for _, r := range runs {
			want := map[string]string{"done": `"run.finished"`, "waiting": `"run.waiting"`}[r.Status]
			says := func(text string) bool { return strings.Contains(text, want) }
			if got := l.receiver.about(r.ID); want == "" || !slices.ContainsFunc(got, says) {
				return fmt.Errorf("the receiver of run %s, which is %s, has %q", r.ID, r.Status, got)
			}
			spans := l.observed(r.ID)
			if len(spans) == 0 {
				return fmt.Errorf("the collector has no span of run %s", r.ID)
			}
			out = append(append(out, spans...), l.receiver.about(r.ID)...)
		}
		return nil
	})
	return out, err
}

// receiver takes the messages of webhooks and push notifications.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the server was killed
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, string(body))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

// about returns the messages about a run.
func (r *receiver) about(run string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.got {
		if strings.Contains(text, run) {
			out = append(out, text)
		}
	}
	return out
}

// known are the claims that settlements allow, and what the model reads then.
var known = map[awaken.Outcome]struct {
	claims *regexp.Regexp
	told   *regexp.Regexp
}{
	awaken.OutcomeInDoubt: {regexp.MustCompile(`^$`), regexp.MustCompile(`whether it took effect is not known`)},
	awaken.OutcomeMade:    {regexp.MustCompile(`^(took effect)$`), regexp.MustCompile(`took effect, as a person has found out|r-17`)},
	awaken.OutcomeNotMade: {regexp.MustCompile(`^(did not take effect)$`),
		regexp.MustCompile(`did not take effect, as a person has found out`)},
}

// check returns an error if a text claims something about a call that its outcome does not say.
func check(texts []string, outcome awaken.Outcome, call string) error {
	for _, text := range texts {
		for _, claim := range claims(text) {
			if !known[outcome].claims.MatchString(claim) {
				return fmt.Errorf("claims %q in\n%s", claim, text)
			}
		}
		if outcome != awaken.OutcomeInDoubt {
			continue
		}
		if found := verdicts(text, call); len(found) > 0 {
			return fmt.Errorf("says %q of the call in\n%s", found, text)
		}
	}
	return nil
}

// judged has the claims of strings, by string: most of what is read was read before.
var judged sync.Map

// handedOver is what is said about the call beside the one in doubt, and is known.
const handedOver = "tool handoff_to_other completed"

// claims returns the claims in a text. A text in JSON is read string by string.
func claims(text string) (out []string) {
	for part := range strings.SplitSeq(strings.ReplaceAll(text, handedOver, ""), `"`) {
		found, ok := judged.Load(part)
		if !ok {
			found = claimtest.Find(part)
			judged.Store(part, found)
		}
		out = append(out, found.([]string)...)
	}
	return out
}

// verdicts returns what the objects of JSON in a text that name a call say about its end, if that is a claim.
func verdicts(text, call string) (out []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(line, "data: ")
		if !strings.Contains(line, call) {
			continue
		}
		var v any
		if json.Unmarshal([]byte(line), &v) == nil {
			out = append(out, claimtest.Verdicts(v, call)...)
		}
	}
	return out
}
