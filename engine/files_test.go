package engine_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/engine"
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
