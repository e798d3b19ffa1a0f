package server

import (
	"net/http/httptest"
	"testing"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// While users are off, a request pays nothing for them: nothing is allocated, and nothing is read,
// as the request has no store to read from.
func TestUsers_OffCostNothing(t *testing.T) {
	a := &auth{open: true, guesses: newGuesses(0)}
	r := httptest.NewRequest("GET", "/v1/threads/t", nil)
	req := &Request{r: r, route: &protocol.Route{Scope: protocol.ByPath}}
	s := &mailbox.Submission{}
	s.Request.ThreadID, s.Request.RunID = "t", "r"
	n := testing.AllocsPerRun(100, func() {
		var err error
		if req.Caller, err = a.identify(r, permit.StartRuns); err != nil || req.Confined {
			t.Fatal(req.Caller, err)
		}
		owner, err := req.Owner()
		if err != nil || owner != nil {
			t.Fatal(owner, err)
		}
		if err := req.Admit("t", "r"); err != nil {
			t.Fatal(err)
		}
		if user, err := req.ForUser(""); err != nil || user != "" {
			t.Fatal(user, err)
		}
		if err := req.Assign(s); err != nil || s.Confined {
			t.Fatal(s, err)
		}
	})
	if n != 0 {
		t.Errorf("a request makes %v allocations", n)
	}
}
