package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

// verdicts are the decisions of a storm, with their bodies in each protocol. The parameters are
// thread, ticket, call and a number.
var verdicts = []struct {
	action, arguments string // as the record has them
	effect            []string
	http, aisdk, agui string
}{
	{"resume", "", []string{"a"}, `{"action":"resume"}`, `"input":{"path":"a"},"approval":{"id":"%[2]s","approved":true}`, `{"approved":true}`},
	{"cancel", "", nil, `{"action":"cancel"}`, `"input":{"path":"a"},"approval":{"id":"%[2]s","approved":false}`, `{"approved":false}`},
	{"resume", `{"path":"b"}`, []string{"b"}, `{"action":"resume","arguments":{"path":"b"}}`, `"input":{"path":"b"},"approval":{"id":"%[2]s","approved":true}`,
		`{"approved":true,"editedArgs":{"path":"b"}}`},
}

const (
	aisdkDecision = `{"id":"%[1]s","agentId":"default","messages":[{"id":"page","role":"assistant","parts":[{"type":"tool-ask","toolCallId":"%[3]s","state":"approval-responded",%[5]s}]}]}`
	aguiDecision  = `{"threadId":"%[1]s","runId":"%[1]s-r%[4]d","messages":[],"tools":[],"context":[],"state":{},"forwardedProps":{},"resume":[{"interruptId":"%[2]s","status":"resolved","payload":%[5]s}]}`
)

// effects counts what the tool did, by thread.
type effects struct {
	sync.Mutex
	did map[string][]string
}

func (e *effects) code(c *registry.Config) {
	c.Tools[0] = awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, in struct {
		Path string `json:"path"`
	}) (string, error) {
		if c.Resume == nil {
			return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "tool:ask", Message: "May I?"}})
		}
		e.Lock()
		defer e.Unlock()
		e.did[c.Run.ThreadID] = append(e.did[c.Run.ThreadID], in.Path)
		return "did it", nil
	})
}

// storm is one question and the deciders that answer it at once.
type storm struct {
	thread, run, ticket, call string
	says                      [8]int // which verdict, by decider
	status                    [8]int
	reply                     [8]string
}

// strike lets all deciders decide, each by one of the protocols at one of the servers.
func (s *storm) strike(trial int, rigs []*rig) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i, n := range s.says {
		v := verdicts[n]
		path, body := "/v1/approvals/"+s.run+"/"+s.ticket, v.http
		switch (i + trial) % 3 {
		case 1:
			path, body = "/v1/ai-sdk/chat", fmt.Sprintf(aisdkDecision, s.thread, s.ticket, s.call, i, strings.ReplaceAll(v.aisdk, "%[2]s", s.ticket))
		case 2:
			path, body = "/v1/ag-ui/run", fmt.Sprintf(aguiDecision, s.thread, s.ticket, s.call, i, v.agui)
		}
		g := rigs[i%len(rigs)]
		wg.Go(func() {
			<-begin
			resp := g.do("POST", path, body)
			defer resp.Body.Close()
			if s.status[i] = resp.StatusCode; s.status[i] >= 300 {
				data, _ := io.ReadAll(resp.Body)
				s.reply[i] = path + ": " + string(data)
			}
		})
	}
	close(begin)
	wg.Wait()
}

// check checks that one decision counts and that each decider knows whether it is its own.
func (s *storm) check(g *rig, e *effects) {
	g.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); g.want(200, "GET", "/v1/runs/"+s.run, "")["status"] != "done"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			g.t.Fatalf("run %s does not end", s.run)
		}
	}
	records := g.want(200, "GET", "/v1/decisions?run_id="+s.run, "")["items"].([]any)
	if len(records) != 1 {
		g.t.Fatalf("run %s has the decisions %v, want one", s.run, records)
	}
	rec := records[0].(map[string]any)
	arguments := ""
	if rec["arguments"] != nil {
		data, _ := json.Marshal(rec["arguments"])
		arguments = string(data)
	}
	won := -1
	for n, v := range verdicts {
		if v.action == rec["action"] && v.arguments == arguments {
			won = n
		}
	}
	if won < 0 {
		g.t.Fatalf("run %s has the decision %v, which is none of those made", s.run, rec)
	}
	for i, n := range s.says {
		if n == won && s.status[i] >= 300 || n != won && (s.status[i] != 409 || !strings.Contains(s.reply[i], "already_decided")) {
			g.t.Errorf("run %s, decider %d: verdict %d of %v, and %d won; the answer is %d %s", s.run, i, n, s.says, won, s.status[i], s.reply[i])
		}
	}
	e.Lock()
	if did := e.did[s.thread]; !slices.Equal(did, verdicts[won].effect) {
		g.t.Errorf("run %s: the tool did %q, want %q", s.run, did, verdicts[won].effect)
	}
	e.Unlock()
	if log := g.want(200, "GET", "/v1/audit-log?resource=runs/"+s.run+"/"+s.ticket, "", admin...)["items"].([]any); len(log) != 1 {
		g.t.Errorf("run %s: the audit log has %v, want one event", s.run, log)
	}
}

// Many people decide the same question at the same moment, over all protocols and on all servers.
// One decision counts; each decider with a different one is told, and nothing happens twice.
func TestDecision_OneOfManyAtOnceCounts(t *testing.T) {
	t.Parallel()
	trials := 10 // every way in which the deciders agree or not
	if testenv.Long() {
		trials = 1000
	}
	pg, err := testenv.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop() })
	inPostgres := func(url string) mailbox.Queue {
		db, err := postgres.Open(t.Context(), url, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		return db
	}
	for name, open := range map[string]func(t *testing.T) []mailbox.Queue{
		"memory": func(*testing.T) []mailbox.Queue { return []mailbox.Queue{memory.NewDB()} },
		"sqlite": func(t *testing.T) []mailbox.Queue {
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return []mailbox.Queue{db}
		},
		"postgres": func(*testing.T) []mailbox.Queue { return []mailbox.Queue{inPostgres(pg.Database())} },
		"two servers on postgres": func(*testing.T) []mailbox.Queue {
			url := pg.Database()
			return []mailbox.Queue{inPostgres(url), inPostgres(url)}
		},
	} {
		if name == "postgres" && !testenv.Long() {
			continue // two servers on one do the same
		}
		for _, idle := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, idle %t", name, idle), func(t *testing.T) {
				e := &effects{did: map[string][]string{}}
				var rigs []*rig
				protocols := func(c *servertest.Config) { c.Routes = slices.Concat(aisdk.Routes(), agui.Routes()) }
				for _, db := range open(t) {
					g := &rig{t: t, db: db, keys: access.NewKeys(memory.NewProfile()), config: e.code}
					if len(rigs) > 0 {
						g.conf = rigs[0].conf
					}
					if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
						t.Fatal(err)
					}
					g.start(protocols)
					rigs = append(rigs, g)
				}
				began := time.Now()
				restart := func(idle bool) {
					for _, g := range rigs {
						g.stop()
						g.idle = idle
						g.start(protocols)
					}
				}
				storms := make([]*storm, trials)
				for i := range storms {
					s := &storm{}
					s.thread, s.run, s.ticket = rigs[0].waits()
					s.call = strings.TrimPrefix(s.ticket, "suspend_")
					for k := range s.says {
						s.says[k] = (k + i) / 3 % 3
						if i%4 == 0 { // all say the same
							s.says[k] = i / 4 % 3
						}
					}
					storms[i] = s
				}
				if idle {
					restart(true)
				}
				for at := 0; at < trials; at += 10 {
					var wg sync.WaitGroup
					for i := at; i < at+10; i++ {
						wg.Go(func() { storms[i].strike(i, rigs) })
					}
					wg.Wait()
				}
				if idle {
					restart(false)
				}
				won := map[bool]int{}
				for _, s := range storms {
					s.check(rigs[0], e)
					for _, status := range s.status {
						won[status < 300]++
					}
					if t.Failed() {
						break
					}
				}
				t.Logf("%d questions: %d decisions accepted, %d refused, in %s", trials, won[true], won[false], time.Since(began).Round(time.Second))
			})
		}
	}
}
