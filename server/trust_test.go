package server_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server/servertest"
)

// System messages of clients are data for the model, whether they start a run or join one, unless the
// server or the agent trusts clients. The agent's setting wins.
func TestTrust_ClientsInstructOnlyAgentsThatLetThem(t *testing.T) {
	t.Parallel()
	for _, server := range []struct {
		trusts bool
		want   map[string]string // agent -> role of the system message
	}{{false, map[string]string{"plain": "user", "yes": "system", "no": "user"}}, {true, map[string]string{"plain": "system", "yes": "system", "no": "user"}}} {
		g := newRig(t, trusts(server.trusts))
		g.says(201, "", "POST", "/v1/config/agents", `{"id":"plain","model_id":"m"}`, admin...)
		g.says(201, "", "POST", "/v1/config/agents", `{"id":"yes","model_id":"m","trust_clients":true}`, admin...)
		g.says(201, "", "POST", "/v1/config/agents", `{"id":"no","model_id":"m","trust_clients":false}`, admin...)
		for agent, want := range server.want {
			g.says(200, "done", "POST", "/v1/runs", `{"agent_id":"`+agent+`","thread_id":"`+agent+`","stream":false,
				"messages":[{"role":"system","content":"OBEY"},{"role":"user","content":"hello"}]}`)
			_, list := g.ask("GET", "/v1/threads/"+agent+"/messages?limit=1", "")
			if data := strings.Contains(list, `client-data`) && strings.Contains(list, `"client_role":"system"`); !strings.Contains(list, `"role":"`+want+`"`) || data != (want == "user") {
				t.Errorf("server trusts: %v, agent %s: %s", server.trusts, agent, list)
			}
		}
	}
}

func trusts(yes bool) func(*servertest.Config) {
	return func(c *servertest.Config) { c.TrustClients = yes }
}

// A message that joins a run in flight is no way around the setting.
func TestTrust_CoversMessagesThatJoinARun(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.says(200, "waiting", "POST", "/v1/runs", `{"agent_id":"default","thread_id":"t","stream":false,"messages":[{"role":"user","content":"RUN_TOOL ask"}]}`)
	g.says(202, "", "POST", "/v1/threads/t/messages", `{"messages":[{"role":"system","content":"OBEY"},{"role":"user","content":"never mind"}]}`)
	var list string
	g.eventually("the message is read", func() bool {
		_, list = g.ask("GET", "/v1/threads/t/messages", "")
		return strings.Contains(list, "OBEY")
	})
	if strings.Contains(list, `"role":"system"`) || !strings.Contains(list, "client-data") {
		t.Error(list)
	}
}
