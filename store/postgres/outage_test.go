package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

// operated is a database whose operator can make it unavailable.
type operated struct {
	*testing.T
	admin *pgx.Conn
	url   string // of a role that is no superuser
	role  string
}

func newOperated(t *testing.T, role string) *operated {
	t.Helper()
	url := server.Database()
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	o := &operated{t, admin, strings.Replace(url, "user=postgres", "user="+role, 1), role}
	o.exec("CREATE ROLE " + role + " LOGIN")
	o.exec("GRANT ALL ON SCHEMA public TO " + role)
	return o
}

func (o *operated) exec(query string) {
	o.Helper()
	if _, err := o.admin.Exec(context.Background(), query); err != nil {
		o.Fatal(err)
	}
}

// dropConnections ends the connections of the role.
func (o *operated) dropConnections() {
	o.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + o.role + "'")
}

var outages = []struct {
	name, begin, end, reason string
}{
	{"out of connections", "CONNECTION LIMIT 0", "CONNECTION LIMIT -1", "the store is out of connections"},
	{"read-only after a failover", "SET default_transaction_read_only = on", "RESET default_transaction_read_only", "the store is read-only"},
	{"the role may not log in", "NOLOGIN", "LOGIN", "the store is not reachable"},
}

func TestStore_AnUnavailableDatabaseIsAnOutage(t *testing.T) {
	o := newOperated(t, "outage_store")
	db := openAt(t, o.url, nil)
	for _, test := range outages {
		t.Run(test.name, func(t *testing.T) {
			o.exec("ALTER ROLE " + o.role + " " + test.begin)
			o.dropConnections()
			for what, err := range map[string]error{
				"write":  db.Profile("").Set(t.Context(), "n", "k", []byte(`1`)),
				"commit": db.Store("").Commit(t.Context(), &awaken.Commit{ThreadID: "t", Number: 1, Run: awaken.Run{RunID: "r", ThreadID: "t", Status: awaken.RunRunning}}),
				"beat":   db.Join(t.Context(), "p", time.Second),
			} {
				if got := fault.OutageOf(err); got == nil || got.Reason != test.reason {
					t.Errorf("%s: the error is %v, want an outage: %s", what, err, test.reason)
				}
			}
			o.exec("ALTER ROLE " + o.role + " " + test.end)
			o.dropConnections()
			if err := db.Profile("").Set(t.Context(), "n", "k", []byte(`1`)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestWork_AnOutageEndsNoRunAndCostsNoAttempt(t *testing.T) {
	o := newOperated(t, "outage_work")
	for _, test := range outages {
		t.Run(test.name, func(t *testing.T) { o.workThrough(t, test.begin, test.end) })
	}
}

// workThrough lets an outage begin while a run calls a tool.
func (o *operated) workThrough(t *testing.T, begin, end string) {
	db := openAt(t, o.url, &postgres.Options{Prefix: "p" + strings.ToLower(begin[:3])})
	called := make(chan struct{}, 10)
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Use("pause", `{}`), llmtest.Say("done"), llmtest.Say("done"))},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "pause", Effect: awaken.ReadOnly}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
			called <- struct{}{}
			time.Sleep(300 * time.Millisecond)
			return "paused", nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: db, Poll: 50 * time.Millisecond}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = box.Work(ctx)
	}()
	defer func() { stop(); <-over }()
	tn := box.Tenant("")
	r, err := tn.Submit(t.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText("hello")}}})
	if err != nil {
		t.Fatal(err)
	}
	<-called
	o.exec("ALTER ROLE " + o.role + " " + begin)
	o.dropConnections()
	time.Sleep(1500 * time.Millisecond) // longer than the store repeats a commit
	o.exec("ALTER ROLE " + o.role + " " + end)
	o.dropConnections()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		run, err := tn.Store.LoadRun(t.Context(), r.RunID)
		if err == nil && run.Status == awaken.RunDone {
			if run.Termination.Type != awaken.NaturalEnd {
				t.Errorf("the run ended with %+v", run.Termination)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run has not ended: %+v, %v", run, err)
		}
	}
	d, err := tn.Store.Dispatch(t.Context(), r.DispatchID)
	if err != nil {
		t.Fatal(err)
	}
	if d.Attempts != 0 || d.Crashes != 0 {
		t.Errorf("the outage cost %d attempts and %d crashes: %s", d.Attempts, d.Crashes, d.LastError)
	}
}
