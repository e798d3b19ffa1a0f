//go:build unix

package doubttest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/acp"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/automation"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/server/telemetry"
)

// job is the configuration of a server, in its environment.
type job struct {
	Store   rigtest.Store
	Effects rigtest.Ledger
	Dir     string // for what models were asked, and events
	Address string
	Editors string // the address at which editors connect
}

// adminKey is the key of the clients, which read traces too.
const adminKey = "a-key-of-operators-0123456789-abcdefghijk"

// serve is the server process. It serves until it is killed.
func serve(j job) error {
	ctx := context.Background()
	db, err := j.Store.Open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	watcher, err := observed(ctx, j, log)
	if err != nil {
		return err
	}
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{
			{ID: "default", ModelID: "m", PluginIDs: []string{handoff.PluginID},
				Sections: map[string]json.RawMessage{handoff.PluginID: json.RawMessage(`{"agents":["other"]}`)}},
			{ID: "other", ModelID: "m"},
		},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": rigtest.Words{Tagged: true, Asked: j.asked}},
		Plugins:   []awaken.Plugin{handoff.New(nil), watcher},
		Tools:     tools(j.Effects),
	})
	if err != nil {
		return err
	}
	// A process that is taken for dead while it lives loses its calls, too: the times are the usual ones.
	box, err := mailbox.New(mailbox.Config{Queue: db, Poll: 50 * time.Millisecond, Logger: log}, rt.With)
	if err != nil {
		return err
	}
	hooks, err := deliveries(ctx, db, box, log)
	if err != nil {
		return err
	}
	tasks, err := a2a.Routes(a2a.Config{Hooks: hooks.Router.Sender()})
	if err != nil {
		return err
	}
	calls, err := mcp.Routes(mcp.Config{Tools: []string{"pay", "charge"}, Levels: db.Profile(""),
		Key: awaken.NewSecret(strings.Repeat("k", 32))})
	if err != nil {
		return err
	}
	if err := serveEditors(ctx, j.Editors, rt, box, log); err != nil {
		return err
	}
	keys := access.NewKeys(nil)
	if err := keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		return err
	}
	wings := []server.Wing{runs.New(runs.Config{Traces: true, Changes: db.Changes()}),
		automation.New(automation.Config{Hooks: db.Hooks(), Webhooks: hooks})}
	srv, err := server.New(server.Config{Mailbox: box, Keys: keys, Logger: log, Limits: server.Limits{Requests: 1000},
		Wings: wings, Routes: slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes(), tasks, calls)})
	if err != nil {
		return err
	}
	return rigtest.RunServer(ctx, srv, j.Address)
}

// observed returns the plugin that writes events into files and sends spans to the collector that the environment names.
func observed(ctx context.Context, j job, log *slog.Logger) (awaken.Plugin, error) {
	sent, err := telemetry.Open(ctx, "test", log)
	if err != nil {
		return nil, err
	}
	file, err := observe.NewFile(filepath.Join(j.Dir, eventFolder), observe.FileOptions{Logger: log})
	if err != nil {
		return nil, err
	}
	return observe.New(observe.Options{Sinks: []observe.Sink{file}, Tracer: sent.Tracer, Meter: sent.Meter, Always: true}), nil
}

// deliveries lets webhooks and push notifications work. Receivers are on this host.
func deliveries(ctx context.Context, db rigtest.Database, box *mailbox.Mailbox, log *slog.Logger) (*automation.WebhookConfig, error) {
	sealer, err := oauth.NewSealer(make([]byte, 32))
	if err != nil {
		return nil, err
	}
	const poll, lease = 50 * time.Millisecond, 3 * time.Second
	router, err := deliver.NewRouter(deliver.RouterConfig{Endpoints: db.Endpoints(), Hooks: db.Hooks(), Changes: db.Changes(),
		Sealer: sealer, Poll: poll, Lease: lease, Logger: log})
	if err != nil {
		return nil, err
	}
	sender, err := deliver.New(deliver.Config{Store: db.Hooks(), Mailbox: box, Endpoints: router, Sealer: sealer, Logger: log,
		Kinds: map[string]deliver.Kind{a2a.PushKind: a2a.Push, deliver.RunKind: deliver.RunEvents},
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Poll: poll, Lease: lease, Timeout: lease / 3, Retry: poll})
	if err != nil {
		return nil, err
	}
	router.Use(sender)
	go sender.Work(ctx)
	go router.Work(ctx)
	return &automation.WebhookConfig{Router: router, Endpoints: db.Endpoints()}, nil
}

// serveEditors speaks ACP with every connection to an address.
func serveEditors(ctx context.Context, address string, rt *engine.Runtime, box *mailbox.Mailbox, log *slog.Logger) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				cfg := acp.Config{Tenant: box.Tenant(""), Catalogue: func() acp.Catalogue { return rt.Registry() }, Logger: log}
				if err := acp.Serve(ctx, cfg, conn, conn); err != nil {
					log.Warn("an editor is lost", "error", err)
				}
			}()
		}
	}()
	return nil
}

// requests is the file of what models are asked.
func (j job) requests() string { return filepath.Join(j.Dir, "requests") }

// asked writes down what a model is shown.
func (j job) asked(req *llm.Request) error {
	var shown []string
	for _, m := range req.Messages.All() {
		shown = append(shown, string(m.Role)+": "+m.Text())
	}
	line, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	return rigtest.AppendLine(j.requests(), string(line))
}

// tools returns tools that never answer their first attempt: only the end of the process ends it. A person is asked whether to
// make pay and hold again, and the model learns that charge is in doubt. A second attempt of hold asks a question that expires.
func tools(effects rigtest.Ledger) []awaken.Tool {
	effect := func(id string, doubt awaken.DoubtPolicy, expires time.Duration) awaken.Tool {
		spec := awaken.ToolSpec{ID: id, Effect: awaken.Effectful, InDoubt: doubt}
		return awaken.NewTool(spec, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			before, err := effects.Read()
			if err != nil {
				return "", err
			}
			if err := effects.Note(rigtest.Effect{Tool: id, Run: c.Run.RunID, Key: c.Key}); err != nil {
				return "", err
			}
			switch {
			case rigtest.Counts(before)[rigtest.Effect{Tool: id, Key: c.Key}] == 0:
				select {}
			case expires > 0:
				return "", awaken.Suspend(awaken.Ticket{ExpiresIn: expires, Suspension: awaken.Suspension{Action: "sure", Message: "Are you sure?"}})
			}
			return "paid", nil
		})
	}
	return []awaken.Tool{
		effect("pay", awaken.DoubtSuspend, 0),
		effect("hold", awaken.DoubtSuspend, 100*time.Millisecond),
		effect("charge", "", 0),
	}
}
