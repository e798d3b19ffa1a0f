// Command conformance is what the conformance suite of MCP tests; scripts/conformance/run runs the suite.
//
// As a server, it has what the suite asks for: tools, resources and prompts with certain names. They are
// ordinary tools of an agent, on the server, the queue and the runtime of this project.
//
//	go run ./scripts/conformance -address 127.0.0.1:3999
//
// As a client, it is an agent that uses the tools of a server of the suite:
//
//	go run ./scripts/conformance client http://127.0.0.1:4000/mcp
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

func main() {
	address := flag.String("address", "127.0.0.1:3999", "`address` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch {
	case flag.Arg(0) == "client" && flag.NArg() == 2:
		err = act(ctx, flag.Arg(1))
	case flag.NArg() == 0:
		err = serve(ctx, *address)
	default:
		err = fmt.Errorf("arguments are %q, want none, or client and the address of a server", flag.Args())
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, address string) error {
	rt, err := engine.New(engine.Config{Tools: tools(), Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "m", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"m": llmtest.Demo()}})
	if err != nil {
		return err
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		return err
	}
	routes, err := mcp.Routes(mcp.Config{Tools: []string{"*"}, Resources: resources{}, Prompts: prompts{}, Levels: memory.NewProfile(), Version: "1"})
	if err != nil {
		return err
	}
	srv, err := server.New(server.Config{Mailbox: box, Address: address, Routes: routes})
	if err != nil {
		return err
	}
	l, err := srv.Listen()
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	return srv.Serve(ctx, l)
}
