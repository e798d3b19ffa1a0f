//go:build linux

package soaktest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
)

// pace is the time between two pieces of an answer.
const pace = 5 * time.Millisecond

// model is a provider that speaks Chat Completions. The last user message says what it does:
//
//	say N    answers with N pieces
//	NAME {…} calls a tool with these arguments, and then answers
func model(w http.ResponseWriter, r *http.Request) {
	chat, err := rigtest.ReadChat(r)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	verb, rest, _ := strings.Cut(chat.Said, " ")
	reply, n := rigtest.NewReply(w), 5
	if verb == "say" {
		n, _ = strconv.Atoi(rest)
	} else if !chat.Called {
		reply.Call(verb, rest)
		return
	}
	for range n {
		select {
		case <-time.After(pace):
		case <-r.Context().Done():
			return
		}
		if !reply.Text("a piece of it ") {
			return
		}
	}
	reply.End()
}
