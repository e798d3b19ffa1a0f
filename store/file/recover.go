package file

import (
	"fmt"
	"log/slog"
	"os"
)

// recovery builds the table from the index and the journals.
type recovery struct {
	table    *table
	journals *journals
	index    map[string]*indexThread // by the name of the journal
	logger   *slog.Logger
}

// thread recovers the thread of a journal and truncates a torn end. Whole reports that it
// read the whole journal, because the index did not know it.
func (rc *recovery) thread(name string) (whole bool, err error) {
	path := journalsDir + "/" + name
	f, err := rc.journals.root.OpenFile(name, os.O_RDWR, fileMode)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	size := info.Size()
	var t *thread
	start := func(payload []byte) error {
		first, _, err := decodeSummary(payload)
		switch {
		case err != nil:
			return err
		case fileName(first.Thread)+".log" != name:
			return fmt.Errorf("it holds thread %q, which belongs in %s.log", first.Thread, fileName(first.Thread))
		case first.Op != opCreate && first.Op != opFork:
			return fmt.Errorf("the first record is %q, want %q or %q", first.Op, opCreate, opFork)
		}
		t = newThread(first.Thread)
		t.journal.nonce, t.life = first.Nonce, alive
		return nil
	}
	from := int64(0)
	if known := rc.index[name]; known != nil && known.Size <= size {
		if payload, err := readRecord(f, path, known.First); err == nil && start(payload) == nil && t.journal.nonce == known.Nonce {
			rc.table.restore(t, known)
			from = known.Size
		}
	}
	end, err := scan(f, path, from, size, func(at span, payload []byte) error {
		if at.Off == 0 {
			if err := start(payload); err != nil {
				return err
			}
		}
		sum, _, err := decodeSummary(payload)
		if err != nil {
			return err
		}
		if other := rc.table.runs[sum.RunID]; sum.Op == opCommit && other != nil && other.thread != t {
			return fmt.Errorf("run %q also belongs to thread %q", sum.RunID, other.thread.ID)
		}
		rc.table.apply(t, &sum, at)
		return nil
	})
	if err != nil {
		return false, err
	}
	torn := end < size
	if torn {
		rc.logger.Warn("truncated the torn end of a journal", "file", path, "offset", end, "bytes", size-end)
		if err := f.Truncate(end); err != nil {
			return false, err
		}
	}
	if torn || end > from { // what was just read may never have been synced
		if err := rc.journals.fsync(f); err != nil {
			return false, err
		}
	}
	if end == 0 { // the creation of the thread was never confirmed
		if err := rc.journals.root.Remove(name); err != nil {
			return false, err
		}
		return true, rc.journals.syncDir(".")
	}
	rc.table.threads[t.ID] = t
	return from == 0, nil
}
