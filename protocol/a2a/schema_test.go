package a2a_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// definition returns a definition of the protocol's schema, which refuses fields that it does not know.
func definition(t *testing.T, name string) func(what string, data []byte) {
	t.Helper()
	raw, err := os.ReadFile("testdata/a2a-v1.0.0.bundle.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("a2a.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("a2a.json#/$defs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return func(what string, data []byte) {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, data)
		}
	}
}

// What the golden runs become, and what the server replies, is valid by the schema of the protocol.
func TestSchema(t *testing.T) {
	frame := definition(t, "StreamResponse")
	frames := 0
	for _, r := range protocoltest.GoldenRuns(t) {
		entries := r.First()
		if len(entries) == 0 {
			continue
		}
		for _, at := range []awaken.Cursor{{}, entries[len(entries)/2].Cursor, entries[len(entries)-1].Cursor} {
			for line := range strings.Lines(encode(t, entries, a2a.Options{Snapshot: at}, protocol.Position{})) {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					frame(r.Name, []byte(data))
					frames++
				}
			}
		}
	}
	if frames < 1000 {
		t.Errorf("%d frames", frames)
	}
	g := newRigWith(t, a2a.Config{RequireKey: true}, nil)
	_, card := g.Ask("GET", g.URL+"/.well-known/agent-card.json", "")
	definition(t, "AgentCard")("the card", []byte(card))
	sent, list, task := definition(t, "SendMessageResponse"), definition(t, "ListTasksResponse"), definition(t, "Task")
	for _, said := range []string{"hello", "RUN_TOOL ask", "RUN_TOOL where", `RUN_TOOL talk {"n":1}`, "scenario:error"} {
		m := message(said)
		m.Parts = append(m.Parts, a2a.Part{Data: json.RawMessage(`{"a":1}`)}, a2a.Part{Raw: "aGk=", MediaType: "text/plain"})
		r := g.ask("SendMessage", body(m, nil, ""))
		sent(said, r.result)
		var got struct{ Task a2a.Task }
		g.decode(r.result, &got)
		task(said, g.ask("GetTask", map[string]any{"id": got.Task.ID}).result)
	}
	list("a list", g.ask("ListTasks", map[string]any{"includeArtifacts": true, "historyLength": 5}).result)
}

// Several questions are answered by their tickets, in one message or one after the other.
func TestSend_DecidesSeveral(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		for _, together := range []bool{true, false} {
			task := g.say("scenario:approvals", nil)
			if task.Status.State != a2a.InputRequired {
				t.Fatalf("%+v", task.Status)
			}
			var asked struct{ Tickets []struct{ TicketID string } }
			g.decode(task.Status.Message.Parts[1].Data, &asked)
			if len(asked.Tickets) != 2 {
				t.Fatalf("%+v", asked)
			}
			send := func(parts ...string) reply {
				m := message("")
				m.TaskID, m.Parts = task.ID, nil
				for _, p := range parts {
					m.Parts = append(m.Parts, a2a.Part{Data: json.RawMessage(p)})
				}
				return g.ask("SendMessage", body(m, nil, ""))
			}
			if r := send(`{"approved":true}`); r.reason != "INVALID_PARAMS" || !strings.Contains(r.text, asked.Tickets[0].TicketID) {
				t.Errorf("without a ticket: %+v", r)
			}
			var yes []string
			for _, a := range asked.Tickets {
				yes = append(yes, `{"ticketId":"`+a.TicketID+`","approved":true}`)
			}
			if r := send(yes[0], yes[0]); r.reason != "INVALID_PARAMS" {
				t.Errorf("twice: %+v", r)
			}
			if together {
				if r := send(yes...); r.reason != "" {
					t.Errorf("together: %+v", r)
				}
			} else {
				for _, y := range yes {
					if r := send(y); r.reason != "" {
						t.Errorf("one after the other: %+v", r)
					}
				}
			}
			if end := g.get(task.ID); end.Status.State != a2a.Completed {
				t.Errorf("%+v", end.Status)
			}
		}
	})
}
