package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A prompt streams what the agent says and does, and is answered with why it ended. A session that is loaded shows the
// same.
func TestPrompt(t *testing.T) {
	g := newRig(t)
	for _, tt := range []struct{ word, want, stop string }{
		{"text", "agent_message_chunk: This is a short text that arrives in a few pieces.", "end_turn"},
		{"reasoning", "agent_thought_chunk: The user wants", "end_turn"},
		{"tool", "call get_weather: Paris: ", "end_turn"},
		{"tool-error", "call fail_tool: ", "end_turn"},
	} {
		t.Run(tt.word, func(t *testing.T) {
			c := begin(t, g.Box, `{}`)
			s := c.session("default")
			if stop := c.prompt(s, "scenario:"+tt.word); stop != tt.stop {
				t.Errorf("it ended with %s", stop)
			}
			live := transcript(c.all(s))
			if !strings.Contains(live, tt.want) {
				t.Errorf("the client sees\n%s", live)
			}
			again := begin(t, g.Box, `{}`)
			again.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":[]}`, s))
			if loaded := transcript(again.all(s)); loaded != "user_message_chunk: scenario:"+tt.word+"\n"+live {
				t.Errorf("loaded:\n%s\nlive:\n%s", loaded, live)
			}
		})
	}
}

// A run that fails answers the prompt with its error, and the session lives on.
func TestPrompt_Fails(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	s := c.session("default")
	r := c.call("session/prompt", promptOf(s, "scenario:error"))
	if r.Error == nil || r.Error.Code != -32603 || !strings.Contains(r.Error.Message, "boom") {
		t.Fatalf("%s %+v", r.Result, r.Error)
	}
	if stop := c.prompt(s, "hello"); stop != "end_turn" {
		t.Errorf("it ended with %s", stop)
	}
}

// Cancelling answers the prompt with cancelled, whether the run is running, asks, or is cancelled by the id of its request.
func TestCancel(t *testing.T) {
	slow := make(chan struct{})
	defer close(slow)
	g := protocoltest.Idle(t, nil)
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	cancels := map[string]func(c *client, s string){
		"session/cancel": func(c *client, s string) {
			c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s))
		},
		"$/cancel_request": func(c *client, s string) {
			c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, c.next))
		},
		"another client": func(_ *client, s string) { _ = g.Box.Tenant("").Cancel(t.Context(), s) },
	}
	for name, cancel := range cancels {
		for _, agent := range []string{"slow", "again"} {
			t.Run(name+"/"+agent, func(t *testing.T) {
				c := begin(t, g.Box, `{}`)
				c.ask = func(string, json.RawMessage) (any, error) { return nil, nil }
				s := c.session(agent)
				answer := c.send("session/prompt", promptOf(s, "go"))
				c.until("it says something", func() bool {
					if agent == "again" {
						return len(c.asked) > 0
					}
					return len(c.updates) > 3
				})
				cancel(c, s)
				r := c.wait("prompt", answer)
				if r.Error != nil || stopped(t, r.Result) != "cancelled" {
					t.Errorf("%s %+v", r.Result, r.Error)
				}
				if agent == "again" {
					c.until("the question is withdrawn", func() bool { return len(c.dropped) == 1 })
				}
				if g.Open(s) != nil {
					t.Error("the run is not over")
				}
			})
		}
	}
}

// A call that waits is a permission request. The answer decides, once, whichever client gives it.
func TestPermission(t *testing.T) {
	g := newRig(t)
	for option, want := range map[string]string{"allow_once": "completed", "reject_once": "failed"} {
		c := begin(t, g.Box, `{}`)
		c.ask = choosing(option)
		s := c.session("again")
		if stop := c.prompt(s, "go"); stop != "end_turn" {
			t.Errorf("%s: it ended with %s", option, stop)
		}
		if got := transcript(c.all(s)); !strings.Contains(got, "call ask: "+want) || !strings.HasSuffix(got, "agent_message_chunk: done\n") {
			t.Errorf("%s:\n%s", option, got)
		}
	}
	c := begin(t, g.Box, `{}`)
	c.ask = func(string, json.RawMessage) (any, error) { return nil, nil }
	s := c.session("again")
	answer := c.send("session/prompt", promptOf(s, "go"))
	c.until("it asks", func() bool { return len(c.asked) == 1 })
	run := g.Open(s)
	if _, err := g.Box.Tenant("").Decide(t.Context(), s, run.Waiting.Tickets[0].Approve()); err != nil {
		t.Fatal(err)
	}
	if r := c.wait("prompt", answer); r.Error != nil || stopped(t, r.Result) != "end_turn" {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	c.until("the question is withdrawn", func() bool { return len(c.dropped) == 1 })
}

// An approval that is to be remembered is: for the session, or for the agent.
func TestPermission_Always(t *testing.T) {
	g := newRig(t)
	asks := func(c *client, s string) int {
		before := len(c.asked)
		if stop := c.prompt(s, "RUN_TOOL talk"); stop != "end_turn" {
			t.Errorf("it ended with %s", stop)
		}
		return len(c.asked) - before
	}
	c := begin(t, g.Box, `{}`)
	var offered []string
	c.ask = func(_ string, params json.RawMessage) (any, error) {
		var p struct {
			Options []struct{ OptionID, Kind string }
		}
		_ = json.Unmarshal(params, &p)
		offered = nil
		for _, o := range p.Options {
			offered = append(offered, o.OptionID+" "+o.Kind)
		}
		return selected("allow_session"), nil
	}
	s, other := c.session("careful"), c.session("careful")
	if n := asks(c, s); n != 1 {
		t.Fatalf("it asks %d times", n)
	}
	if want := "[allow_once allow_once allow_session allow_always allow_always allow_always reject_once reject_once]"; fmt.Sprint(offered) != want {
		t.Errorf("it offers %v", offered)
	}
	if n := asks(c, s); n != 0 {
		t.Errorf("it asks %d times, although it may always", n)
	}
	if n := asks(c, other); n != 1 {
		t.Errorf("another session asks %d times", n)
	}
	c.ask = choosing("allow_always")
	third := c.session("careful")
	if n := asks(c, third); n != 1 {
		t.Errorf("a third session asks %d times", n)
	}
	if n := asks(c, c.session("careful")); n != 0 {
		t.Errorf("it asks %d times, although it may always", n)
	}
	list, err := g.Box.Tenant("").Decisions(t.Context(), decisionsOf())
	if err != nil || len(list) == 0 || list[0].Remembered != "project" || list[0].Actor == nil || list[0].Actor.Label != "test" {
		t.Errorf("%+v, %v", list[0], err)
	}
}

// A client that cannot be asked learns why its prompt is not answered, and the run waits for another.
func TestPermission_CannotAsk(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	s := c.session("again")
	r := c.call("session/prompt", promptOf(s, "go"))
	if r.Error == nil || !strings.Contains(r.Error.Message, "cannot be asked: not here") {
		t.Fatalf("%s %+v", r.Result, r.Error)
	}
	if run := g.Open(s); run == nil || run.Status != awaken.RunWaiting {
		t.Fatalf("%+v", run)
	}
	other := begin(t, g.Box, `{}`)
	other.ask = choosing("allow_once")
	other.must("session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":[]}`, s))
	other.until("it is done", func() bool { return strings.Contains(strings.Join(other.lines, ""), `"done"`) })
}

// A message that the client sends while a run waits for what it cannot answer ends that run, and the client sees its call end.
func TestPrompt_WithdrawsCall(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	s := c.session("default")
	if stop := c.prompt(s, "RUN_TOOL where"); stop != "end_turn" {
		t.Errorf("it ended with %s", stop)
	}
	if got := transcript(c.all(s)); !strings.Contains(got, "call where: pending") || !strings.Contains(got, "where waits for an answer") {
		t.Fatalf("\n%s", got)
	}
	c.prompt(s, "hello")
	c.until("the call has ended", func() bool { return strings.Contains(strings.Join(c.lines, ""), `"status":"failed"`) })
}
