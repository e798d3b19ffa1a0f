package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"

	"github.com/awaken-go/awaken/config/configstate"
)

const (
	configLog = "config.log"
	// minCompact is the size in bytes below which a log is never compacted.
	minCompact = 1 << 20
)

// deltaLog is the log file of a configuration. Its records are framed like those of a
// journal.
type deltaLog struct {
	folder *folder
	logger *slog.Logger

	file   *os.File
	size   int64
	least  int64 // its size after the last compaction
	broken error // why it is no longer writable
}

// open reads the log, calls each for every change, and truncates a record that a dying
// process left half written. The caller closes l even if open fails.
func (l *deltaLog) open(each func(d *configstate.Delta) error) (err error) {
	_ = l.folder.root.Remove(configLog + ".tmp")
	if l.file, err = l.folder.root.OpenFile(configLog, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return err
	}
	// A process may have died before it synced the name.
	if err := l.folder.syncDir("."); err != nil {
		return err
	}
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	end, err := scan(l.file, configLog, 0, info.Size(), func(_ span, payload []byte) error {
		d := new(configstate.Delta)
		if err := json.Unmarshal(payload, d); err != nil {
			return err
		}
		return each(d)
	})
	if err != nil {
		return err
	}
	if end < info.Size() {
		l.logger.Warn("truncated the torn end of a log", "file", configLog, "at", end, "bytes", info.Size()-end)
		if err := l.file.Truncate(end); err != nil {
			return err
		}
		if err := l.folder.fsync(l.file); err != nil {
			return err
		}
	}
	l.size, l.least = end, end
	return nil
}

func (l *deltaLog) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// encodeDelta returns a record of the log.
func encodeDelta(d *configstate.Delta) ([]byte, error) {
	payload, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	buf := append(make([]byte, headerSize, headerSize+len(payload)), payload...)
	return buf, seal(buf)
}

// append appends a change and syncs it.
func (l *deltaLog) append(d *configstate.Delta) error {
	if l.broken != nil {
		return fmt.Errorf("%s is not writable until it is reopened: %w", configLog, l.broken)
	}
	buf, err := encodeDelta(d)
	if err != nil {
		return err
	}
	if l.broken, err = appendSealed(l.file, configLog, l.size, buf, l.folder.fsync); err != nil {
		return err
	}
	l.size += int64(len(buf))
	return nil
}

// long reports whether the log is worth compacting.
func (l *deltaLog) long() bool { return l.size > max(minCompact, 2*l.least) }

// compact rewrites the log so that it holds only these changes. If that fails, it keeps
// the old one and logs a warning.
func (l *deltaLog) compact(all iter.Seq[*configstate.Delta]) {
	if err := l.rewrite(all); err != nil {
		l.least = l.size // do not retry at once
		l.logger.Warn("cannot compact a log", "file", configLog, "error", err)
	}
}

func (l *deltaLog) rewrite(all iter.Seq[*configstate.Delta]) (err error) {
	const tmp = configLog + ".tmp"
	f, err := l.folder.root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, f.Close(), l.folder.root.Remove(tmp))
		}
	}()
	size := int64(0)
	for d := range all {
		buf, err := encodeDelta(d)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(buf, size); err != nil {
			return err
		}
		size += int64(len(buf))
	}
	if err := l.folder.fsync(f); err != nil {
		return err
	}
	atRename.Hit()
	if err := l.folder.root.Rename(tmp, configLog); err != nil {
		return err
	}
	atRenamed.Hit()
	kept = true
	old := l.file
	l.file, l.size, l.least = f, size, size
	_ = old.Close() // it is unlinked
	if err := l.folder.syncDir("."); err != nil {
		l.broken = err // after a power cut either of the two may be there
	}
	return nil
}
