//go:build unix

package paidtest

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/evals"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/memory"
)

const adminKey = "the-admin-key"

// job is the configuration of a server, in its environment.
type job struct {
	Store    rigtest.Store
	Address  string
	Provider string // URL of the provider
	Lease    time.Duration
}

// serve is the server process, until SIGTERM.
func serve(j job) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := j.Store.Open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	model, err := openai.New(openai.Config{Config: provider.Config{APIKey: "key", BaseURL: j.Provider}})
	if err != nil {
		return err
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "paid"}},
		Providers: map[string]llm.Model{"p": model},
	})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	box, err := mailbox.New(mailbox.Config{Queue: db, Profile: db.Profile, Logger: log}, rt.With)
	if err != nil {
		return err
	}
	cfg := evals.Config{Lease: j.Lease, Open: func(s runner.Setup) (runner.Runtime, error) {
		return engine.New(engine.Config{Versions: s.Versions, Executor: s.Executor, Store: memory.New(), Profile: memory.NewProfile()})
	}}
	keys := access.NewKeys(db.Profile("keys"))
	if err := keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		return err
	}
	srv, err := server.New(server.Config{Keys: keys, Mailbox: box, Logger: log,
		Wings: []server.Wing{access.New(access.Config{}), runs.New(runs.Config{}), evals.New(cfg)}})
	if err != nil {
		return err
	}
	return rigtest.RunServer(ctx, srv, j.Address)
}
