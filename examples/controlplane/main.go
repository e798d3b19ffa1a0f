// Command controlplane shows a program with its own tool, plugin and provider adapter, whose
// agents are documents that an administrator changes while it runs.
//
//	ADMIN_KEY=choose-one go run ./examples/controlplane
//	curl -X PUT http://127.0.0.1:3000/v1/config/agents/clerk -H 'Authorization: Bearer choose-one' \
//	  -H 'Content-Type: application/json' \
//	  -d '{"id":"clerk","model_id":"house","plugin_ids":["signature"],"system_prompt":"You look up orders."}'
//	curl -N http://127.0.0.1:3000/v1/runs -H 'Content-Type: application/json' \
//	  -d '{"agent_id":"clerk","messages":[{"role":"user","content":"RUN_TOOL order {\"number\":17}"}]}'
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/control"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/sqlite"
)

// order is a tool. Documents name it in allowed_tools.
func order(_ context.Context, _ *awaken.ToolCall, in struct {
	Number int `json:"number"`
}) (string, error) {
	return fmt.Sprintf("Order %d is on its way.", in.Number), nil
}

// signature is a plugin. Documents load it with plugin_ids and configure the name in their
// section.
type signature struct{}

type signatureConfig struct {
	Name string `json:"name"`
}

var signatureSection = awaken.NewSection("signature", signatureConfig{Name: "the house"})

func (signature) Name() string { return "signature" }

func (signature) Register(r *awaken.Registrar) error {
	r.Section(signatureSection)
	r.Transform(func(_ context.Context, h *awaken.HookCall, req *llm.Request) error {
		cfg, err := signatureSection.Read(h.Agent)
		if err != nil {
			return err
		}
		req.System = append(req.System, llm.Text("Sign as "+cfg.Name+"."))
		return nil
	})
	return nil
}

// openProvider returns the model of a provider document. Add your own adapters here.
func openProvider(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
	switch spec.Adapter {
	case "house":
		return llmtest.Demo(), nil // any llm.Model
	default:
		return nil, fmt.Errorf("adapter is %q, want house", spec.Adapter)
	}
}

// builtin are the documents that the program ships. Administrators can override them.
var builtin = []config.Document{
	{Key: config.Key{Namespace: config.Providers, ID: "house"}, Spec: json.RawMessage(`{"id":"house","adapter":"house"}`)},
	{Key: config.Key{Namespace: config.Models, ID: "house"}, Spec: json.RawMessage(`{"id":"house","provider_id":"house","upstream_model":"scripted"}`)},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	secretsKey := cmp.Or(os.Getenv("SECRETS_KEY"), config.NewKey()) // a generated key is lost with the process
	if err := run(ctx, "controlplane-example.db", secretsKey, cmp.Or(os.Getenv("ADMIN_KEY"), "only-for-trying"), "127.0.0.1:3000", nil); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done. It calls ready with the address once it listens.
func run(ctx context.Context, file, secretsKey, adminKey, address string, ready func(address string)) error {
	db, err := sqlite.Open(ctx, file, nil) // or postgres.Open
	if err != nil {
		return err
	}
	defer db.Close()
	vault, err := config.NewVault(secretsKey)
	if err != nil {
		return err
	}
	manager, err := config.Open(ctx, config.Options{Store: db.Config(), Vault: vault, Provider: openProvider, Logger: slog.Default(),
		Code: registry.Config{
			Tools:   []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "order", Description: "Looks up an order.", Effect: awaken.ReadOnly}, order)},
			Plugins: []awaken.Plugin{signature{}},
		}})
	if err != nil {
		return err
	}
	defer manager.Close()
	if err := manager.Seed(ctx, "1", builtin); err != nil {
		return err
	}
	rt, err := engine.New(engine.Config{Versions: manager}) // runs use the published version
	if err != nil {
		return err
	}
	box, err := mailbox.New(mailbox.Config{Queue: db}, rt.With)
	if err != nil {
		return err
	}
	keys := access.NewKeys(db.Profile("awaken.system"))
	if err := keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		return err
	}
	srv, err := server.New(server.Config{Mailbox: box, Address: address, Keys: keys, Control: manager,
		Wings: []server.Wing{access.New(access.Config{}), runs.New(runs.Config{}), control.New(control.Config{Adapters: []string{"house"}})}})
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
	var wg sync.WaitGroup
	following, stop := context.WithCancel(ctx)
	wg.Go(func() { _ = manager.Work(following) }) // follow changes of other processes
	err = srv.Serve(ctx, l)
	stop()
	wg.Wait()
	return err
}
