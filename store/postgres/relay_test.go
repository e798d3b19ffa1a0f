package postgres_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/postgres"
)

// noEntries is the log of readers that poll nothing, so that only the statements of a run count.
type noEntries struct{}

func (noEntries) Entries(context.Context, string, awaken.EntryQuery) ([]awaken.Entry, error) {
	return nil, nil
}

// Readers in another process cost a run no statement.

func TestBus_ReadersElsewhereAddNoStatementToARun(t *testing.T) {
	statements := func(readers int) []string {
		opts := &postgres.Options{}
		db, w := openCounting(t, opts)
		mine, others := bus.NewExchange(db.Bus()), bus.NewExchange(db.Bus())
		relay, other := eventlog.NewRelay(mine, nil), eventlog.NewRelay(others, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		defer func() { cancel(); done.Wait() }()
		done.Go(func() { mine.Run(ctx, relay.Run) })
		done.Go(func() { others.Run(ctx, other.Run) })
		here := eventlog.New(db.Store(""), &eventlog.Options{Relay: relay})
		there := eventlog.New(noEntries{}, &eventlog.Options{Relay: other})
		saw := make(chan struct{}, 1)
		for range readers {
			done.Go(func() {
				for range there.Tail(ctx, "t", awaken.Cursor{}, eventlog.Follow{}) {
					select {
					case saw <- struct{}{}:
					default:
					}
				}
			})
		}
		model := llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{"a", "b", "c"}, DelayMS: 100})
		rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
			Providers: map[string]llm.Model{"p": model}, Store: db.Store("")})
		if err != nil {
			t.Fatal(err)
		}
		if readers > 0 { // until the owner's process knows of them
			for late := time.Now().Add(30 * time.Second); len(saw) == 0; {
				if time.Now().After(late) {
					t.Fatal("the reader does not get what is published")
				}
				s := here.Sink(nil)
				_ = s.Emit(ctx, awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 1}, Event: &awaken.RunStart{ThreadID: "t", RunID: "r"}})
				time.Sleep(50 * time.Millisecond)
				s.Close()
			}
		}
		w.record()
		if _, err := rt.Run(t.Context(), awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("go")}}, here.Sink(nil)); err != nil {
			t.Fatal(err)
		}
		got, _ := w.recorded()
		var notified int
		got = slices.DeleteFunc(got, func(s string) bool {
			if strings.Contains(s, "pg_notify") {
				notified++
				return true
			}
			return strings.HasPrefix(s, "LISTEN ") // the bus has connections of its own
		})
		if readers > 0 && notified == 0 {
			t.Error("nothing was sent to the reader: the test proves nothing")
		}
		for i, statement := range got {
			got[i] = strings.ReplaceAll(statement, opts.Prefix, "prefix")
		}
		return got
	}
	if with, without := statements(1), statements(0); len(without) == 0 || !slices.Equal(with, without) {
		t.Errorf("statements of a run with a reader elsewhere:\n%s\nwithout:\n%s", strings.Join(with, "\n"), strings.Join(without, "\n"))
	}
}
