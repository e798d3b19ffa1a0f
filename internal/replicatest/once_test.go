package replicatest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// A request that is repeated on another replica counts once, the first decision on a question counts wherever it was
// taken, and a file that one replica stores is read by runs of another.
func TestPrograms_RepetitionsAndDecisionsCountOnceOnAllReplicas(t *testing.T) {
	p := startPrograms(t)
	for i := range testenv.Times(2, 100) {
		one, two, three, thread := p.at(i), p.at(i+1), p.at(i+2), fmt.Sprint("t", i)
		body := fmt.Sprintf(`{"agent_id":"scenario","thread_id":%q,"stream":false,"messages":[{"role":"user","content":"scenario:approval"}]}`, thread)
		first := one.want(200, "suspended", "POST", "/v1/runs", "", body, "Idempotency-Key", thread)
		run := p.field(first, "run_id")
		for _, other := range []*programs{two, three} {
			other.want(200, run, "POST", "/v1/runs", "", body, "Idempotency-Key", thread)
			other.want(409, "conflict", "POST", "/v1/runs", "", strings.Replace(body, "approval", "text", 1), "Idempotency-Key", thread)
		}
		var record struct {
			Waiting struct {
				Tickets []struct {
					ID string `json:"ticket_id"`
				} `json:"tickets"`
			} `json:"waiting"`
		}
		if err := json.Unmarshal([]byte(two.want(200, "ticket_id", "GET", "/v1/runs/"+run, "", "")), &record); err != nil {
			t.Fatal(err)
		}
		decide := "/v1/approvals/" + run + "/" + record.Waiting.Tickets[0].ID
		three.want(200, run, "GET", "/v1/approvals", "", "")
		two.want(202, "", "POST", decide, "", `{"action":"resume"}`)
		one.want(202, "", "POST", decide, "", `{"action":"resume"}`)
		three.want(409, "already_decided", "POST", decide, "", `{"action":"cancel"}`)
		p.eventually("done", func() bool {
			_, text := p.ask("GET", "/v1/runs/"+run, "", "")
			return strings.Contains(text, `"status":"done"`)
		})
		p.eventually("applied", func() bool {
			_, text := p.ask("GET", "/v1/decisions?run_id="+run, "", "")
			return strings.Count(text, `"ticket_id"`) == 1 && strings.Contains(text, `"applied":true`)
		})

		file := p.field(one.want(201, "", "POST", "/v1/blobs", "", "The meeting is at nine.", "Content-Type", "text/plain"), "id")
		two.want(200, "at nine", "GET", "/v1/blobs/"+file, "", "")
		three.want(200, "done", "POST", "/v1/runs", "", fmt.Sprintf(`{"agent_id":"default","thread_id":"%s-file","stream":false,"messages":[{"role":"user","content":[{"type":"text","text":"When?"},`+
			`{"type":"document","title":"notes.txt","source":{"type":"blob","id":%q,"media_type":"text/plain"}}]}]}`, thread, file))
	}
}
