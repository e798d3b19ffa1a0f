package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/llm"
)

// maxShown is how many bytes of stored files a model is shown at once. Of more, the latest are shown.
const maxShown = 32 << 20

// detachInput stores the large files of input, and makes the thread hold all files that the input
// refers to.
func (a *activation) detachInput(ctx context.Context, msgs []*llm.Message) ([]*llm.Message, error) {
	media := false
	for _, m := range msgs {
		for i := range m.Content {
			media = media || m.Content[i].Source != nil
		}
	}
	if !media {
		return msgs, nil
	}
	files := blob.Of(a.rt.cfg.Store)
	refs := blob.IDs(msgs...)
	if files == nil {
		if len(refs) > 0 {
			return nil, fmt.Errorf("%w: messages refer to blob %.80q, but the store keeps none", awaken.ErrInvalid, refs[0])
		}
		return msgs, nil
	}
	var out []*llm.Message
	err := a.waitOut(ctx, func() (err error) { // it may be called again after an error, with the same messages
		if err = files.Hold(ctx, blob.Thread(a.thread), refs...); err == nil {
			out, err = blob.DetachMessages(ctx, files, blob.Thread(a.thread), msgs)
		}
		return err
	})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, fmt.Errorf("%w: messages: %w", awaken.ErrInvalid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("files of thread %s: %w", a.thread, storeError{err})
	}
	return out, nil
}

// detachResult stores the large files of a result. The tool has run, so a file that cannot be stored
// does not lose the result: the file is left out.
func (oc *outcomes) detachResult(ctx context.Context, res *awaken.ToolResult) *awaken.ToolResult {
	if res == nil || fileSize(res) == 0 {
		return res
	}
	files := blob.Of(oc.rt.cfg.Store)
	if files == nil {
		return res
	}
	out := *res
	err := oc.waitOut(detached(ctx), func() (err error) {
		out.Content, err = blob.Detach(detached(ctx), files, blob.Thread(oc.thread), res.Content)
		return err
	})
	if err == nil {
		return &out
	}
	oc.log().Error("the files of a result could not be stored", "tool", res.ToolName, "error", err)
	out.Content = nil
	for _, b := range res.Content {
		if b.Source != nil && b.Source.Type == "base64" {
			b = llm.Text(fmt.Sprintf("(The tool returned a %s here, %s, that could not be stored.)", b.Type, b.Source.MediaType))
		}
		out.Content = append(out.Content, b)
	}
	return &out
}

// fileSize is the number of bytes of the files in a result, in base64.
func fileSize(r *awaken.ToolResult) (n int) {
	for _, b := range r.Content {
		if b.Source != nil {
			n += len(b.Source.Data)
		}
	}
	return n
}

// attached returns the request with the files that its messages refer to. It is not inlined, because its frame is large and the run waits
// for the model below its caller.
//
//go:noinline
func (inf *inference) attached(ctx context.Context) (*llm.Request, error) {
	own := inf.request
	var err error
	own.Messages, err = inf.attach(ctx, own.Messages)
	return &own, err
}

// attach returns messages with the bytes of stored files instead of references. A file that is gone,
// or one too many, becomes a text.
func (inf *inference) attach(ctx context.Context, msgs llm.Messages) (llm.Messages, error) {
	s := inf.journal.scratch
	if s.files == nil {
		s.files = &blob.Attacher{Store: blob.Of(inf.rt.cfg.Store), Most: maxShown}
	}
	var out []*llm.Message
	err := inf.waitOut(ctx, func() (err error) {
		out, err = s.files.Messages(ctx, msgs.Slice(), func(b llm.Block) llm.Block {
			return llm.Text(fmt.Sprintf("(The %s that was here, %s, is not available any more.)", b.Type, b.Source.MediaType))
		})
		return err
	})
	if err != nil {
		return msgs, fmt.Errorf("files of thread %s: %w", inf.thread, storeError{err})
	}
	return llm.NewMessages(out...), nil
}
