package file

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// A journal is a file of records, one for each change of a thread, in the order they
// were made. A record is a header and a payload:
//
//	4 bytes  the letters "awj1"
//	4 bytes  length of the payload, little endian
//	4 bytes  CRC-32C of the payload
//	4 bytes  CRC-32C of the twelve bytes before
//
// The header has its own checksum so that the length can be trusted: without it, one
// flipped bit in the middle of a journal would look like a torn end, and truncating it
// would lose everything after it.
const (
	magic      = "awj1"
	headerSize = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// DamagedError reports a record that cannot be read. A torn end, which a dying process
// leaves, is not damage: Open truncates it.
type DamagedError struct {
	File   string // relative to the folder of the store
	Offset int64  // of the record
	Err    error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %v", e.File, e.Offset, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

var (
	errHeader   = errors.New("no record begins here")
	errChecksum = errors.New("checksum mismatch")
	errShort    = errors.New("the file ends inside the record")
)

// span is the position of a record: its offset, and its length including the header.
type span struct {
	Off int64 `json:"off"`
	Len int64 `json:"len"`
}

func (s span) end() int64 { return s.Off + s.Len }

// seal fills in the header at the beginning of buf; the payload follows it.
func seal(buf []byte) error {
	payload := buf[headerSize:]
	if uint64(len(payload)) > math.MaxUint32 {
		return fmt.Errorf("a payload of %d bytes is too large for a record, want at most 4 GiB", len(payload))
	}
	copy(buf, magic)
	binary.LittleEndian.PutUint32(buf[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(buf[8:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(buf[12:], crc32.Checksum(buf[:12], castagnoli))
	return nil
}

// header decodes a header: the length and the checksum of the payload.
func header(b []byte) (size int64, sum uint32, ok bool) {
	if string(b[:4]) != magic || crc32.Checksum(b[:12], castagnoli) != binary.LittleEndian.Uint32(b[12:]) {
		return 0, 0, false
	}
	return int64(binary.LittleEndian.Uint32(b[4:])), binary.LittleEndian.Uint32(b[8:]), true
}

// scan calls fn with the position and the payload of every record between from and size;
// fn must not retain the payload. It returns where the last good record ends, which is
// before size if the end is torn. A bad record anywhere else is a *DamagedError.
func scan(r io.ReaderAt, name string, from, size int64, fn func(at span, payload []byte) error) (int64, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, from, size-from), 64<<10)
	var head [headerSize]byte
	var payload []byte
	for off := from; ; {
		if off == size {
			return off, nil
		}
		if size-off < headerSize {
			return off, nil // torn
		}
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return off, fmt.Errorf("read %s: %w", name, err)
		}
		n, sum, ok := header(head[:])
		at := span{off, headerSize + n}
		if !ok {
			later, err := findRecord(r, off+1, size)
			if err != nil {
				return off, fmt.Errorf("read %s: %w", name, err)
			}
			if later {
				return off, &DamagedError{name, off, errHeader}
			}
			return off, nil // torn
		}
		if at.end() > size {
			return off, nil // torn
		}
		if int64(cap(payload)) < n {
			payload = make([]byte, n)
		}
		payload = payload[:n]
		if _, err := io.ReadFull(in, payload); err != nil {
			return off, fmt.Errorf("read %s: %w", name, err)
		}
		if crc32.Checksum(payload, castagnoli) != sum {
			if at.end() < size { // a record follows, so this one had been synced
				return off, &DamagedError{name, off, errChecksum}
			}
			return off, nil // torn
		}
		if err := fn(at, payload); err != nil {
			return off, &DamagedError{name, off, err}
		}
		off = at.end()
	}
}

// findRecord looks for a good record that begins anywhere between from and size.
func findRecord(r io.ReaderAt, from, size int64) (bool, error) {
	buf := make([]byte, 256<<10)
	for from+headerSize <= size {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-from)], from)
		if err != nil && err != io.EOF {
			return false, err
		}
		if n < headerSize {
			return false, nil
		}
		for b, i := buf[:n], 0; ; i++ {
			j := bytes.Index(b[i:], []byte(magic))
			if j < 0 || i+j+headerSize > n {
				break
			}
			i += j
			size, _, ok := header(b[i:])
			if !ok {
				continue
			}
			_, err := readRecord(r, "", span{from + int64(i), headerSize + size})
			if err == nil {
				return true, nil
			}
		}
		from += int64(n) - headerSize + 1
	}
	return false, nil
}

// readRecord returns the payload of one record.
func readRecord(r io.ReaderAt, name string, at span) ([]byte, error) {
	buf := make([]byte, at.Len)
	if _, err := r.ReadAt(buf, at.Off); err != nil {
		if err == io.EOF {
			return nil, &DamagedError{name, at.Off, errShort}
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	n, sum, ok := header(buf)
	if !ok || headerSize+n != at.Len {
		return nil, &DamagedError{name, at.Off, errHeader}
	}
	if crc32.Checksum(buf[headerSize:], castagnoli) != sum {
		return nil, &DamagedError{name, at.Off, errChecksum}
	}
	return buf[headerSize:], nil
}

// appendSealed writes a sealed record at offset at, the end of the file, and syncs it. When
// err is nil the record is on disk. Otherwise broken, if not nil, says why the file is no
// longer writable.
func appendSealed(f *os.File, name string, at int64, buf []byte, fsync func(*os.File) error) (broken, err error) {
	atWrite.Hit()
	if _, err := f.WriteAt(buf, at); err != nil {
		// Undo the write; if that fails too, the content of the file is unknown.
		back := f.Truncate(at)
		if back == nil {
			back = fsync(f)
		}
		if back != nil {
			broken = errors.Join(err, back)
		}
		return broken, fmt.Errorf("write %s: %w", name, err)
	}
	atWritten.Hit()
	if err := fsync(f); err != nil {
		// The system may have dropped the pages, and the next sync may succeed anyway. Only
		// reopening the file shows what is on disk.
		return err, fmt.Errorf("sync %s: %w", name, err)
	}
	atSynced.Hit()
	return nil, nil
}
