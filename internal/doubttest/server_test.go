//go:build unix

package doubttest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog/changelog"
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
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

// job is the configuration of a server, in its environment.
type job struct {
	Store   string // sqlite or postgres
	Where   string // its file or URL
	Dir     string // for what tools did and models were asked
	Address string
	Editors string // the address at which editors connect
}

// adminKey is the key of the clients, which read traces too.
const adminKey = "a-key-of-operators-0123456789-abcdefghijk"

// serve is the server process. It serves until it is killed.
func serve(j job) error {
	ctx := context.Background()
	db, done, err := open(ctx, j)
	if err != nil {
		return err
	}
	defer done()
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
		Providers: map[string]llm.Model{"p": script{j.Dir}},
		Plugins:   []awaken.Plugin{handoff.New(nil), watcher},
		Tools:     tools(j.Dir),
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
	srv, err := server.New(server.Config{Mailbox: box, Address: j.Address, Keys: keys, Logger: log, Limits: server.Limits{Requests: 1000},
		Wings: wings, Routes: slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes(), tasks, calls)})
	if err != nil {
		return err
	}
	return srv.Run(ctx)
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
func deliveries(ctx context.Context, db database, box *mailbox.Mailbox, log *slog.Logger) (*automation.WebhookConfig, error) {
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

// database is a store of everything that a server keeps.
type database interface {
	mailbox.Queue
	Hooks() webhook.Store
	Endpoints() webhook.EndpointStore
	Changes() changelog.Store
	Profile(tenant string) profile.Store
}

func open(ctx context.Context, j job) (database, func(), error) {
	if j.Store == "postgres" {
		db, err := postgres.Open(ctx, j.Where, nil)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	db, err := sqlite.Open(ctx, j.Where, nil)
	if err != nil {
		return nil, nil, err
	}
	return db, func() { _ = db.Close() }, nil
}

// script is a model that makes the calls that the last message with a tag names, one after the other; "+" makes several at once.
// A tag is a word that begins with "#". It writes down what it is shown.
type script struct{ dir string }

// Stream answers a request.
func (s script) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var words, shown []string
		step := 0
		for _, m := range req.Messages.All() {
			text := m.Text()
			shown = append(shown, string(m.Role)+": "+text)
			switch {
			case m.Role == llm.User && strings.HasPrefix(text, "#"):
				words, step = strings.Fields(text)[1:], 0
			case m.Role == llm.Assistant:
				step++
			}
		}
		line, err := json.Marshal(shown)
		if err == nil {
			err = appendLine(s.dir, "requests", string(line))
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		if step >= len(words) {
			if yield(llm.Delta{Kind: llm.TextDelta, Text: "end"}, nil) {
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
			}
			return
		}
		for i, name := range strings.Split(words[step], "+") {
			id := fmt.Sprintf("call-%d-%d", step, i)
			if !yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: name}, nil) ||
				!yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: "{}"}, nil) {
				return
			}
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
	}
}

// appendLine writes one line into a file, at once.
func appendLine(dir, file, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// lines reads what appendLine wrote.
func lines(dir, file string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if len(data) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}

// tools returns tools that never answer their first attempt: only the end of the process ends it. A person is asked whether to
// make pay and hold again, and the model learns that charge is in doubt. A second attempt of hold asks a question that expires.
func tools(dir string) []awaken.Tool {
	effect := func(id string, doubt awaken.DoubtPolicy, expires time.Duration) awaken.Tool {
		spec := awaken.ToolSpec{ID: id, Effect: awaken.Effectful, InDoubt: doubt}
		return awaken.NewTool(spec, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			before, err := lines(dir, "attempts")
			if err != nil {
				return "", err
			}
			mark := id + " " + c.Key
			if err := appendLine(dir, "attempts", mark); err != nil {
				return "", err
			}
			switch {
			case !slices.Contains(before, mark):
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
