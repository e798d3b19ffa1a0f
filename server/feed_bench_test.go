package server

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/sse"
	"github.com/awaken-go/awaken/mailbox"
)

// BenchmarkFeed is a chunk's way from the run's sink to the flush of the client's connection, which costs
// nothing here: with one stream, and with many that take turns, as those of models that pause do. Use -cpu 1.
func BenchmarkFeed(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint("streams=", n), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			log := eventlog.New(storedLog(nil), nil)
			all := newEncodings(maxEncoded)
			sinks, flushed := make([]*eventlog.Sink, n), make(chan struct{})
			e := awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, RunID: "r"}
			for i := range n {
				thread := fmt.Sprint("t", i)
				shared := all.join(encodingKey{threadID: thread})
				f := &feed{Streams: &Streams{heartbeat: time.Hour}, req: &Request{tenant: &mailbox.Tenant{Log: log}}, ctx: ctx, threadID: thread, out: sse.Start(&connection{http.Header{}, flushed}, false, time.Minute, 64),
					frames: func(buf []byte, e *awaken.Entry) ([]byte, error) { return shared.frames(buf, e, RawFrames) }}
				sinks[i] = log.Sink(nil)
				e.Event = &awaken.RunStart{ThreadID: thread, RunID: "r"}
				if err := sinks[i].Emit(ctx, e); err != nil {
					b.Fatal(err)
				}
				go func() { _ = f.copy(eventlog.Follow{Pause: time.Hour}, nil) }()
				<-flushed
			}
			e.Event = &awaken.TextDelta{Delta: "piece"}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i%n == 0 {
					e.Seq++
				}
				if err := sinks[i%n].Emit(ctx, e); err != nil {
					b.Fatal(err)
				}
				i++
				<-flushed
			}
		})
	}
}
