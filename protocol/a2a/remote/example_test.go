package remote_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol/a2a/remote"
	"github.com/awaken-go/awaken/registry"
)

// An agent on another server runs like one of this program.
func Example() {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/message:stream" {
			http.NotFound(w, r) // it has no card
			return
		}
		fmt.Fprint(w, `{"message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"Hello from afar."}]}}`)
	}))
	defer other.Close()
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "analyst", Endpoint: &awaken.RemoteEndpoint{BaseURL: other.URL}}},
		Backends: map[string]registry.RemoteBackend{
			"a2a": remote.New(remote.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}), // this example is not on the internet
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := rt.Run(context.Background(), awaken.RunRequest{AgentID: "analyst", Messages: []*llm.Message{llm.UserText("hello")}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Response)
	// Output: Hello from afar.
}
