package blob

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Attacher puts the bytes of stored files into messages that refer to them. It keeps what it has read, for
// the next messages. It is not safe for concurrent use.
type Attacher struct {
	Store Store // nil means that there are no files
	Most  int64 // bytes of files in messages, and of those that are kept
	// Admit, if not nil, is asked before a file of so many bytes is read. One that it refuses is too much.
	Admit func(size int64) bool

	sources map[string]attached // by ID
	kept    int64
}

// attached is a file that was read.
type attached struct {
	*llm.Source
	size int64
}

// Messages returns messages with the bytes of files instead of references. If there are more than a.Most
// bytes, the latest have them. It calls without for the block of a file that is gone, or too much;
// messages with files are copied.
func (a *Attacher) Messages(ctx context.Context, msgs []*llm.Message, without func(b llm.Block) llm.Block) ([]*llm.Message, error) {
	copied, left := false, a.Most
	for i, m := range slices.Backward(msgs) {
		if !m.HasBlobs() {
			continue
		}
		content, err := a.blocks(ctx, m.Content, &left, without)
		if err != nil {
			return nil, err
		}
		if !copied {
			msgs, copied = slices.Clone(msgs), true
		}
		own := *m
		own.Content, msgs[i] = content, &own
	}
	return msgs, nil
}

func (a *Attacher) blocks(ctx context.Context, blocks []llm.Block, left *int64, without func(b llm.Block) llm.Block) ([]llm.Block, error) {
	out := make([]llm.Block, len(blocks))
	for i, b := range slices.Backward(blocks) {
		switch {
		case b.Tool != nil && len(b.Tool.Content) > 0:
			part := *b.Tool
			content, err := a.blocks(ctx, part.Content, left, without)
			if err != nil {
				return nil, err
			}
			part.Content, b.Tool = content, &part
		case b.Source != nil && b.Source.Type == "blob":
			src, err := a.source(ctx, b.Source, left)
			if err != nil {
				return nil, err
			}
			if src == nil {
				b = without(b)
			} else {
				b.Source = src
			}
		}
		out[i] = b
	}
	return out, nil
}

// source returns a file as an inline source, or nil if it is gone or the bytes left do not suffice. The size
// of the reference does not count: a client may have made it up.
func (a *Attacher) source(ctx context.Context, ref *llm.Source, left *int64) (*llm.Source, error) {
	if a.Store == nil {
		return nil, nil
	}
	got, ok := a.sources[ref.ID]
	if !ok {
		var err error
		if got, err = a.read(ctx, ref.ID, *left); errors.Is(err, awaken.ErrNotFound) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	if got.Source == nil || got.size > *left {
		return nil, nil
	}
	*left -= got.size
	if !ok && a.kept+got.size <= a.Most {
		if a.sources == nil {
			a.sources = map[string]attached{}
		}
		a.sources[ref.ID] = got
		a.kept += got.size
	}
	return got.Source, nil
}

// read reads a file of at most so many bytes. A larger one has no source.
func (a *Attacher) read(ctx context.Context, id string, most int64) (attached, error) {
	b, r, err := a.Store.Open(ctx, id)
	if err != nil {
		return attached{}, err
	}
	defer r.Close()
	if b.Size > most || a.Admit != nil && !a.Admit(b.Size) {
		return attached{size: b.Size}, nil
	}
	var text strings.Builder
	text.Grow(base64.StdEncoding.EncodedLen(int(b.Size)))
	enc := base64.NewEncoder(base64.StdEncoding, &text)
	if _, err := io.Copy(enc, r); err != nil {
		return attached{}, fmt.Errorf("blob %s: %w", id, err)
	}
	enc.Close() // a builder never fails
	return attached{llm.Base64(b.MediaType, text.String()), b.Size}, nil
}
