package server_test

import (
	"strings"
	"testing"
)

// An approved change does not overwrite a revision that the approver has not seen.
func TestAssistant_RefusesAStaleApproval(t *testing.T) {
	t.Parallel()
	g := newRig(t, withAISDK)
	g.says(200, "", "PUT", "/v1/admin/assistant/config", `{"policy_prompt":"","model_id":"m","revision":0}`)
	g.chat(assists, "t", "", `RUN_TOOL admin_publish_agent {"agent":{"id":"made","model_id":"m","system_prompt":"by the assistant"}}`, admin...)
	g.says(200, `"by a person"`, "PUT", "/v1/config/agents/made", `{"id":"made","model_id":"m","system_prompt":"by a person"}`)
	g.answers(assists, "t", "", "admin_publish_agent", "call_admin_publish_agent_1", true, admin...)
	if a := g.control.Registry().Agent("made"); a == nil || a.SystemPrompt != "by a person" {
		t.Errorf("the agent is %+v", a)
	}
	if run := g.ownRun("t"); run.Status != "done" {
		t.Errorf("the run is %s", run.Status)
	}

	// What is as it was approved is no mistake: the call may have been cut off.
	g.chat(assists, "again", "", `RUN_TOOL admin_publish_agent {"agent":{"id":"made","model_id":"m","system_prompt":"again"}}`, admin...)
	g.says(200, `"again"`, "PUT", "/v1/config/agents/made", `{"id":"made","model_id":"m","system_prompt":"again"}`)
	if status, body := g.answers(assists, "again", "", "admin_publish_agent", "call_admin_publish_agent_1", true, admin...); status != 200 || strings.Contains(body, "has changed") {
		t.Errorf("%d %s", status, body)
	}
}

// The assistant does not change drafts that a person has started, only its own.
func TestAssistant_KeepsDraftsOfPeople(t *testing.T) {
	t.Parallel()
	g := newRig(t, withAISDK)
	g.says(200, "", "PUT", "/v1/admin/assistant/config", `{"policy_prompt":"","model_id":"m","revision":0}`)
	g.says(200, "", "PUT", "/v1/config/agents/theirs?publish=false", `{"id":"theirs","model_id":"m","system_prompt":"a person's"}`)
	if body := g.chat(assists, "a", "", `RUN_TOOL admin_create_agent_draft {"agent":{"id":"theirs","model_id":"m","system_prompt":"mine"}}`, admin...); !strings.Contains(body, "that a person wrote") {
		t.Errorf("it was not told: %s", body)
	}
	g.says(200, `"a person's"`, "GET", "/v1/config/agents/theirs", "")
	g.chat(assists, "b", "", `RUN_TOOL admin_create_agent_draft {"agent":{"id":"own","model_id":"m","system_prompt":"one"}}`, admin...)
	g.chat(assists, "c", "", `RUN_TOOL admin_create_agent_draft {"agent":{"id":"own","model_id":"m","system_prompt":"two"}}`, admin...)
	g.says(200, `"two"`, "GET", "/v1/config/agents/own", "")
}
