//go:build unix

package growthtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/memory"
)

// pieces is the number of pieces of an answer that is watched.
const pieces = 40

// gated is a model whose answers begin when a gate opens.
type gated struct{ gate atomic.Pointer[chan struct{}] }

func (g *gated) close() (open func()) {
	ch := make(chan struct{})
	g.gate.Store(&ch)
	return func() { close(ch) }
}

func (g *gated) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		<-*g.gate.Load()
		for range pieces {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				yield(llm.Delta{}, ctx.Err())
				return
			}
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: "a piece "}, nil) {
				return
			}
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// What a watcher of a run costs, for each piece that it gets, does not depend on how many there are. The
// costs are CPU time, of the watchers too, which are in the same process.
func TestGrowth_Watchers(t *testing.T) {
	sizes := sizes(10, 100, 1_000)
	rounds := 1
	if testenv.Long() {
		rounds = 7
	}
	model := new(gated)
	url := serve(t, model)
	c := &curve{name: "CPU for a watcher and piece", flat: true, costs: map[int][]time.Duration{}}
	for range rounds {
		for _, size := range sizes {
			c.costs[size] = append(c.costs[size], watch(t, url, model, size)/time.Duration(size*pieces))
		}
	}
	table(t, "watchers", sizes, []*curve{c}, rounds)
}

// serve serves an agent with a model.
func serve(t *testing.T, model llm.Model) string {
	t.Helper()
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": model}})
	if err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Limits: server.Limits{Streams: 5000}})
	if err != nil {
		t.Fatal(err)
	}
	return rigtest.Listen(t, srv)
}

// watch lets watchers follow a run to its end, and returns the CPU time from its first piece on.
func watch(t *testing.T, url string, model *gated, watchers int) time.Duration {
	t.Helper()
	open := model.close()
	var made struct {
		RunID string `json:"run_id"`
	}
	c := &rigtest.Client{URLs: []string{url}}
	if err := c.Ask(t.Context(), "POST", fmt.Sprintf("/v1/threads/watched-%d/mailbox", time.Now().UnixNano()), `{"payload":{"text":"go"}}`, &made); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var ready, over sync.WaitGroup
	ready.Add(watchers)
	for range watchers {
		over.Go(func() {
			resp, err := client.Get(url + "/v1/runs/" + made.RunID + "/events/stream?cursor=0-0")
			if err != nil {
				ready.Done()
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			lines, n := bufio.NewReader(resp.Body), 0
			first, err := lines.ReadString('\n')
			ready.Done()
			for ; err == nil; first, err = lines.ReadString('\n') {
				if strings.Contains(first, `"text_delta"`) {
					n++
				}
			}
			if err != io.EOF || n != pieces {
				t.Errorf("a watcher saw %d pieces, want %d: %v", n, pieces, err)
			}
		})
	}
	ready.Wait()
	before := cpu(t)
	open()
	over.Wait()
	return cpu(t) - before
}

// cpu returns the CPU time of this process.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
