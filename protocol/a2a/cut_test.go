package a2a_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A client that is cut off at any byte, any number of times, and subscribes again at any replica, with or without the id of
// its last event, has in the end the task that the server has.
func TestSubscribe_CutAnywhere(t *testing.T) {
	g := newRig(t)
	_, other := g.Start(false)
	runs := 12
	if os.Getenv("AWAKEN_LONG") != "" {
		runs = 400
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range runs {
		g.rpc = i%2 == 1
		task := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
		have, received := task, ""
		for n := 0; !have.Status.State.Terminal(); n++ {
			id := ""
			if i%3 == 0 {
				_, id = protocoltest.Whole(received)
			}
			if id == "" {
				received = ""
			}
			resp := g.request([]string{g.URL, other}[rnd.IntN(2)], "SubscribeToTask", map[string]any{"id": task.ID}, "Last-Event-ID", id)
			if resp.Header.Get("Content-Type") != "text/event-stream" {
				r := g.read(resp)
				resp.Body.Close()
				if r.reason != "UNSUPPORTED_OPERATION" {
					t.Fatalf("%+v", r)
				}
				have = g.get(task.ID) // it is over
				break
			}
			received += readSome(resp.Body, rnd.IntN(3000)+1, n > 20)
			resp.Body.Close()
			frames := received[:lastFrame(received)]
			if frames == "" {
				continue
			}
			have = seen(t, events(t, frames))
			if id != "" || i%3 == 0 {
				received, _ = protocoltest.Whole(frames)
			}
		}
		if want := g.get(task.ID); fmt.Sprint(have.Status.State, text(have, "response")) != fmt.Sprint(a2a.Completed, protocoltest.SlowText) || text(want, "response") != protocoltest.SlowText {
			t.Fatalf("run %d: %+v", i, have)
		}
	}
}

// lastFrame returns where the last complete frame ends.
func lastFrame(s string) int {
	for i := len(s); i >= 2; i-- {
		if s[i-2:i] == "\n\n" {
			return i
		}
	}
	return 0
}

// readSome reads n bytes, or all.
func readSome(r interface{ Read([]byte) (int, error) }, n int, all bool) string {
	var out []byte
	buf := make([]byte, 256)
	for all || len(out) < n {
		k, err := r.Read(buf)
		out = append(out, buf[:k]...)
		if err != nil {
			break
		}
	}
	return string(out)
}

// A task that a server accepted before it went away is done by the next one, and those that subscribed get it all.
func TestRestart(t *testing.T) {
	g := &rig{Rig: protocoltest.Idle(t, routes(t, a2a.Config{}))}
	g.Box, g.URL = g.Start(false)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.task("SendMessage", body(message("hello"), config{"returnImmediately": true}, ""))
		if task.Status.State != a2a.Submitted || len(task.History) != 1 {
			t.Fatalf("%+v", task)
		}
		resp := g.request(g.URL, "SubscribeToTask", map[string]any{"id": task.ID})
		defer resp.Body.Close()
		g.Start(true)
		list := events(t, protocoltest.ReadAll(resp))
		end := seen(t, list)
		if list[0].Task == nil || list[0].Task.Status.State != a2a.Submitted || end.Status.State != a2a.Completed || text(end, "response") == "" {
			t.Errorf("%+v", list)
		}
	})
}
