// Command http serves agents over HTTP with server-sent events. It has a persistent store, API
// keys and metrics, and shuts down gracefully on Ctrl-C.
//
//	ADMIN_KEY=choose-one go run ./examples/http
//	curl -N http://127.0.0.1:3000/v1/runs -H 'Content-Type: application/json' \
//	  -d '{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}'
package main

import (
	"cmp"
	"context"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "http-example.db", cmp.Or(os.Getenv("ADMIN_KEY"), "only-for-trying"), "127.0.0.1:3000", nil); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done. It calls ready with the address once it listens.
func run(ctx context.Context, file, adminKey, address string, ready func(address string)) error {
	db, err := sqlite.Open(ctx, file, nil) // or postgres.Open, or memory.NewDB
	if err != nil {
		return err
	}
	defer db.Close()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat", SystemPrompt: "You are terse."}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.Demo()},
	})
	if err != nil {
		return err
	}
	metrics := server.NewMetrics()
	metrics.Depths(db)
	box, err := mailbox.New(mailbox.Config{Queue: db, Observer: metrics, Sink: metrics.Sink, Logger: slog.Default()}, rt.With)
	if err != nil {
		return err
	}
	keys := access.NewKeys(db.Profile("awaken.system"))
	if err := keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		return err
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{access.New(access.Config{}), runs.New(runs.Config{})}, Address: address, Keys: keys, Metrics: metrics, Logger: slog.Default()})
	if err != nil {
		return err
	}
	l, err := srv.Listen()
	if err != nil {
		return err
	}
	slog.Info("listening", "address", l.Addr())
	if ready != nil {
		ready(l.Addr().String())
	}
	return srv.Serve(ctx, l)
}
