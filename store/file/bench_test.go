package file_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/file"
)

// answer is the commit of a step: an answer of the model and its events.
func answer(o *owner) func(c *awaken.Commit) {
	text := strings.Repeat("some words ", 30)
	return func(c *awaken.Commit) {
		c.Messages = []*llm.Message{llm.NewText(llm.Assistant, text)}
		for _, ev := range []awaken.Event{&awaken.StepStart{MessageID: "m"}, &awaken.TextDelta{Delta: text}, &awaken.InferenceComplete{Model: "m"}, &awaken.StepEnd{}} {
			o.seq++
			c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: c.Fence, Seq: o.seq}, RunID: c.Run.RunID, Event: ev})
		}
	}
}

// BenchmarkCommit compares a commit with a raw twin that appends and syncs as many bytes:
// on a short thread, on a long one, and on many threads at once.
func BenchmarkCommit(b *testing.B) {
	var bytes int64 // of a commit
	for _, n := range []int{10, 2000} {
		b.Run(fmt.Sprintf("after=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			var unsynced atomic.Bool
			unsynced.Store(true)
			s, err := file.OpenSyncing(dir, nil, func(f *os.File) error {
				if unsynced.Load() {
					return nil
				}
				return f.Sync()
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			o := acquire(b, s, "t", "r")
			for o.count < n {
				o.commit(answer(o))
			}
			unsynced.Store(false)
			o.commit(answer(o))
			before := size(b, journal(dir, "t"))
			b.ReportAllocs()
			for b.Loop() {
				o.commit(answer(o))
			}
			bytes = (size(b, journal(dir, "t")) - before) / int64(b.N)
			b.ReportMetric(float64(bytes), "bytes/commit")
		})
		b.Run(fmt.Sprintf("after=%d/unsynced", n), func(b *testing.B) {
			s := quick(b, b.TempDir(), nil)
			o := acquire(b, s, "t", "r")
			for o.count < n {
				o.commit(answer(o))
			}
			b.ReportAllocs()
			for b.Loop() {
				o.commit(answer(o))
			}
		})
	}
	raw := func(b *testing.B) func() {
		f, err := os.Create(b.TempDir() + "/raw")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = f.Close() })
		buf, off := make([]byte, bytes), int64(0)
		return func() {
			if _, err := f.WriteAt(buf, off); err != nil {
				b.Error(err)
			}
			if off += bytes; f.Sync() != nil {
				b.Error("not synced")
			}
		}
	}
	b.Run("raw", func(b *testing.B) {
		write := raw(b)
		for b.Loop() {
			write()
		}
	})
	b.Run("threads=32", func(b *testing.B) {
		s := open(b, b.TempDir(), nil)
		var n atomic.Int64
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			id := fmt.Sprint("t", n.Add(1))
			o := acquire(b, s, id, "r"+id)
			for pb.Next() {
				o.commit(answer(o))
			}
		})
	})
	b.Run("threads=32/raw", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			write := raw(b)
			for pb.Next() {
				write()
			}
		})
	})
}

// BenchmarkOpen opens a folder of a thousand threads, with and without the index.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, err := file.OpenUnsynced(dir, &file.Options{NoCopies: true})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		o := acquire(b, s, fmt.Sprint("t", i), fmt.Sprint("r", i))
		for range 20 {
			o.commit(answer(o))
		}
		o.commit(done)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for _, indexed := range []bool{true, false} {
		b.Run(fmt.Sprintf("indexed=%v", indexed), func(b *testing.B) {
			for b.Loop() {
				if !indexed {
					_ = os.Remove(dir + "/index")
				}
				s, err := file.OpenUnsynced(dir, &file.Options{NoCopies: true})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				_ = s.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkLoad reads a thread that is not cached.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 2000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			s := quick(b, dir, &file.Options{Cache: -1, NoCopies: true})
			o := acquire(b, s, "t", "r")
			for range n {
				o.commit(answer(o))
			}
			b.SetBytes(size(b, journal(dir, "t")))
			for b.Loop() {
				if _, err := s.Messages(b.Context(), "t", awaken.MessageQuery{Limit: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
