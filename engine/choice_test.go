package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// A choice that forces a call holds until the run has made such a call.
func TestToolChoice_HoldsUntilTheCallIsMade(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		choice llm.ToolChoice
		client bool // it has the tool front
		turns  []llmtest.Turn
		want   []string // the mode of each request
	}{
		{"required", llm.ToolChoice{Mode: "required"}, false, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, []string{"required", ""}},
		{"of the client", llm.ToolChoice{Mode: "required"}, true, []llmtest.Turn{uses("echo"), uses("front"), llmtest.Say("ok")}, []string{"required", "required", ""}},
		{"by name", llm.ToolChoice{Mode: "tool", Name: "other"}, false, []llmtest.Turn{uses("echo"), uses("other"), llmtest.Say("ok")}, []string{"tool", "tool", ""}},
		{"ignored by the model", llm.ToolChoice{Mode: "required"}, false, []llmtest.Turn{llmtest.Say("no")}, []string{"required"}},
		{"of a client whose tool is left out", llm.ToolChoice{Mode: "required"}, true, []llmtest.Turn{uses("front"), llmtest.Say("ok")}, []string{"required", ""}},
		{"none", llm.ToolChoice{Mode: "none"}, false, []llmtest.Turn{uses("echo"), llmtest.Say("ok")}, []string{"none", "none"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tools := []awaken.Tool{echo("echo"), echo("other")}
			if strings.Contains(tt.name, "left out") {
				tools = append(tools, echo("front"))
			}
			g := newRig(t, tt.turns, withTools(tools...))
			req := say("hi")
			req.Overrides = &awaken.InferenceOverride{ToolChoice: &tt.choice, StopSequences: []string{"END"}, Seed: new(int64(7)), ParallelTools: new(false)}
			if tt.client {
				req.FrontendTools, req.Untrusted = []awaken.ToolSpec{{ID: "front"}}, true
			}
			if res, _ := g.run(req); res.Status == awaken.RunWaiting {
				g.resume(res.RunID, approve(res.Waiting.Tickets[0].ToolCallID))
			}
			var got []string
			for _, r := range g.model.Requests() {
				p, mode := r.Params, ""
				if p.ToolChoice != nil {
					mode = p.ToolChoice.Mode
				}
				got = append(got, mode)
				if !cmp.Equal(p.StopSequences, []string{"END"}) || p.Seed == nil || *p.Seed != 7 || p.ParallelTools == nil || *p.ParallelTools {
					t.Errorf("the parameters are %+v", p)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("choices (-want +got):\n%s", diff)
			}
		})
	}
}

// A choice of a tool that the run does not have is refused before anything is asked.
func TestToolChoice_OfAnUnknownTool(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil, withTools(echo("echo")))
	req := say("hi")
	req.Overrides = &awaken.InferenceOverride{ToolChoice: &llm.ToolChoice{Mode: "tool", Name: "gone"}}
	_, err := g.rt.Run(t.Context(), req, &tape{})
	if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), `tool_choice names tool "gone"`) || !strings.Contains(err.Error(), `available: ["echo"]`) {
		t.Errorf("error %v", err)
	}
	if n := len(g.model.Requests()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

// An agent that makes its calls one after another hands out all calls that the client executes, up to a call of its own.
func TestSequential_HandsOutTheCallsOfTheClientTogether(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("echo", "front", "back", "echo", "front"), llmtest.Say("ok")}, withTools(echo("echo")))
	req := say("hi")
	req.FrontendTools = []awaken.ToolSpec{{ID: "front"}, {ID: "back"}}
	waitsFor := func(res *awaken.RunResult) (out []string) {
		if res.Waiting != nil {
			for _, w := range res.Waiting.Tickets {
				out = append(out, w.ToolCallID+" "+w.ToolName)
			}
		}
		return out
	}
	res, _ := g.run(req)
	if diff := cmp.Diff([]string{"c2 front", "c3 back"}, waitsFor(res)); diff != "" {
		t.Fatalf("first (-want +got):\n%s", diff)
	}
	res, _ = g.resume(res.RunID, approve("c3")) // the client may answer in any order
	if diff := cmp.Diff([]string{"c2 front"}, waitsFor(res)); diff != "" {
		t.Fatalf("after an answer (-want +got):\n%s", diff)
	}
	res, _ = g.resume(res.RunID, approve("c2"))
	if diff := cmp.Diff([]string{"c5 front"}, waitsFor(res)); diff != "" {
		t.Fatalf("after both (-want +got):\n%s", diff)
	}
	res, _ = g.resume(res.RunID, approve("c5"))
	if res.Response != "ok" {
		t.Errorf("response %q", res.Response)
	}
	checkValid(t, g.request(2).Messages)
}

// A call of the client that a gate holds holds back the calls behind it.
func TestSequential_HoldsCallsBehindOneThatIsNotApproved(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("front", "back"), llmtest.Say("ok")}, withPlugins(askAbout("front", awaken.Ticket{})))
	req := say("hi")
	req.FrontendTools = []awaken.ToolSpec{{ID: "front"}, {ID: "back"}}
	res, _ := g.run(req)
	for _, want := range [][]string{{"c1"}, {"c1", "c2"}} {
		var got []string
		for _, w := range res.Waiting.Tickets {
			got = append(got, w.ToolCallID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the run waits for (-want +got):\n%s", diff)
		}
		res, _ = g.resume(res.RunID, approve("c1"))
	}
}
