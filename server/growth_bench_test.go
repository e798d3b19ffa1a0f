package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/internal/testenv"
)

// BenchmarkGrowth compares what a run and a list cost over HTTP with many threads and with none. Every one of these threads had a run over
// HTTP, so that all tables have the rows that runs leave: queues, dispatches, commits, changes. There are 2,000, and with AWAKEN_LONG=1
// 20,000 and 200,000. Each number has a server and a database of its own, and rounds are interleaved. Use -benchtime=1x.
//
// Units: a number at the end is that of the threads. CPU is that of the server and its database. fill reports what a run left: the bytes
// of the database, and those that were written for it: the log of PostgreSQL, or all that the process wrote on SQLite. Of the times of
// lists, low is the lowest tenth, in which others on the machine show least.
func BenchmarkGrowth(b *testing.B) {
	sizes := []int{0, testenv.Times(2_000, 20_000)}
	if testenv.Long() {
		sizes = append(sizes, testenv.Times(4_000, 200_000))
	}
	for _, store := range []string{"sqlite", "postgres"} {
		b.Run(store, func(b *testing.B) {
			servers := make(map[int]*contestant)
			for _, size := range sizes {
				servers[size] = newContestant(b, "server", durable(b, store))
			}
			b.Run("fill", func(b *testing.B) {
				for _, size := range sizes {
					fill(b, servers[size], size)
				}
				b.ReportMetric(0, "ns/op")
			})
			for _, threads := range []string{"new", "same"} {
				b.Run("threads="+threads, func(b *testing.B) { growRuns(b, servers, sizes, threads) })
			}
			b.Run("lists", func(b *testing.B) { growLists(b, servers, sizes) })
		})
	}
}

// fill lets clients run on so many new threads.
func fill(b *testing.B, s *contestant, threads int) {
	b.Helper()
	if threads > 0 {
		stored, written := s.stored(b)
		began := time.Now()
		s.runAll(b, threads)
		b.ReportMetric(float64(threads)/time.Since(began).Seconds(), fmt.Sprint("runs/s-", threads))
		after, log := s.stored(b)
		b.ReportMetric(float64(after-stored)/float64(threads), fmt.Sprint("B/run-", threads))
		b.ReportMetric(float64(log-written)/float64(threads), fmt.Sprint("written-B/run-", threads))
	}
	if s.on.server != nil { // or it would do so while others are measured
		s.query(b, "VACUUM ANALYZE", nil)
		s.query(b, "CHECKPOINT", nil)
	}
}

// runAll lets clients run on so many hundreds of new threads.
func (c *contestant) runAll(b *testing.B, threads int) {
	b.Helper()
	load := spawn(b, "turns", "THREADS=new", "ADDR="+c.addr, "CLIENTS=100")
	fmt.Fprintln(load.in, threads)
	if got := load.line(); got != "done" {
		b.Fatalf("a client says %q", got)
	}
	load.end()
}

// stored returns the bytes of the database, and those that were written since its process began: to the log of PostgreSQL, or to any file.
func (c *contestant) stored(b *testing.B) (size, written int64) {
	b.Helper()
	if c.on.server != nil {
		const sizes = "SELECT pg_database_size(current_database()), pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
		c.query(b, sizes, func(row pgx.Row) error { return row.Scan(&size, &written) })
		return size, written
	}
	info, err := os.Stat(c.on.at)
	if err != nil {
		b.Fatal(err)
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", c.cmd.Process.Pid))
	if err != nil {
		b.Skip("there is no /proc: ", err)
	}
	_, line, _ := bytes.Cut(data, []byte("\nwrite_bytes: "))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if written, err = strconv.ParseInt(string(line), 10, 64); err != nil {
		b.Fatal(err)
	}
	return info.Size(), written
}

// query executes a statement on PostgreSQL.
func (c *contestant) query(b *testing.B, statement string, scan func(row pgx.Row) error) {
	b.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.on.at)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	if scan == nil {
		_, err = conn.Exec(ctx, statement)
	} else {
		err = scan(conn.QueryRow(ctx, statement))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// growRuns measures the runs of one client.
func growRuns(b *testing.B, servers map[int]*contestant, sizes []int, threads string) {
	b.Helper()
	const rounds, warm, ms = 7, 300, 1000
	turns := map[int][]turn{}
	for _, size := range sizes {
		servers[size].turn(b, warm, 1, "THREADS="+threads)
	}
	for range rounds {
		for _, size := range sizes {
			turns[size] = append(turns[size], servers[size].turn(b, ms, 1, "THREADS="+threads))
		}
	}
	for name, of := range map[string]func(t turn) float64{
		"ms":     func(t turn) float64 { return t.Full.Seconds() * 1e3 },
		"µs-CPU": func(t turn) float64 { return t.all * 1e6 },
	} {
		reportGrowth(b, name, sizes, func(size int) (values []float64) {
			for _, t := range turns[size] {
				values = append(values, of(t))
			}
			return values
		})
	}
	b.ReportMetric(0, "ns/op")
}

// reportGrowth reports medians for each size, and their ratios to those of the first size in the same rounds.
func reportGrowth(b *testing.B, name string, sizes []int, of func(size int) []float64) {
	b.Helper()
	first := of(sizes[0])
	for i, size := range sizes {
		values := of(size)
		b.ReportMetric(median(slices.Clone(values)), fmt.Sprint(name, "-", size))
		if i == 0 {
			continue
		}
		for round := range values {
			values[round] /= first[round]
		}
		testenv.Report(b, fmt.Sprint("x-", name, "-", size), values)
	}
}

// growLists measures the first pages of lists.
func growLists(b *testing.B, servers map[int]*contestant, sizes []int) {
	b.Helper()
	const rounds = 100
	servers[sizes[0]].runAll(b, 100) // for a full page
	lists := map[string]string{"runs": "/v1/runs?limit=50", "threads": "/v1/threads?limit=50", "summaries": "/v1/threads/summaries?limit=50"}
	for name, path := range lists {
		times := map[int][]float64{}
		for round := range rounds + 10 {
			for _, size := range sizes {
				began := time.Now()
				resp, err := http.Get("http://" + servers[size].addr + path)
				if err != nil {
					b.Fatal(err)
				}
				data, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				took := time.Since(began)
				var page struct{ Items []json.RawMessage }
				if err == nil {
					err = json.Unmarshal(data, &page)
				}
				if err != nil || len(page.Items) != 50 {
					b.Fatalf("%s has %d items: %v, %s", path, len(page.Items), err, strings.TrimSpace(string(data[:min(200, len(data))])))
				}
				if round >= 10 {
					times[size] = append(times[size], took.Seconds()*1e3)
				}
			}
		}
		reportGrowth(b, name+"-ms", sizes, func(size int) []float64 { return slices.Clone(times[size]) })
		for _, size := range sizes {
			b.ReportMetric(slices.Sorted(slices.Values(times[size]))[rounds/10], fmt.Sprint(name, "-low-ms-", size))
		}
	}
	b.ReportMetric(0, "ns/op")
}
