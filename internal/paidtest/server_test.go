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
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/evals"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

const adminKey = "the-admin-key"

// job is the configuration of a server, in its environment.
type job struct {
	Store    string // sqlite or postgres
	Where    string // its file or URL
	Address  string
	Provider string // URL of the provider
	Lease    time.Duration
}

// database is what a server keeps its data in.
type database struct {
	queue   mailbox.Queue
	profile func(tenant string) profile.Store
	close   func()
}

func open(ctx context.Context, j *job) (*database, error) {
	if j.Store == "postgres" {
		db, err := postgres.Open(ctx, j.Where, nil)
		if err != nil {
			return nil, err
		}
		return &database{db, func(tenant string) profile.Store { return db.Profile(tenant) }, db.Close}, nil
	}
	db, err := sqlite.Open(ctx, j.Where, nil)
	if err != nil {
		return nil, err
	}
	return &database{db, func(tenant string) profile.Store { return db.Profile(tenant) }, func() { _ = db.Close() }}, nil
}

// serve is the server process, until SIGTERM.
func serve(j job) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := open(ctx, &j)
	if err != nil {
		return err
	}
	defer db.close()
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
	box, err := mailbox.New(mailbox.Config{Queue: db.queue, Profile: db.profile, Logger: log}, rt.With)
	if err != nil {
		return err
	}
	cfg := evals.Config{Lease: j.Lease, Open: func(s runner.Setup) (runner.Runtime, error) {
		return engine.New(engine.Config{Versions: s.Versions, Executor: s.Executor, Store: memory.New(), Profile: memory.NewProfile()})
	}}
	keys := access.NewKeys(db.profile("keys"))
	if err := keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		return err
	}
	srv, err := server.New(server.Config{Keys: keys, Mailbox: box, Address: j.Address, Logger: log, Wings: []server.Wing{access.New(access.Config{}), runs.New(runs.Config{}), evals.New(cfg)}})
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}
