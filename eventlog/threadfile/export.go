package threadfile

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/llm"
)

// page is the number of records read at a time.
const page = 256

// Export writes a thread to w: its log as of the call, and its runs. If the thread does not exist
// it returns [awaken.ErrNotFound] and writes nothing.
func Export(ctx context.Context, store awaken.Store, threadID string, w io.Writer) error {
	if err := export(ctx, store, threadID, w); err != nil {
		return fmt.Errorf("export thread %s: %w", threadID, err)
	}
	return nil
}

func export(ctx context.Context, store awaken.Store, threadID string, w io.Writer) error {
	t, err := store.Thread(ctx, threadID)
	if err != nil {
		return err
	}
	buf, sum := bufio.NewWriter(w), sha256.New()
	out := json.NewEncoder(io.MultiWriter(buf, sum))
	if err := out.Encode(header{format, version, t}); err != nil {
		return err
	}
	var last end
	for last.Messages < t.MessageCount {
		records, err := store.Messages(ctx, threadID, awaken.MessageQuery{After: last.Messages, Before: t.MessageCount + 1, Limit: page})
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return fmt.Errorf("the log has %d of %d messages", last.Messages, t.MessageCount)
		}
		for i := range records {
			if err := attach(ctx, store, &records[i]); err != nil {
				return err
			}
			if err := out.Encode(line{Message: &records[i]}); err != nil {
				return err
			}
		}
		last.Messages += len(records)
	}
	runs, err := allRuns(ctx, store, threadID)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := out.Encode(line{Run: r}); err != nil {
			return err
		}
	}
	last.Runs, last.SHA256 = len(runs), hex.EncodeToString(sum.Sum(nil))
	if err := out.Encode(line{End: &last}); err != nil {
		return err
	}
	return buf.Flush()
}

// attach puts the stored files of a message into it, so that the file is complete. One that is gone becomes a
// text.
func attach(ctx context.Context, store awaken.Store, r *awaken.MessageRecord) error {
	if r.Message == nil || !r.Message.HasBlobs() {
		return nil
	}
	a := blob.Attacher{Store: blob.Of(store), Most: math.MaxInt64}
	list, err := a.Messages(ctx, []*llm.Message{r.Message}, func(b llm.Block) llm.Block {
		return llm.Text(fmt.Sprintf("(The %s that was here, %s, is not available any more.)", b.Type, b.Source.MediaType))
	})
	if err == nil {
		r.Message = list[0]
	}
	return err
}

// allRuns returns the runs of a thread, oldest first. A run that begins meanwhile shifts the
// pages; a run that is listed twice is returned once.
func allRuns(ctx context.Context, store awaken.Store, threadID string) ([]*awaken.Run, error) {
	var out []*awaken.Run
	seen := map[string]bool{}
	for r, err := range awaken.Pages(ctx, page, func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
		return store.ListRuns(ctx, awaken.RunQuery{ThreadID: threadID, Offset: offset, Limit: limit})
	}) {
		if err != nil {
			return nil, err
		}
		if !seen[r.RunID] {
			seen[r.RunID] = true
			out = append(out, r)
		}
	}
	slices.Reverse(out)
	return out, nil
}
