package file

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// The index is one record, like those of a journal, that says what is always known
// about every thread, and up to which byte of its journal. Open reads only what was
// written since. It is a help and not the truth: without it, or if it does not fit a
// journal, the whole journal is read.

// The index is saved by Close, and whenever the journals grew by so much since; a
// large one less often, so that saving it stays cheap beside writing the journals.
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
	awaken.Thread
	Nonce      string                `json:"nonce"`
	First      span                  `json:"first"` // the record that says the nonce
	Size       int64                 `json:"size"`
	Doomed     *awaken.ChildStrategy `json:"doomed,omitempty"`
	Fence      uint64                `json:"fence"`
	Generation uint64                `json:"generation,omitempty"`
	Committed  uint64                `json:"committed,omitempty"`
	Touched    int64                 `json:"touched,omitempty"`
	Seq        uint64                `json:"seq,omitempty"`
	Unread     []string              `json:"unread,omitempty"`
	Base       *base                 `json:"base,omitempty"`
	Copied     span                  `json:"copied,omitzero"`
	CopiedTo   int64                 `json:"copied_to,omitempty"`
	CopiedSeq  int                   `json:"copied_seq,omitempty"`
	Runs       []indexRun            `json:"runs,omitempty"`
}

type indexRun struct {
	ID     string           `json:"id"`
	Status awaken.RunStatus `json:"status"`
	Born   int64            `json:"born"`
	At     span             `json:"at"`
}

// loadIndex returns what the index says about each journal, or nothing.
func (s *Store) loadIndex() map[string]*indexThread {
	ix, err := s.readIndex()
	if err != nil {
		s.opts.Logger.Warn("the index cannot be used; it is made again", "error", err)
		return nil
	}
	out := map[string]*indexThread{}
	for _, t := range ix.Threads {
		out[fileName(t.ID)+".log"] = t
	}
	s.clock = ix.Clock
	return out
}

func (s *Store) readIndex() (ix index, err error) {
	f, err := s.root.Open("index")
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
		return index{}, fmt.Errorf("it has format %d, want %d", ix.Format, format)
	}
	return ix, nil
}

// restore takes over what the index says about a thread.
func (s *Store) restore(t *thread, ix *indexThread) {
	t.Thread = ix.Thread
	t.first, t.size, t.doomed = ix.First, ix.Size, ix.Doomed
	t.fence, t.generation, t.committed = ix.Fence, ix.Generation, ix.Committed
	t.touched, t.seq, t.unread = ix.Touched, ix.Seq, ix.Unread
	t.base, t.copied, t.copiedTo, t.copiedSeq = ix.Base, ix.Copied, ix.CopiedTo, ix.CopiedSeq
	for _, r := range ix.Runs {
		ref := &runRef{id: r.ID, thread: t, status: r.Status, born: r.Born, at: r.At}
		t.runs = append(t.runs, ref)
		if r.At.Off >= t.copiedTo {
			t.markStale(ref)
		}
		s.runs[r.ID] = ref
	}
}

// saveIndexSometimes saves the index if it has become worth it.
func (s *Store) saveIndexSometimes() {
	s.mu.Lock()
	due := s.grown > max(indexEvery, indexTimes*s.indexed)
	s.mu.Unlock()
	if !due || !s.saving.TryLock() {
		return
	}
	defer s.saving.Unlock()
	if err := s.writeIndex(); err != nil {
		s.opts.Logger.Warn("the index could not be saved", "error", err)
	}
}

func (s *Store) saveIndex() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	return s.writeIndex()
}

// writeIndex requires s.saving.
func (s *Store) writeIndex() error {
	s.mu.Lock()
	ix := index{Format: format, Clock: s.clock, Threads: make([]*indexThread, 0, len(s.threads))}
	for _, t := range s.threads {
		if t.size == 0 {
			continue // it is being made
		}
		it := &indexThread{Thread: *t.export(), Nonce: t.nonce, First: t.first, Size: t.size, Doomed: t.doomed,
			Fence: t.fence, Generation: t.generation, Committed: t.committed, Touched: t.touched, Seq: t.seq,
			Unread: slices.Clone(t.unread), Base: t.base, Copied: t.copied, CopiedTo: t.copiedTo, CopiedSeq: t.copiedSeq}
		for _, r := range t.runs {
			it.Runs = append(it.Runs, indexRun{r.id, r.status, r.born, r.at})
		}
		ix.Threads = append(ix.Threads, it)
	}
	s.grown = 0
	s.mu.Unlock()
	payload, err := json.Marshal(&ix)
	if err != nil {
		return fmt.Errorf("save the index: %w", err)
	}
	buf := append(make([]byte, headerSize), payload...)
	if err := seal(buf); err != nil {
		return fmt.Errorf("save the index: %w", err)
	}
	if err := s.replace(s.root, "index", buf); err != nil {
		return fmt.Errorf("save the index: %w", err)
	}
	s.mu.Lock()
	s.indexed = int64(len(buf))
	s.mu.Unlock()
	return nil
}
