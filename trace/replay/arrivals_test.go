package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/replay"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// inboxes is a store that tells when a run has read a message.
type inboxes struct {
	*memory.Store
	mu   sync.Mutex
	read map[string]chan struct{} // by text
}

func (s *inboxes) signal(text string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read[text] == nil {
		s.read[text] = make(chan struct{})
	}
	return s.read[text]
}

func (s *inboxes) Unread(ctx context.Context, threadID string) ([]awaken.InboxItem, error) {
	items, err := s.Store.Unread(ctx, threadID)
	for _, it := range items {
		for _, m := range it.Messages {
			select {
			case <-s.signal(m.Text()):
			default:
				close(s.signal(m.Text()))
			}
		}
	}
	return items, err
}

// chat is an agent with a tool that lets a message arrive while it runs, and a plugin that lets one arrive at the end of a step. Its guard, if it has one,
// holds messages with the word "Hold".
type chat struct {
	store     *inboxes
	rt        *engine.Runtime
	recording atomic.Bool
	behind    map[int]string // messages that arrive at the end of a step
	config    engine.Config
}

func (*chat) Name() string { return "chat" }

func (c *chat) Register(r *awaken.Registrar) error {
	r.On(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error {
		if text := c.behind[h.Step]; text != "" && c.recording.Load() {
			return c.rt.Send(context.Background(), "t", llm.UserText(text))
		}
		return nil
	})
	for _, phase := range []awaken.Phase{awaken.PhaseBeforeToolExecute, awaken.PhaseAfterToolExecute} {
		r.On(phase, func(_ context.Context, h *awaken.HookCall) error { // the state has a revision for each of them
			sum.Update(h, 1)
			return nil
		})
	}
	r.Key(sum)
	return nil
}

// holding is a plugin whose guard holds messages.
type holding struct{}

func (holding) Name() string { return "holding" }

func (holding) Register(r *awaken.Registrar) error {
	r.Guard(awaken.InputPoint, func(_ context.Context, _ *awaken.HookCall, p *awaken.Passage) (awaken.Verdict, error) {
		if strings.Contains(p.Message.Text(), "Hold") {
			return awaken.SuspendCall(awaken.Ticket{}), nil
		}
		return awaken.Allow(), nil
	})
	return nil
}

func newChat(mode awaken.ExecutionMode, behind map[int]string, guarded bool, turns ...llmtest.Turn) *chat {
	c := &chat{store: &inboxes{Store: memory.New(), read: map[string]chan struct{}{}}, behind: behind}
	spec := &awaken.AgentSpec{ID: "default", ModelID: "m", PluginIDs: []string{"chat"}, ToolExecutionMode: mode}
	if guarded {
		spec.PluginIDs = append(spec.PluginIDs, "holding")
	}
	c.config = engine.Config{Store: c.store, Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{c, holding{}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m-1"}}, Providers: map[string]llm.Model{"p": llmtest.NewScript(turns...)},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "work"}, func(ctx context.Context, _ *awaken.ToolCall, in struct {
			Say   string `json:"say,omitempty"`
			Await string `json:"await,omitempty"`
		}) (*awaken.ToolResult, error) {
			if in.Say != "" {
				if err := c.rt.Send(ctx, "t", llm.UserText(in.Say)); err != nil {
					return nil, err
				}
				<-c.store.signal(in.Say)
			}
			if in.Await != "" {
				<-c.store.signal(in.Await)
			}
			return awaken.TextResult("ok"), nil
		})}}
	return c
}

func works(args ...string) llmtest.Turn {
	var t llmtest.Turn
	for _, a := range args {
		t.ToolCalls = append(t.ToolCalls, llmtest.Call{Name: "work", Arguments: json.RawMessage(a)})
	}
	return t
}

// TestPlay_MessagesArriveWhereTheyArrived replays runs that read messages while calls ran, between two steps and when they were about to end, with
// and without guards that hold them. Messages that are held are approved in the end.
func TestPlay_MessagesArriveWhereTheyArrived(t *testing.T) {
	t.Parallel()
	say := func(text string) string { return fmt.Sprintf(`{"say":%q}`, text) }
	for name, tt := range map[string]struct {
		mode   awaken.ExecutionMode
		behind map[int]string
		final  string // arrives during the last answer
		turns  []llmtest.Turn
	}{
		"during the first of three calls":         {turns: []llmtest.Turn{works(say("Hold 1"), `{}`, `{}`)}},
		"during the second of three calls":        {turns: []llmtest.Turn{works(`{}`, say("Hold 1"), `{}`)}},
		"during the last of three calls":          {turns: []llmtest.Turn{works(`{}`, `{}`, say("Hold 1"))}},
		"during two calls":                        {turns: []llmtest.Turn{works(say("Hold 1"), `{}`, say("Hold 2"))}},
		"one that passes, then one that does not": {turns: []llmtest.Turn{works(say("Pass"), say("Hold 1"), say("Also"), `{}`)}},
		"during concurrent calls": {mode: awaken.ParallelStreaming,
			turns: []llmtest.Turn{works(`{}`, say("Hold 1"), `{"await":"Hold 1"}`)}},
		"behind a step":              {turns: []llmtest.Turn{works(`{}`, `{}`), works(`{}`)}, behind: map[int]string{0: "Hold 1"}},
		"behind the second step":     {turns: []llmtest.Turn{works(`{}`), works(`{}`, `{}`), works(`{}`)}, behind: map[int]string{1: "Hold 1"}},
		"during and behind a step":   {turns: []llmtest.Turn{works(`{}`, say("Hold 1"), `{}`), works(`{}`)}, behind: map[int]string{0: "Hold 2"}},
		"behind two steps":           {turns: []llmtest.Turn{works(`{}`), works(`{}`, `{}`)}, behind: map[int]string{0: "Pass", 1: "Hold 1"}},
		"at the end":                 {turns: []llmtest.Turn{works(`{}`)}, final: "Hold 1"},
		"behind a step, and the end": {turns: []llmtest.Turn{works(`{}`)}, behind: map[int]string{0: "Hold 1"}, final: "Hold 2"},
	} {
		for _, guarded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, guarded=%t", name, guarded), func(t *testing.T) {
				t.Parallel()
				turns := append(tt.turns[:len(tt.turns):len(tt.turns)], llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say("Three."), llmtest.Say("Four."))
				c := newChat(tt.mode, tt.behind, guarded, turns...)
				c.run(t, tt.final)
				for range 3 {
					if _, err := replaytest.Play(t.Context(), c.config, c.store, "r"); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// run runs the agent until it has ended, and approves what is held.
func (c *chat) run(t *testing.T, final string) {
	t.Helper()
	var err error
	if c.rt, err = engine.New(c.config); err != nil {
		t.Fatal(err)
	}
	c.recording.Store(true)
	defer c.recording.Store(false)
	sink := awaken.SinkFunc(func(ctx context.Context, e awaken.Entry) error {
		if ev, ok := e.Event.(*awaken.InferenceComplete); ok && ev.FinishReason == llm.EndTurn && final != "" {
			text := final
			final = ""
			return c.rt.Send(ctx, "t", llm.UserText(text))
		}
		return nil
	})
	res, err := c.rt.Run(t.Context(), awaken.RunRequest{AgentID: "default", ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("Go")}}, sink)
	for n := 0; err == nil && res.Termination.Type == awaken.Suspended && n < 5; n++ {
		var decisions []awaken.Decision
		for _, id := range res.Waiting.TicketIDs {
			decisions = append(decisions, awaken.Decision{Target: id, Action: awaken.ActionResume})
		}
		res, err = c.rt.Run(t.Context(), awaken.RunRequest{Continue: "r", Decisions: decisions}, sink)
	}
	if err != nil || res.Termination.Type != awaken.NaturalEnd {
		t.Fatalf("the run has %+v, %v", res, err)
	}
}

// TestPlay_SaysThatAnArrivalIsNotRecorded replays the record of a run that read a message during the second of three calls, as a version that did not
// note where wrote it, and with another place.
func TestPlay_SaysThatAnArrivalIsNotRecorded(t *testing.T) {
	t.Parallel()
	c := newChat("", nil, false, works(`{}`, `{"say":"More"}`, `{}`), llmtest.Say("Done."))
	c.run(t, "")
	place := `"arrival":{"steps":0,"point":"calls","after":"call_work_1"}`
	for _, tt := range []struct {
		with       string
		unplayable bool
		want       string
	}{
		{`"client_role":"user"`, true, "is not recorded"},
		{`"arrival":{"steps":0,"point":"calls"}`, false, "message 1"},
		{`"arrival":{"steps":0,"point":"calls","after":"call_work_1_1"}`, false, "message 2"},
		{`"arrival":{"steps":1,"point":"step"}`, false, "message 2"},
		{`"arrival":{"steps":2,"point":"end"}`, false, "the messages of the request"},
	} {
		from := &edited{Source: c.store, old: place, new: tt.with, messages: true}
		_, err := replaytest.Play(t.Context(), c.config, from, "r")
		if err == nil || errors.Is(err, replay.ErrUnplayable) != tt.unplayable || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("with %s: the replay says %v, want %q", tt.with, err, tt.want)
		}
	}
}

// TestPlay_MessageThatAnotherRunHasRead replays a run whose request repeats a message with the place at which another run read it, as
// clients do that ask for another answer.
func TestPlay_MessageThatAnotherRunHasRead(t *testing.T) {
	t.Parallel()
	sh := newShop(nil)
	h := awakentest.New(t, sh.config)
	m := llm.UserText("Buy it")
	m.Metadata = &llm.Metadata{Arrival: &llm.Arrival{Steps: 3, Point: llm.AtEnd}}
	id := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{m}}).Result.RunID
	if _, err := replaytest.Play(t.Context(), sh.config, h.Store.(*memory.Store), id); err != nil {
		t.Error(err)
	}
}
