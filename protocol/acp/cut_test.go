package acp_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/store/sqlite"
)

// cuts is how often sessions are cut off.
func cuts() int {
	if os.Getenv("AWAKEN_LONG") != "" {
		return 10_000
	}
	return 200
}

// A client that is cut off after any line, any number of times, and loads the session on a connection of any process has in
// the end what a client has that was never cut off, and what one has that loads the session when all is over.
func TestLoad_CutAnywhere(t *testing.T) {
	g := newRig(t)
	box, _ := g.Start(false) // of a process that runs nothing
	rnd := rand.New(rand.NewPCG(5, 6))
	words := []struct{ agent, say string }{{"default", "scenario:text"}, {"default", "scenario:reasoning"}, {"default", "RUN_TOOL talk {\"n\":3}"}, {"default", "scenario:tool-error"}, {"again", "go"}, {"slow", "go"}}
	want := make([]string, len(words))
	for i, w := range words {
		c := begin(t, g.Box, `{}`)
		c.ask = choosing("allow_once")
		s := c.session(w.agent)
		c.prompt(s, w.say)
		want[i] = "user_message_chunk: " + w.say + "\n" + transcript(c.all(s))
	}
	for n := 0; n < cuts(); {
		i := rnd.IntN(len(words))
		w := words[i]
		if w.agent == "slow" && rnd.IntN(10) > 0 {
			continue // it takes time
		}
		c := begin(t, g.Box, `{}`)
		c.ask = choosing("allow_once")
		s := c.session(w.agent)
		c.send("session/prompt", promptOf(s, w.say))
		for {
			at := rnd.IntN(6)
			c.cutAfter(s, at)
			n++
			c = begin(t, g.Box, `{}`)
			if rnd.IntN(2) == 0 {
				c = begin(t, box, `{}`)
			}
			c.ask = choosing("allow_once")
			if r := c.call("session/load", of(s)); r.Error != nil {
				t.Fatalf("%+v", r.Error)
			}
			if rnd.IntN(3) == 0 || n >= cuts() {
				break
			}
		}
		c.until("all of "+w.say, func() bool { return transcript(c.updates) == want[i] })
		last := begin(t, box, `{}`)
		last.must("session/load", of(s))
		last.until("all of "+w.say, func() bool { return transcript(last.updates) == want[i] })
		last.leave()
		c.leave()
	}
}

// cutAfter ends the connection after some updates, or when the run is over.
func (c *client) cutAfter(session string, updates int) {
	c.mu.Lock()
	for n := 0; n < 50 && len(c.updates) < updates && c.waiting != nil; n++ {
		c.mu.Unlock()
		<-tick()
		c.mu.Lock()
	}
	c.mu.Unlock()
	c.leave()
}

// leave ends the connection.
func (c *client) leave() {
	_ = c.in.Close()
	<-c.served
}

// Two editors with programs of their own on one SQLite file see the same sessions, and each can continue what the other began.
func TestTwoProcesses_SQLite(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "awaken.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g := protocoltest.Idle(t, nil)
	g.DB = db
	g.Box, g.URL = g.Start(true)
	other, _ := g.Start(true)
	a, b := begin(t, g.Box, `{}`), begin(t, other, `{}`)
	b.ask = choosing("allow_once")
	s := a.session("again")
	if r := a.call("session/prompt", promptOf(s, "go")); r.Error == nil { // the client cannot be asked
		t.Fatalf("%s", r.Result)
	}
	b.must("session/load", of(s))
	b.until("it is done", func() bool { return strings.Contains(strings.Join(b.lines, ""), `"done"`) })
	if stop := b.prompt(s, "again"); stop != "end_turn" {
		t.Error(stop)
	}
	a.mu.Lock()
	a.updates = nil
	a.mu.Unlock()
	a.must("session/load", of(s))
	late := begin(t, other, `{}`)
	late.must("session/load", of(s))
	if x, y := transcript(a.all(s)), transcript(late.all(s)); x != y || strings.Count(x, "done") != 2 {
		t.Errorf("one sees\n%s\nthe other\n%s", x, y)
	}
}

// If the owner of a run dies in the middle of its answer, an editor that saw part of it reads that the answer begins again,
// and then all of it. One that loads the session before another owner has begun, or later, has the answer alone.
func TestOwnerDies(t *testing.T) {
	goOn := make(chan struct{})
	g := protocoltest.Idle(t, nil)
	g.Slow = goOn
	g.Box, g.URL = g.Start(true)
	other, _ := g.Start(false) // has none of what is not stored
	c := begin(t, g.Box, `{}`)
	s := c.session("slow")
	answer := c.send("session/prompt", promptOf(s, "go"))
	begun := protocoltest.SlowText[:20]
	c.until("the answer begins", func() bool { return strings.Contains(transcript(c.updates), begun) })
	early := begin(t, other, `{}`)
	early.must("session/load", of(s))
	if _, err := g.DB.Handle("").Acquire(t.Context(), s); err != nil { // its owner is lost
		t.Fatal(err)
	}
	close(goOn)
	if r := c.wait("session/prompt", answer); r.Error != nil || stopped(t, r.Result) != "end_turn" {
		t.Errorf("the prompt ends with %s, %+v", r.Result, r.Error)
	}
	has := transcript(c.all(s))
	if parts := strings.Split(has, "[The answer was interrupted and begins again.]"); len(parts) != 2 || strings.Count(parts[1], protocoltest.SlowText) != 1 {
		t.Errorf("the editor shows\n%s", has)
	}
	late := begin(t, other, `{}`)
	late.must("session/load", of(s))
	want := "user_message_chunk: go\nagent_message_chunk: " + protocoltest.SlowText
	for name, editor := range map[string]*client{"early": early, "late": late} {
		editor.until("the answer", func() bool { return strings.TrimSpace(transcript(editor.updates)) == want })
		t.Log(name, "has it")
	}
}
