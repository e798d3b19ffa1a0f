// A2a is a2a-go for tests: an agent on its server, and its client.
//
// It serves, on loopback:
//
//	/.well-known/agent-card.json   the agent, at /rpc and /rest
//	POST /agent/continue           lets the agent go on where it waits
//	POST /client                   has a client make a call, as [call] says
package main

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/awaken-go/awaken/internal/thirdparty/internal/serve"
)

func main() {
	if err := serve.HTTP(newHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "a2a:", err)
		os.Exit(1)
	}
}

func newHandler() http.Handler {
	c := &clerk{resume: make(chan struct{})}
	h := a2asrv.NewHandler(c)
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(h))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(h)))
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host // of the proxy that the request came through
		a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{Name: "clerk", Capabilities: a2a.AgentCapabilities{Streaming: true},
			SupportedInterfaces: []*a2a.AgentInterface{
				a2a.NewAgentInterface(base+"/rest", a2a.TransportProtocolHTTPJSON), a2a.NewAgentInterface(base+"/rpc", a2a.TransportProtocolJSONRPC),
			}}).ServeHTTP(w, r)
	})
	mux.HandleFunc("POST /agent/continue", func(http.ResponseWriter, *http.Request) { c.once.Do(func() { close(c.resume) }) })
	mux.HandleFunc("POST /client", serveCall)
	return mux
}

// clerk is an agent. It answers in three pieces, asks a question if the message begins with "ask", and waits in the middle of its answer
// if the message begins with "wait".
type clerk struct {
	resume chan struct{}
	once   sync.Once // closes resume
}

func (c *clerk) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.StoredTask == nil && !yield(a2a.NewSubmittedTask(x, x.Message), nil) {
			return
		}
		said := ""
		for _, p := range x.Message.Parts {
			said += p.Text()
		}
		if !yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateWorking, nil), nil) {
			return
		}
		if strings.HasPrefix(said, "ask") {
			question := a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart("Which one?"))
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateInputRequired, question), nil)
			return
		}
		first := a2a.NewArtifactEvent(x, a2a.NewTextPart("you said "))
		if !yield(first, nil) {
			return
		}
		if strings.HasPrefix(said, "wait") {
			select {
			case <-c.resume:
			case <-ctx.Done():
				return
			}
		}
		for _, piece := range []string{said, "."} {
			if !yield(a2a.NewArtifactUpdateEvent(x, first.Artifact.ID, a2a.NewTextPart(piece)), nil) {
				return
			}
		}
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	}
}

func (c *clerk) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}
