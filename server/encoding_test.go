package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/sse"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/openai"
)

// storedLog is a store of entries.
type storedLog []awaken.Entry

func (l storedLog) Entries(_ context.Context, _ string, q awaken.EntryQuery) (out []awaken.Entry, err error) {
	for _, e := range l {
		if e.Seq > q.After && e.Epoch > q.Epoch && (q.RunID == "" || e.RunID == q.RunID) && (q.Limit == 0 || len(out) < q.Limit) {
			out = append(out, e)
		}
	}
	return out, nil
}

var eventSection = regexp.MustCompile(`^events\d*$`)

// goldenEntries returns the entries of the first run of a file of the golden corpus.
func goldenEntries(t *testing.T, path string) (out storedLog) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at, first, run := awaken.Cursor{Epoch: 1}, "", ""
	for _, f := range a.Files {
		if !eventSection.MatchString(f.Name) {
			continue
		}
		for line := range bytes.Lines(f.Data) {
			ev, err := awaken.UnmarshalEvent(bytes.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if start, ok := ev.(*awaken.RunStart); ok {
				if run = start.RunID; first == "" {
					first = run
				}
			}
			if at.Seq++; run == first {
				out = append(out, awaken.Entry{Cursor: at, RunID: run, Event: ev})
			}
		}
	}
	return out
}

// formats are the encoders that streams share.
var formats = map[string]func() protocol.Encoder{
	"ai-sdk": func() protocol.Encoder { return &aisdk.Encoder{} },
	"ag-ui": func() protocol.Encoder {
		return agui.NewEncoder(agui.Options{Current: true, Conversation: func() ([]*llm.Message, error) { return []*llm.Message{llm.UserText("go")}, nil }})
	},
	"a2a":      func() protocol.Encoder { return a2a.NewEncoder(a2a.Options{}) },
	"a2a 7":    func() protocol.Encoder { return a2a.NewEncoder(a2a.Options{RPC: json.RawMessage("7")}) },
	"response": func() protocol.Encoder { return openai.NewResponseEncoder(openai.Options{Model: "m"}) },
}

// reader is a stream in a test.
type reader struct {
	*translation
	entries storedLog
	began   protocol.Position // what the client had at first
	next    int
	got     []byte
	over    bool
}

func newReader(log storedLog, format string, has protocol.Position) *reader {
	return &reader{entries: log, began: has, translation: &translation{ctx: context.Background(), log: eventlog.New(log, nil), has: has, enc: formats[format](),
		s: &protocol.Stream{ThreadID: "t", RunID: log[0].RunID, Encoder: formats[format], Format: format}}}
}

// read gives the stream its next entry.
func (r *reader) read(t *testing.T) {
	t.Helper()
	buf, err := r.frames(r.got, &r.entries[r.next])
	if err != nil && !errors.Is(err, errOver) {
		t.Fatalf("entry %s: %v", r.entries[r.next].Cursor, err)
	}
	r.next++
	r.got, r.over = buf, err != nil || r.next == len(r.entries)
	if r.over {
		var last protocol.Frames
		last.Unnamed()
		var failure *protocol.Failure
		if r.s.Format == "ai-sdk" { // AG-UI adds the usage so far, which other streams may know of first
			failure = &protocol.Failure{Message: "gone", Code: "gone"}
		}
		if r.enc != nil {
			r.enc.End(&last, failure)
		} else {
			r.shared.end(&last, failure)
		}
		r.got = append(r.got, last.Bytes()...)
	}
}

// Whatever streams share an encoder, when they join, what they have and how far they are apart: each
// gets the bytes that it would get alone.
func TestEncodings_SharedFramesAreThoseOfAStreamAlone(t *testing.T) {
	files, err := filepath.Glob("../testdata/runs/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	shared := 0
	for i, file := range files {
		log := goldenEntries(t, file)
		if len(log) == 0 {
			continue
		}
		for f, format := range slices.Sorted(maps.Keys(formats)) {
			for _, most := range []int{2, maxEncoded} {
				if n := i + f; !testenv.Long() && (n%3 != 0 || most == 2 != (n%2 == 0)) {
					continue
				}
				rng := rand.New(rand.NewPCG(uint64(i), uint64(most)))
				s := &Streams{encodings: newEncodings(most)}
				var all, open []*reader
				for range 5 {
					var has protocol.Position
					if at := log[rng.IntN(len(log))].Cursor; rng.IntN(2) == 0 {
						has = []protocol.Position{protocol.AfterAll(at), {Cursor: at, Frames: rng.IntN(3)}}[rng.IntN(2)]
					}
					all = append(all, newReader(log, format, has))
				}
				waiting := append([]*reader(nil), all...)
				for len(open)+len(waiting) > 0 {
					if len(waiting) > 0 && rng.IntN(8) == 0 || len(open) == 0 {
						waiting[0].join(s, nil)
						open, waiting = append(open, waiting[0]), waiting[1:]
						continue
					}
					n := rng.IntN(len(open))
					r := open[n]
					for range 1 + rng.IntN(6) {
						if r.read(t); r.enc == nil {
							shared++
						}
						if r.over {
							r.leave(s)
							open = append(open[:n], open[n+1:]...)
							break
						}
					}
				}
				for n, r := range all {
					alone := newReader(log, format, r.began)
					for !alone.over {
						alone.read(t)
					}
					if !bytes.Equal(alone.got, r.got) {
						t.Fatalf("%s, %s, keeping %d: stream %d gets\n%s\nwant, as alone,\n%s", filepath.Base(file), format, most, n, r.got, alone.got)
					}
				}
				if len(s.encodings.open) > 0 {
					t.Fatalf("%d encodings are left behind", len(s.encodings.open))
				}
			}
		}
	}
	if shared < 1000 {
		t.Errorf("streams shared only %d entries", shared)
	}
}

// Streams that have the same lost entries get the same reset, and nothing of each other after it.
func TestEncodings_AResetReachesEveryStreamOnce(t *testing.T) {
	run := func(epoch, seq uint64, ev awaken.Event) awaken.Entry {
		return awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: seq}, RunID: "r", Event: ev}
	}
	stored := storedLog{run(1, 1, &awaken.RunStart{ThreadID: "t", RunID: "r"}), run(1, 2, &awaken.StepStart{MessageID: "m"}), run(1, 3, &awaken.TextDelta{Delta: "kept "})}
	seen := append(append(storedLog(nil), stored...), run(1, 4, &awaken.TextDelta{Delta: "lost "}), run(1, 3, &awaken.StreamReset{Reason: "lost", Cursor: "1-3"}),
		run(2, 4, &awaken.StepStart{MessageID: "m"}), run(2, 5, &awaken.TextDelta{Delta: "again"}),
		run(2, 6, &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}}))
	for format := range formats {
		read := func(s *Streams, n int) (out []string) {
			var all []*reader
			for range n {
				r := newReader(seen, format, protocol.Position{})
				r.log = eventlog.New(stored, nil)
				if s != nil {
					r.join(s, nil)
				}
				all = append(all, r)
			}
			for range seen {
				for _, r := range all {
					r.read(t)
				}
			}
			for _, r := range all {
				out = append(out, string(r.got))
			}
			return out
		}
		want := read(nil, 1)[0]
		for i, got := range read(&Streams{encodings: newEncodings(maxEncoded)}, 3) {
			if got != want {
				t.Errorf("%s: stream %d gets\n%s\nwant\n%s", format, i, got, want)
			}
		}
	}
}

// One encoding serves every stream of a thread, at no allocation for each, and an entry that is in no log
// never takes part in it.
func TestEncodings_OneForAllStreams(t *testing.T) {
	all, n := newEncodings(maxEncoded), 0
	encode := func(buf []byte, e *awaken.Entry) ([]byte, error) {
		n++
		return RawFrames(buf, e)
	}
	var streams []*encoding
	for range 50 {
		streams = append(streams, all.join(encodingKey{threadID: "t", format: "raw"}))
	}
	seq, buf := uint64(0), make([]byte, 0, 1<<10)
	send := func() {
		seq++
		for _, x := range streams {
			e := awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: seq}, RunID: "r", Event: &awaken.TextDelta{Delta: "piece"}}
			got, err := x.frames(buf[:0], &e, encode)
			want := fmt.Sprintf("id: 1-%d\ndata: ", seq)
			if err != nil || !bytes.HasPrefix(got, []byte(want)) {
				t.Fatalf("got %s, %v, want %s", got, err, want)
			}
		}
	}
	for range 100 {
		send()
	}
	if n != 100 {
		t.Errorf("100 events for 50 streams are encoded %d times", n)
	}
	reset := awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 50}, RunID: "r", Event: &awaken.StreamReset{Reason: "lost", Cursor: "1-50"}}
	if got, err := streams[0].frames(nil, &reset, encode); err != nil || !strings.Contains(string(got), "stream_reset") {
		t.Errorf("a reset is %s, %v", got, err)
	}
	n = 0
	for _, at := range []awaken.Cursor{{Epoch: 2, Seq: 51}, {Epoch: 1, Seq: 60}, {Epoch: 2, Seq: 52}} {
		for _, x := range streams[:2] {
			e := awaken.Entry{Cursor: at, RunID: "r", Event: &awaken.TextDelta{Delta: at.String()}}
			if got, err := x.frames(nil, &e, encode); err != nil || !strings.Contains(string(got), `"delta":"`+at.String()) {
				t.Errorf("entry %s of another owner is %s, %v", at, got, err)
			}
		}
	}
	if n != 3 {
		t.Errorf("3 entries of two owners are encoded %d times for two streams", n)
	}
	for _, x := range streams {
		all.leave(x)
	}
	if len(all.open) > 0 {
		t.Error("the encoding outlives its streams")
	}
}

// Streams of different tenants, threads, runs, formats or beginnings share nothing, even if all the rest is
// the same.
func TestEncodings_OnlyTheSameIsShared(t *testing.T) {
	all, a := newEncodings(maxEncoded), &mailbox.Tenant{}
	first := encodingKey{a, "t", "raw", "r", awaken.Cursor{}}
	one := all.join(first)
	seen := map[*encoding]encodingKey{one: first}
	for _, key := range []encodingKey{{&mailbox.Tenant{}, "t", "raw", "r", awaken.Cursor{}}, {a, "u", "raw", "r", awaken.Cursor{}}, {a, "t", "ai-sdk", "r", awaken.Cursor{}},
		{a, "t", "raw", "s", awaken.Cursor{}}, {a, "t", "raw", "r", awaken.Cursor{Epoch: 1, Seq: 1}}} {
		x := all.join(key)
		if with, ok := seen[x]; ok || x.several.Load() {
			t.Errorf("%+v shares with %+v", key, with)
		}
		seen[x] = key
	}
	if all.join(first) != one || !one.several.Load() {
		t.Error("equal streams do not share")
	}
}

// The way of a chunk from the log into a stream's buffer allocates nothing.
func TestBudget_EncodingsAllocateNothingForAChunk(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates")
	}
	buf := make([]byte, 0, 4<<10)
	e := &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, RunID: "r", Time: 1, Event: &awaken.TextDelta{Delta: "piece"}}
	for _, n := range []int{1, 2} {
		all := newEncodings(maxEncoded)
		var x *encoding
		for range n {
			x = all.join(encodingKey{format: "raw"})
		}
		if got := testing.AllocsPerRun(1000, func() {
			e.Seq++
			if _, err := x.frames(buf, e, RawFrames); err != nil {
				t.Fatal(err)
			}
		}); got > 0 {
			t.Errorf("%d streams: %v allocations for a chunk", n, got)
		}
	}
}

// connection is the client of a stream. It tells when it was flushed.
type connection struct {
	header  http.Header
	flushed chan struct{}
}

func (c *connection) Header() http.Header              { return c.header }
func (c *connection) WriteHeader(int)                  {}
func (c *connection) Write(p []byte) (int, error)      { return len(p), nil }
func (c *connection) SetWriteDeadline(time.Time) error { return nil }
func (c *connection) Flush()                           { c.flushed <- struct{}{} }

// Nor does the whole way, from the run's sink to the client's connection.
func TestBudget_FeedAllocatesNothingForAChunk(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector allocates")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log, c := eventlog.New(storedLog(nil), nil), &connection{http.Header{}, make(chan struct{})}
	all := newEncodings(maxEncoded)
	shared := all.join(encodingKey{})
	f := &feed{Streams: &Streams{heartbeat: time.Hour}, req: &Request{tenant: &mailbox.Tenant{Log: log}}, ctx: ctx, threadID: "t", out: sse.Start(c, false, time.Minute, 64),
		frames: func(buf []byte, e *awaken.Entry) ([]byte, error) { return shared.frames(buf, e, RawFrames) }}
	sink := log.Sink(nil)
	e := awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, RunID: "r", Event: &awaken.RunStart{ThreadID: "t", RunID: "r"}}
	if err := sink.Emit(ctx, e); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- f.copy(eventlog.Follow{Pause: time.Hour}, nil) }()
	<-c.flushed
	e.Event = &awaken.TextDelta{Delta: "piece"}
	if n := testing.AllocsPerRun(5000, func() {
		e.Seq++
		if err := sink.Emit(ctx, e); err != nil {
			t.Fatal(err)
		}
		<-c.flushed
	}); n > 0 {
		t.Errorf("%v allocations for a chunk", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	sink.Close()
}
