package engine_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// picture returns an image of n bytes.
func picture(n int) llm.Block {
	return llm.Image(llm.Base64("image/png", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("p", n)))))
}

// sources returns the sources of all blocks of messages.
func sources(msgs []*llm.Message) (out []*llm.Source) {
	for _, m := range msgs {
		for _, b := range m.Content {
			if b.Source != nil {
				out = append(out, b.Source)
			}
		}
	}
	return out
}

// A large file of input is kept out of the log, and the model gets its bytes in this run and the next.
func TestFiles_OfInputAreStoredOnceAndShownToTheModel(t *testing.T) {
	g := newRig(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two")})
	large, small := picture(100<<10), picture(100)
	g.run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{{Role: llm.User, Content: []llm.Block{llm.Text("look"), large, small}}}})
	g.restart()
	g.run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{{Role: llm.User, Content: []llm.Block{llm.Text("again"), large}}}})

	stored := sources(g.log("t"))
	if len(stored) != 3 || stored[0].Type != "blob" || stored[0].Size != 100<<10 || stored[1].Type != "base64" || stored[2].ID != stored[0].ID {
		t.Fatalf("the log has %s", toJSON(t, stored))
	}
	for n, want := range map[int]int{1: 2, 2: 3} {
		shown := sources(g.request(n).Messages)
		if len(shown) != want {
			t.Fatalf("request %d has %d files, want %d", n, len(shown), want)
		}
		for i, s := range shown {
			if s.Type != "base64" || i != 1 && s.Data != large.Source.Data || i == 1 && s.Data != small.Source.Data {
				t.Errorf("file %d of request %d is %s of %d bytes", i, n, s.Type, len(s.Data))
			}
		}
	}
	if n, err := g.store.Blobs().Total(t.Context()); n != 100<<10 || err != nil {
		t.Errorf("the store has %d bytes of files, %v", n, err)
	}
}

// A file of a result may be longer than a result, is stored, and is shown to the model in the next step.
func TestFiles_OfResults(t *testing.T) {
	large := picture(2 << 20)
	g := newRig(t, []llmtest.Turn{uses("draw"), llmtest.Say("done")}, withTools(tool("draw", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return &awaken.ToolResult{Status: awaken.ToolSuccess, Content: []llm.Block{llm.Text("here"), large}}, nil
	})))
	res, _ := g.run(say("draw"))
	stored := sources(g.log(res.ThreadID))
	if len(stored) != 1 || stored[0].Type != "blob" {
		t.Fatalf("the log has %s", toJSON(t, stored))
	}
	if calls := g.calls(res.RunID); calls[0].Result.Content[1].Source.Type != "blob" {
		t.Error("the ledger has the bytes")
	}
	if shown := sources(g.request(2).Messages); len(shown) != 1 || shown[0].Data != large.Source.Data {
		t.Errorf("the model was shown %d files", len(shown))
	}
}

// Too many bytes of files are an error that the model can read.
func TestFiles_OfResultsHaveALimit(t *testing.T) {
	g := newRig(t, []llmtest.Turn{uses("draw"), llmtest.Say("done")}, withTools(tool("draw", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return &awaken.ToolResult{Status: awaken.ToolSuccess, Content: []llm.Block{picture(3000)}}, nil
	})), func(c *engine.Config) { c.Limits.ToolFileBytes = 2000 })
	res, _ := g.run(say("draw"))
	if r := g.calls(res.RunID)[0].Result; r.Status != awaken.ToolError || !strings.Contains(r.Message, "the limit is 2000") {
		t.Errorf("the result is %s", toJSON(t, r))
	}
}

// A message that refers to a file that is not there is refused, and the thread is as it was.
func TestFiles_ThatAreNotThere(t *testing.T) {
	g := newRig(t, []llmtest.Turn{llmtest.Say("one")})
	_, err := g.rt.Run(t.Context(), awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{{Role: llm.User,
		Content: []llm.Block{llm.Image(llm.Blob(blob.NewDigest("image/png").ID(), "image/png", 5))}}}}, nil)
	if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), "not found") {
		t.Errorf("the error is %v", err)
	}
	if view, err := g.store.View(t.Context(), "t"); err == nil && len(view.Log()) > 0 {
		t.Errorf("the thread has %d messages", len(view.Log()))
	}
}

// gone is a store whose files were all removed.
type gone struct{ awaken.Store }

func (g gone) Blobs() blob.Store { return goneBlobs{g.Store.(blob.Keeper).Blobs()} }

type goneBlobs struct{ blob.Store }

func (goneBlobs) Open(_ context.Context, id string) (*blob.Blob, io.ReadSeekCloser, error) {
	return nil, nil, blob.NotFound(id)
}

// The model is told of a file that is gone, and the run continues.
func TestFiles_ThatAreGone(t *testing.T) {
	g := newRig(t, []llmtest.Turn{llmtest.Say("one")}, withStore(func(s awaken.Store) awaken.Store { return gone{s} }))
	res, p := g.run(awaken.RunRequest{Messages: []*llm.Message{{Role: llm.User, Content: []llm.Block{picture(100 << 10)}}}})
	checkTermination(t, res, p, awaken.NaturalEnd)
	if text := g.request(1).Messages[0].Text(); !strings.Contains(text, "not available any more") {
		t.Errorf("the model was shown %q", text)
	}
}

// away is a store whose files cannot be stored or read as often as its numbers say.
type away struct {
	awaken.Store
	puts, opens *atomic.Int32
}

func (a away) Blobs() blob.Store { return awayBlobs{a.Store.(blob.Keeper).Blobs(), a.puts, a.opens} }

type awayBlobs struct {
	blob.Store
	puts, opens *atomic.Int32
}

var errAway = &fault.Outage{Reason: "the store is away", Err: errors.New("away")}

func (a awayBlobs) Put(ctx context.Context, mediaType string, r io.Reader, h blob.Holder) (*blob.Blob, error) {
	if a.puts.Add(-1) >= 0 {
		return nil, errAway
	}
	return a.Store.Put(ctx, mediaType, r, h)
}

func (a awayBlobs) Open(ctx context.Context, id string) (*blob.Blob, io.ReadSeekCloser, error) {
	if a.opens.Add(-1) >= 0 {
		return nil, nil, errAway
	}
	return a.Store.Open(ctx, id)
}

// owner owns a run, and makes its commits.
type owner struct{ awaken.Store }

func (owner) Check() error { return nil }

// An outage of the store while the files of input are stored, or read for the model, costs an owned run nothing: it has all
// of its input.
func TestFiles_SurviveAnOutage(t *testing.T) {
	var puts, opens atomic.Int32
	puts.Store(1)
	opens.Store(1)
	g := newRig(t, []llmtest.Turn{llmtest.Say("one")}, withStore(func(s awaken.Store) awaken.Store { return away{s, &puts, &opens} }))
	large := picture(100 << 10)
	res, err := g.rt.Run(ownership.With(t.Context(), owner{g.store}), awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{
		llm.UserText("first"), {Role: llm.User, Content: []llm.Block{llm.Text("look"), large}}}}, nil)
	if err != nil || res.Termination.Type != awaken.NaturalEnd || puts.Load() >= 0 || opens.Load() >= 0 {
		t.Fatalf("the run ended with %+v, %v; %d and %d failures are left", res, err, puts.Load(), opens.Load())
	}
	log := g.log("t")
	if stored := sources(log); len(log) != 3 || log[0].Text() != "first" || log[1].Text() != "look" || len(stored) != 1 || stored[0].Type != "blob" {
		t.Errorf("the log is %s", toJSON(t, log))
	}
	if shown := sources(g.request(1).Messages); len(shown) != 1 || shown[0].Data != large.Source.Data {
		t.Errorf("the model was shown %d files", len(shown))
	}
}

// A store that cannot be read is no failure of the model.
func TestFiles_ThatCannotBeReadDoNotOpenTheBreaker(t *testing.T) {
	var puts, opens atomic.Int32
	opens.Store(100)
	g := newRig(t, []llmtest.Turn{llmtest.Say("one")}, withStore(func(s awaken.Store) awaken.Store { return away{s, &puts, &opens} }))
	for range 10 {
		if _, err := g.rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{{Role: llm.User, Content: []llm.Block{picture(100 << 10)}}}}, nil); err == nil {
			t.Fatal("the run did not fail")
		}
	}
	if h := g.rt.Registry().Health(); len(h) != 1 || h[0].State != llm.BreakerClosed || h[0].Failures != 0 {
		t.Errorf("the health of the models is %+v", h)
	}
}
