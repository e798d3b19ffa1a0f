package webhook_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/internal/sectiontest"
)

// Every field of an endpoint has its effect on what it is told. What url and paused do, the tests of package deliver and of the server show.
func TestEndpointSpec_UsesEveryField(t *testing.T) {
	t.Parallel()
	told := func(doc string) (out string) {
		var s webhook.EndpointSpec
		if err := json.Unmarshal([]byte(doc), &s); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if err := s.Normalize(); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		for _, run := range []awaken.Run{{RunID: "r", AgentID: "a"}, {RunID: "r", AgentID: "b"}, {RunID: "r", AgentID: "b", FirstAgentID: "a"}, {RunID: "r", AgentID: "a", ParentRunID: "p"}} {
			out += fmt.Sprint(s.Selects(&run), " ")
		}
		for _, e := range webhook.Events {
			out += fmt.Sprint(s.Wants(e), " ")
		}
		return out + fmt.Sprint(s.URL, s.Description, s.Paused)
	}
	const base = `{"url":"https://example.com"`
	var docs []string
	for _, doc := range []string{`{"url":"https://example.org"}`, base + `,"description":"d"}`, base + `,"events":["run.finished"]}`, base + `,"agents":["a"]}`, base + `,"children":true}`, base + `,"paused":true}`} {
		docs = append(docs, doc)
		if got := told(doc); got == told(base+"}") {
			t.Errorf("%s has no effect: %s", doc, got)
		}
	}
	sectiontest.Covers[webhook.EndpointSpec](t, docs...)
}
