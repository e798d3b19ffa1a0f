package server_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// W6 compares the server with a bare relay that sends the same 64 pieces, each written
// and flushed on its own. Server, relay and load are processes of their own.
//
// BenchmarkW6 and its protocols flatter: they use the memory store, a model that answers at
// once, and no thread ids, which is not what chat clients do. W6d and W6p do.
const w6Pieces, w6Size = 64, 10

// serveRelay is the relay's process.
func serveRelay() error {
	pieces := make([]string, w6Pieces)
	for i := range pieces {
		pieces[i] = fmt.Sprintf("data: {\"event_type\":\"text_delta\",\"delta\":\"%08d|x\"}\n\n", i)
		switch os.Getenv("PROTOCOL") {
		case "aisdk":
			pieces[i] = fmt.Sprintf("data: {\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"%08d|x\"}\n\n", i)
		case "agui":
			pieces[i] = fmt.Sprintf("data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"1\",\"delta\":\"%08d|x\"}\n\n", i)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	pause := time.Duration(setting("PAUSE_MS")) * time.Millisecond
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, "bad body", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		for _, p := range pieces {
			time.Sleep(pause)
			if _, err := io.WriteString(w, p); err != nil || control.Flush() != nil {
				return
			}
		}
	})}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Shutdown(context.Background())
	}()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// w6Result is what one client process measured.
type w6Result struct {
	Runs        int
	Took        time.Duration
	First, Full time.Duration // p50
	Full99      time.Duration
}

// runLoad is a client process: each client starts a run, reads its stream to the end, and starts the
// next, for as long as MS says.
func runLoad() error {
	length := time.Duration(setting("MS")) * time.Millisecond
	clients, err := dialLoad()
	if err != nil {
		return err
	}
	began := time.Now()
	err = together(clients, func(c *loadClient) (err error) {
		for err == nil && time.Since(began) < length {
			err = c.run()
		}
		return err
	})
	if err != nil {
		return err
	}
	out := w6Result{Took: time.Since(began)}
	var first, full []time.Duration
	for _, c := range clients {
		first, full = append(first, c.first...), append(full, c.full...)
	}
	slices.Sort(first)
	slices.Sort(full)
	out.Runs, out.First, out.Full, out.Full99 = len(full), first[len(first)/2], full[len(full)/2], full[len(full)*99/100]
	return json.NewEncoder(os.Stdout).Encode(out)
}

// loadClient is one of the CLIENTS of a client process. It has a connection of its own to ADDR, and speaks PROTOCOL.
type loadClient struct {
	number      int
	as          dialect
	conn        net.Conn
	r           *bufio.Reader
	buf         []byte
	first, full []time.Duration // of each run: until the first bytes, and until the end
}

func dialLoad() (clients []*loadClient, err error) {
	for i := range setting("CLIENTS") {
		conn, err := net.Dial("tcp", os.Getenv("ADDR"))
		if err != nil {
			return nil, err
		}
		clients = append(clients, &loadClient{number: i, as: dialects[os.Getenv("PROTOCOL")], conn: conn, r: bufio.NewReaderSize(conn, 32<<10), buf: make([]byte, 32<<10)})
	}
	return clients, nil
}

// together calls do for every client at once, and returns an error of one.
func together(clients []*loadClient, do func(c *loadClient) error) error {
	failed := make(chan error, len(clients))
	for _, c := range clients {
		go func() { failed <- do(c) }()
	}
	var first error
	for range clients {
		first = cmp.Or(first, <-failed)
	}
	return first
}

// run starts a run and reads its stream.
func (c *loadClient) run() error {
	n := len(c.full)
	body := strings.NewReplacer("THREAD", threadOf(c.number, n), "UNIQUE", fmt.Sprintf("%d-%d-%d", os.Getpid(), c.number, n)).Replace(c.as.body)
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", c.as.path, c.as.headers, len(body), body)
	first, full, err := oneRun(c.conn, c.r, request, []byte(c.as.piece), c.buf)
	c.first, c.full = append(c.first, first), append(c.full, full)
	return err
}

// turns is the length of the conversations of THREADS=same.
const turns = 50

// threadOf returns the thread of a client's request: THREADS says whether it has none, a new one for
// each request, or the same for as many as a conversation has turns.
func threadOf(client, request int) string {
	switch os.Getenv("THREADS") {
	case "new":
	case "same":
		request /= turns
	default:
		return ""
	}
	return fmt.Sprintf("%d-%d-%d", os.Getpid(), client, request)
}

// oneRun starts a run and reads its stream. A stream with fewer pieces is an error.
func oneRun(conn net.Conn, r *bufio.Reader, request string, piece, buf []byte) (first, full time.Duration, err error) {
	start := time.Now()
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, 0, err
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	n, pieces := 0, 0
	for {
		got, err := resp.Body.Read(buf[n:])
		if got > 0 && first == 0 {
			first = time.Since(start)
		}
		n += got
		if at := bytes.LastIndexByte(buf[:n], '\n') + 1; at > 0 {
			pieces += bytes.Count(buf[:at], piece)
			n = copy(buf, buf[at:n])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if resp.StatusCode != 200 || pieces != w6Pieces {
		return 0, 0, fmt.Errorf("%s: the stream has %d pieces, want %d", resp.Status, pieces, w6Pieces)
	}
	return first, time.Since(start), nil
}

// BenchmarkW6 prints, for 1, 64 and 256 clients, how the server compares with the relay:
// medians of rounds in which both had their turn. Use -benchtime=1x.
func BenchmarkW6(b *testing.B) { benchmarkW6(b, "") }

// BenchmarkW6_AISDK is the same with the AI SDK's protocol on both sides.
func BenchmarkW6_AISDK(b *testing.B) { benchmarkW6(b, "aisdk") }

// BenchmarkW6_AGUI is the same with AG-UI on both sides.
func BenchmarkW6_AGUI(b *testing.B) { benchmarkW6(b, "agui") }

func benchmarkW6(b *testing.B, protocol string) {
	c := contest{newContestant(b, "relay", database{}, "PROTOCOL="+protocol), newContestant(b, "server", database{}, "PROTOCOL="+protocol)}
	for _, clients := range []int{1, 64, 256} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) { c.run(b, clients, "PROTOCOL="+protocol) })
	}
}

// BenchmarkW6d is W6 as users have it: on a durable store that syncs its commits, with thread ids, each new or the same for a conversation of 50
// turns. It compares the server with the [floor]. On PostgreSQL, all-CPU has the database's part, too.
// TestRequest_StatementsOfARun in store/postgres and store/sqlite lists the statements.
func BenchmarkW6d(b *testing.B) {
	for _, store := range []string{"sqlite", "postgres"} {
		b.Run(store, func(b *testing.B) {
			c := contest{newContestant(b, "floor", durable(b, store)), newContestant(b, "server", durable(b, store))}
			for _, threads := range []string{"new", "same"} {
				for _, clients := range []int{1, 64} {
					b.Run(fmt.Sprintf("threads=%s/clients=%d", threads, clients), func(b *testing.B) { c.run(b, clients, "THREADS="+threads) })
				}
			}
		})
	}
}

// BenchmarkW6b compares a server that keeps all requests to its models, word for word, with one that keeps none, on a durable store and with new
// thread ids.
func BenchmarkW6b(b *testing.B) {
	for _, store := range []string{"sqlite", "postgres"} {
		b.Run(store, func(b *testing.B) {
			var c contest
			for _, policy := range []string{"off", "all"} {
				s := newContestant(b, "server", durable(b, store), "BODIES="+policy)
				s.name = policy
				c = append(c, s)
			}
			for _, clients := range []int{1, 64} {
				b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) { c.run(b, clients, "THREADS=new") })
			}
		})
	}
}

// BenchmarkW6p is W6 with pieces that are 5 ms apart, on new threads, in memory and on SQLite, where the [floor] is compared, too, and with a flush
// window of 20 ms.
func BenchmarkW6p(b *testing.B) {
	const pace = "PAUSE_MS=5"
	for _, variant := range []string{"memory", "sqlite", "memory,window=20ms", "sqlite,window=20ms"} {
		b.Run(variant, func(b *testing.B) {
			kind, _, window := strings.Cut(variant, ",")
			settings := []string{pace}
			if window {
				settings = append(settings, "COLLECT_MS=20")
			}
			c := contest{newContestant(b, "relay", database{}, pace)}
			var place database
			if kind == "sqlite" {
				c = append(c, newContestant(b, "floor", durable(b, kind), pace))
				place = durable(b, kind)
			}
			c = append(c, newContestant(b, "server", place, settings...))
			for _, clients := range []int{64, 256} {
				b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) { c.run(b, clients, "THREADS=new") })
			}
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
