package file

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// The index is one sealed record with the state of every thread in the table and the size
// of the journal that it reflects. With it, Open reads only what was appended since. It is
// a cache: if it is missing or does not match a journal, Open reads the whole journal.

// The index is saved by Close, and after the journals grew by indexEvery bytes or by
// indexTimes its own size, whichever is more, so that saving it stays cheap.
const (
	indexEvery = 64 << 20
	indexTimes = 16
)

type index struct {
	Format  int            `json:"format"`
	Clock   int64          `json:"clock"`
	Threads []*indexThread `json:"threads"`
}

type indexThread struct {
	threads.Head
	Kept      map[string]json.RawMessage `json:"notes,omitempty"` // the notes of Head, whose JSON has none
	Nonce     string                     `json:"nonce"`
	First     span                       `json:"first"` // the record with the nonce
	Size      int64                      `json:"size"`
	Doomed    *awaken.ChildStrategy      `json:"doomed,omitempty"`
	Unread    []string                   `json:"unread,omitempty"`
	Decided   []*awaken.Decided          `json:"decided,omitempty"`
	Base      *base                      `json:"base,omitempty"`
	Copied    span                       `json:"copied,omitzero"`
	CopiedTo  int64                      `json:"copied_to,omitempty"`
	CopiedSeq int                        `json:"copied_seq,omitempty"`
	Runs      []indexRun                 `json:"runs,omitempty"`
}

type indexRun struct {
	ID     string           `json:"id"`
	Status awaken.RunStatus `json:"status"`
	Born   int64            `json:"born"`
	At     span             `json:"at"`
}

// indexFile is the index on the disk.
type indexFile struct {
	folder *folder
	table  *table
	logger *slog.Logger

	saving sync.Mutex // held while it is written
	size   int64      // of the saved index; guarded by table.mu
}

// load returns the threads of the index by the name of their journals; nil if it is not
// usable.
func (x *indexFile) load() map[string]*indexThread {
	ix, err := x.read()
	if err != nil {
		x.logger.Warn("the index is not usable and will be rebuilt", "error", err)
		return nil
	}
	out := map[string]*indexThread{}
	for _, t := range ix.Threads {
		out[fileName(t.ID)+".log"] = t
	}
	x.table.clock = ix.Clock
	return out
}

func (x *indexFile) read() (ix index, err error) {
	f, err := x.folder.root.Open("index")
	if missing(err) {
		return ix, nil
	}
	if err != nil {
		return ix, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ix, err
	}
	payload, err := readRecord(f, "index", span{0, max(info.Size(), headerSize)})
	if err != nil {
		return ix, err
	}
	if err := json.Unmarshal(payload, &ix); err != nil {
		return index{}, err
	}
	if ix.Format != format {
		return index{}, fmt.Errorf("the index has format %d, want %d", ix.Format, format)
	}
	return ix, nil
}

// saveSometimes saves the index if the journals grew enough.
func (x *indexFile) saveSometimes() {
	x.table.mu.Lock()
	due := x.table.grown > max(indexEvery, indexTimes*x.size)
	x.table.mu.Unlock()
	if !due || !x.saving.TryLock() {
		return
	}
	defer x.saving.Unlock()
	if err := x.write(); err != nil {
		x.logger.Warn("cannot save the index", "error", err)
	}
}

func (x *indexFile) save() error {
	x.saving.Lock()
	defer x.saving.Unlock()
	return x.write()
}

// write requires x.saving.
func (x *indexFile) write() error {
	x.table.mu.Lock()
	ix := index{Format: format, Clock: x.table.clock, Threads: make([]*indexThread, 0, len(x.table.threads))}
	for _, t := range x.table.threads {
		if t.journal.size == 0 {
			continue // it is being created
		}
		it := &indexThread{Head: t.Head, Kept: t.Notes, Nonce: t.journal.nonce, First: t.journal.first, Size: t.journal.size, Doomed: t.doomed,
			Unread: slices.Clone(t.unread), Decided: slices.Clone(t.decided), Base: t.base, Copied: t.copied, CopiedTo: t.copies.to, CopiedSeq: t.copies.seq}
		it.Thread = *t.Export()
		for _, r := range t.runs {
			it.Runs = append(it.Runs, indexRun{r.id, r.status, r.born, r.at})
		}
		ix.Threads = append(ix.Threads, it)
	}
	x.table.grown = 0
	x.table.mu.Unlock()
	payload, err := json.Marshal(&ix)
	if err != nil {
		return fmt.Errorf("save the index: %w", err)
	}
	buf := append(make([]byte, headerSize), payload...)
	if err := seal(buf); err != nil {
		return fmt.Errorf("save the index: %w", err)
	}
	if err := x.folder.replace("index", buf); err != nil {
		return fmt.Errorf("save the index: %w", err)
	}
	x.table.mu.Lock()
	x.size = int64(len(buf))
	x.table.mu.Unlock()
	return nil
}
