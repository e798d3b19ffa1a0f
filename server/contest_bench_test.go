package server_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

// database is one that a process of a benchmark uses. The zero value is none, which means memory.
type database struct {
	at     string            // its URL or file
	server *testenv.Postgres // nil unless it is on PostgreSQL; no other database is on it
}

// durable creates a database that syncs its commits.
func durable(b *testing.B, store string) database {
	b.Helper()
	if store == "sqlite" {
		return database{at: filepath.Join(b.TempDir(), "awaken.db")}
	}
	pg, err := testenv.StartPostgres("fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on", "max_wal_size=4GB")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := pg.Stop(); err != nil {
			b.Error(err)
		}
	})
	return database{pg.Database(), pg}
}

// cpu returns the CPU time of the database's own processes.
func (d database) cpu(b *testing.B) time.Duration {
	b.Helper()
	if d.server == nil {
		return 0
	}
	used, err := d.server.CPU()
	if err != nil {
		b.Skip("there is no /proc: ", err)
	}
	return used
}

// contestant is a process that serves runs.
type contestant struct {
	*process
	name, addr string
	on         database
}

// newContestant starts a process with a role, which is its name, too.
func newContestant(b *testing.B, role string, on database, settings ...string) *contestant {
	b.Helper()
	p := spawn(b, role, append(settings, "DATABASE="+on.at, fmt.Sprint("PIECES=", w6Pieces), fmt.Sprint("SIZE=", w6Size))...)
	return &contestant{p, role, p.line(), on}
}

// turn is what one turn of a contestant measured.
type turn struct {
	w6Result
	own, all float64 // seconds of CPU for a run: of the process, and with its database's
}

// turn lets clients run for some time.
func (c *contestant) turn(b *testing.B, ms, clients int, load ...string) (t turn) {
	b.Helper()
	own, all := c.cpu(), c.on.cpu(b)
	gen := spawn(b, "runners", append(load, "ADDR="+c.addr, fmt.Sprint("CLIENTS=", clients), fmt.Sprint("MS=", ms))...)
	if err := json.Unmarshal([]byte(gen.line()), &t.w6Result); err != nil {
		b.Fatal(err)
	}
	own, all = c.cpu()-own, c.on.cpu(b)-all
	t.own, t.all = own.Seconds()/float64(t.Runs), (own+all).Seconds()/float64(t.Runs)
	b.Logf("%s: %.0f runs/s, %.1f µs of CPU each, %.1f with the database, first event %s, all %s, p99 %s",
		c.name, t.rate(), t.own*1e6, t.all*1e6, t.First, t.Full, t.Full99)
	return t
}

func (t turn) rate() float64 { return float64(t.Runs) / t.Took.Seconds() }

// contest is contestants of which the last one is compared with each of the others.
type contest []*contestant

// run reports medians of rounds in which all had their turn with that many clients. Load has the settings of the clients.
func (c contest) run(b *testing.B, clients int, load ...string) {
	b.Helper()
	const rounds, ms = 5, 1500
	turns := make([][]turn, len(c)) // of each
	for range rounds {
		for i, s := range c {
			turns[i] = append(turns[i], s.turn(b, ms, clients, load...))
		}
	}
	measures := []struct {
		name string
		of   func(t turn) float64
	}{
		{"CPU", func(t turn) float64 { return t.own }},
		{"all-CPU", func(t turn) float64 { return t.all }},
		{"runs", turn.rate},
		{"first", func(t turn) float64 { return t.First.Seconds() }},
		{"p50", func(t turn) float64 { return t.Full.Seconds() }},
		{"p99", func(t turn) float64 { return t.Full99.Seconds() }},
	}
	last := len(c) - 1
	for _, m := range measures {
		if m.name == "all-CPU" && c[last].on.server == nil {
			continue
		}
		for i, other := range c[:last] {
			var ratios []float64
			for round := range rounds {
				ratios = append(ratios, m.of(turns[last][round])/m.of(turns[i][round]))
			}
			testenv.Report(b, m.name+"/"+other.name, ratios)
		}
	}
	for i, s := range c {
		prefix := s.name + "-"
		if i == last {
			prefix = ""
		}
		middle := func(of func(t turn) float64) float64 {
			values := make([]float64, rounds)
			for round, t := range turns[i] {
				values[round] = of(t)
			}
			slices.Sort(values)
			return values[rounds/2]
		}
		b.ReportMetric(middle(turn.rate), prefix+"runs/s")
		b.ReportMetric(middle(func(t turn) float64 { return t.Full.Seconds() * 1e3 }), prefix+"ms")
		b.ReportMetric(middle(func(t turn) float64 { return t.own * 1e6 }), prefix+"µs-CPU")
		if s.on.server != nil {
			b.ReportMetric(middle(func(t turn) float64 { return (t.all - t.own) * 1e6 }), prefix+"database-µs-CPU")
		}
	}
	b.ReportMetric(0, "ns/op")
}
