package blob

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Inline is the size up to which a file stays in its message.
const Inline = 8 << 10

// IDs returns the IDs of the blobs that messages refer to.
func IDs(msgs ...*llm.Message) []string {
	var ids []string
	for _, m := range msgs {
		for s := range m.Blobs() {
			if !slices.Contains(ids, s.ID) {
				ids = append(ids, s.ID)
			}
		}
	}
	return ids
}

// Size returns how many bytes [DetachMessages] would store.
func Size(msgs ...*llm.Message) (n int64) {
	for _, m := range msgs {
		for i := range m.Content {
			if src := m.Content[i].Source; large(src) {
				n += int64(base64.StdEncoding.DecodedLen(len(src.Data)))
			}
		}
	}
	return n
}

// large reports whether a file does not stay in its message.
func large(src *llm.Source) bool {
	return src != nil && src.Type == "base64" && base64.StdEncoding.DecodedLen(len(src.Data)) > Inline
}

// Detach stores the files of more than [Inline] bytes that blocks hold inline, held by h, and returns
// the blocks with references instead, which is blocks itself if there are none. Data that is not
// base64 stays as it is.
func Detach(ctx context.Context, s Store, h Holder, blocks []llm.Block) ([]llm.Block, error) {
	copied := false
	for i := range blocks {
		src := blocks[i].Source
		if !large(src) {
			continue
		}
		b, err := s.Put(ctx, src.MediaType, base64.NewDecoder(base64.StdEncoding, strings.NewReader(src.Data)), h)
		if _, bad := errors.AsType[base64.CorruptInputError](err); bad || errors.Is(err, awaken.ErrInvalid) || errors.Is(err, io.ErrUnexpectedEOF) {
			continue
		} else if err != nil {
			return nil, err
		}
		if !copied {
			blocks, copied = slices.Clone(blocks), true
		}
		blocks[i].Source = llm.Blob(b.ID, b.MediaType, b.Size)
	}
	return blocks, nil
}

// DetachMessages is [Detach] for the content of messages. Messages are copied before they are changed.
func DetachMessages(ctx context.Context, s Store, h Holder, msgs []*llm.Message) ([]*llm.Message, error) {
	copied := false
	for i, m := range msgs {
		if !slices.ContainsFunc(m.Content, func(b llm.Block) bool { return b.Source != nil && b.Source.Type == "base64" }) {
			continue
		}
		content, err := Detach(ctx, s, h, m.Content)
		if err != nil {
			return nil, err
		}
		own := *m
		own.Content = content
		if !copied {
			msgs, copied = slices.Clone(msgs), true
		}
		msgs[i] = &own
	}
	return msgs, nil
}
