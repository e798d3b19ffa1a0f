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
	// minCompact is how long a log may get in any case.
	minCompact = 1 << 20
)

// deltaLog is the file of a configuration's changes, which are records like those of a
// journal.
type deltaLog struct {
	folder *folder
	logger *slog.Logger

	file   *os.File
	size   int64
	least  int64 // its size when it was last written anew
	broken error // why it cannot be written any more
}

// open reads the log, calling each with its changes, and cuts what was half written when
// the last process died. Whether it fails or not, the caller closes l.
func (l *deltaLog) open(each func(d *configstate.Delta) error) (err error) {
	_ = l.folder.root.Remove(configLog + ".tmp")
	if l.file, err = l.folder.root.OpenFile(configLog, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return err
	}
	// Somebody may have died before its name was synced.
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
		l.logger.Warn("cut the torn end of a log", "file", configLog, "at", end, "bytes", info.Size()-end)
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

// append makes a change durable.
func (l *deltaLog) append(d *configstate.Delta) error {
	if l.broken != nil {
		return fmt.Errorf("%s cannot be written until it is opened again: %w", configLog, l.broken)
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

// long reports whether it has become worth it to write the log anew.
func (l *deltaLog) long() bool { return l.size > max(minCompact, 2*l.least) }

// compact writes the log anew, so that it holds these changes only. If that fails, the
// old one stays.
func (l *deltaLog) compact(all iter.Seq[*configstate.Delta]) {
	if err := l.rewrite(all); err != nil {
		l.least = l.size // not again at once
		l.logger.Warn("a log was not made shorter", "file", configLog, "error", err)
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
	_ = old.Close() // it has no name any more
	if err := l.folder.syncDir("."); err != nil {
		l.broken = err // which of the two is there after a power cut, nobody knows
	}
	return nil
}
