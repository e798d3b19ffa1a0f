package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken/trace"
)

// FileOptions configures a [File].
type FileOptions struct {
	MaxBytes int64        // maximum size of a file; 0 means 64 MiB
	Files    int          // number of files kept, including the current one; 0 means 8
	Logger   *slog.Logger // nil discards
}

// File is a sink that writes events and summaries to files in a folder, one JSON object per line. The current file is events.ndjson;
// completed files are events-<time of completion>.ndjson.
//
// Lines are written in the background. Up to 10,000 lines are queued; further lines are dropped and counted. A failed write is tried 8
// times, over two minutes.
type File struct {
	dir     string
	opts    FileOptions
	lines   chan line
	done    chan struct{} // closed when the writer has ended
	closing sync.Once
	closed  chan struct{}
	dropped atomic.Int64

	// The writer's.
	file *os.File
	size int64
}

// line is an entry in the queue of the writer: a line, or a request to report when all earlier lines are written.
type line struct {
	data    []byte
	written chan error
}

const (
	fileName     = "events.ndjson"
	maxLines     = 10_000
	maxTries     = 8
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// NewFile returns a sink that writes to dir, which it creates if necessary.
func NewFile(dir string, opts FileOptions) (*File, error) {
	if opts.MaxBytes < 0 || opts.Files < 0 {
		return nil, fmt.Errorf("max bytes are %d and files %d, want 0 or more", opts.MaxBytes, opts.Files)
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = 64 << 20
	}
	if opts.Files == 0 {
		opts.Files = 8
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of events: %w", err)
	}
	f := &File{dir: dir, opts: opts, lines: make(chan line, maxLines), done: make(chan struct{}), closed: make(chan struct{})}
	if err := f.open(); err != nil {
		return nil, err
	}
	go f.work()
	return f, nil
}

// Record implements [Sink].
func (f *File) Record(_ context.Context, e *trace.Event) { f.add(e) }

// RunEnd implements [Sink].
func (f *File) RunEnd(_ context.Context, s *Summary) { f.add(s) }

// Dropped returns the number of dropped lines.
func (f *File) Dropped() int64 { return f.dropped.Load() }

func (f *File) add(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		f.dropped.Add(1)
		return
	}
	select {
	case <-f.closed:
		f.dropped.Add(1)
		return
	default:
	}
	select {
	case f.lines <- line{data: append(data, '\n')}:
	default:
		f.dropped.Add(1)
	}
}

// Flush implements [Sink]. It returns when all lines recorded so far are written.
func (f *File) Flush(ctx context.Context) error {
	written := make(chan error, 1)
	select {
	case f.lines <- line{written: written}:
	case <-f.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-written:
		return err
	case <-f.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Shutdown implements [Sink].
func (f *File) Shutdown(ctx context.Context) error {
	err := f.Flush(ctx)
	f.closing.Do(func() { close(f.closed) })
	select {
	case <-f.done:
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
	return err
}

// work writes lines until the sink is closed.
func (f *File) work() {
	defer close(f.done)
	defer func() {
		if f.file != nil {
			_ = f.file.Close() // it was synced
		}
	}()
	for {
		select {
		case l := <-f.lines:
			f.take(l)
		case <-f.closed:
			for {
				select {
				case l := <-f.lines:
					f.take(l)
				default:
					return
				}
			}
		}
	}
}

func (f *File) take(l line) {
	if l.written != nil {
		l.written <- f.sync()
		return
	}
	pause := firstPause
	for try := 1; ; try++ {
		err := f.write(l.data)
		if err == nil {
			return
		}
		f.opts.Logger.Warn("cannot write an event", "folder", f.dir, "try", try, "error", err)
		if try == maxTries {
			f.dropped.Add(1)
			return
		}
		select {
		case <-time.After(pause):
		case <-f.closed:
			f.dropped.Add(1)
			return
		}
		pause = min(2*pause, longestPause)
	}
}

func (f *File) sync() error {
	if f.file == nil {
		return nil
	}
	return f.file.Sync()
}

// open opens the file that is written.
func (f *File) open() error {
	file, err := os.OpenFile(filepath.Join(f.dir, fileName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("file of events: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("file of events: %w", err), file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

// write appends a line. One that was written in part is ended with the next, so that a reader loses it alone.
func (f *File) write(data []byte) error {
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if f.size > 0 && f.size+int64(len(data)) > f.opts.MaxBytes {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	n, err := f.file.Write(data)
	f.size += int64(n)
	if err != nil && n > 0 {
		_, _ = f.file.Write([]byte("\n")) // if this fails too, the next line is lost with it
	}
	return err
}

// rotate ends the file, and removes the oldest ones.
func (f *File) rotate() error {
	err := f.file.Close()
	f.file, f.size = nil, 0
	if err != nil {
		return err
	}
	old := filepath.Join(f.dir, "events-"+time.Now().UTC().Format("20060102T150405.000000000")+".ndjson")
	if err := os.Rename(filepath.Join(f.dir, fileName), old); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(f.dir, "events-*.ndjson"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for len(names) >= f.opts.Files {
		if err := os.Remove(names[0]); err != nil {
			return err
		}
		names = names[1:]
	}
	return f.open()
}
