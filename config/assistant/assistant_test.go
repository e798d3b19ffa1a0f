package assistant_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

// newAssistant returns an assistant on an empty control plane.
func newAssistant(t *testing.T) *assistant.Assistant {
	t.Helper()
	a := &assistant.Assistant{}
	m, err := config.Open(t.Context(), config.Options{Store: memory.NewDB().Config(), Code: registry.Config{Plugins: []awaken.Plugin{a}},
		Provider: func(context.Context, *awaken.ProviderSpec) (llm.Model, error) { return llmtest.Demo(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	a.Manager = m
	return a
}

func put(t *testing.T, a *assistant.Assistant, ns config.Namespace, doc string, draft bool) error {
	t.Helper()
	var id struct{ ID string }
	if err := json.Unmarshal([]byte(doc), &id); err != nil {
		t.Fatal(err)
	}
	_, err := a.Manager.Put(t.Context(), config.Key{Namespace: ns, ID: id.ID}, json.RawMessage(doc), draft, config.Condition{}, config.Actor{})
	return err
}

// The assistant uses the configured model, or the first live one with a real provider.
func TestAgent_Model(t *testing.T) {
	a := newAssistant(t)
	model := func() string {
		t.Helper()
		spec, err := a.Agent(t.Context())
		if errors.Is(err, assistant.ErrNoModel) {
			if info := a.Info(t.Context()); info.Enabled || info.DisabledReason == nil || info.ModelID != nil {
				t.Errorf("without a model the assistant is %+v", info)
			}
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		if info := a.Info(t.Context()); !info.Enabled || info.DisabledReason != nil || *info.ModelID != spec.ModelID {
			t.Errorf("the assistant is %+v", info)
		}
		return spec.ModelID
	}
	for _, step := range []struct {
		ns    config.Namespace
		doc   string
		draft bool
		want  string
	}{
		{config.Providers, `{"id":"fake","adapter":"scripted"}`, false, ""},
		{config.Models, `{"id":"a-scripted","provider_id":"fake","upstream_model":"x"}`, false, ""},
		{config.Providers, `{"id":"real","adapter":"openai"}`, false, ""},
		{config.Models, `{"id":"b-draft","provider_id":"real","upstream_model":"x"}`, true, ""},
		{config.Models, `{"id":"c-real","provider_id":"real","upstream_model":"x"}`, false, "c-real"},
	} {
		if err := put(t, a, step.ns, step.doc, step.draft); err != nil {
			t.Fatal(err)
		}
		if got := model(); got != step.want {
			t.Errorf("after %s the model is %q, want %q", step.doc, got, step.want)
		}
	}
	if _, err := a.Manager.Assistant().Set(t.Context(), config.AssistantSettings{ModelID: "a-scripted"}, config.Actor{}); err != nil {
		t.Fatal(err)
	}
	if got := model(); got != "a-scripted" {
		t.Errorf("the model is %q although another one is set", got)
	}
}

// Administrators can add to the assistant's prompt but not replace it. Its tools are fixed.
func TestAgent_IsLocked(t *testing.T) {
	a := newAssistant(t)
	if err := put(t, a, config.Providers, `{"id":"real","adapter":"openai"}`, false); err != nil {
		t.Fatal(err)
	}
	if err := put(t, a, config.Models, `{"id":"m","provider_id":"real","upstream_model":"x"}`, false); err != nil {
		t.Fatal(err)
	}
	before, err := a.Agent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Manager.Assistant().Set(t.Context(), config.AssistantSettings{PolicyPrompt: "Be kind."}, config.Actor{}); err != nil {
		t.Fatal(err)
	}
	after, err := a.Agent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(after.SystemPrompt, before.SystemPrompt) || !strings.HasSuffix(after.SystemPrompt, "Be kind.") {
		t.Errorf("the prompt is %q", after.SystemPrompt)
	}
	if !slices.Equal(after.AllowedTools, assistant.Tools) || after.Rounds() != 8 || after.ID != assistant.AgentID {
		t.Errorf("the agent is %+v", after)
	}
	p, err := a.Manager.Versions().PreviewOwn(t.Context(), after, config.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := a.Manager.Pinned(t.Context(), p.ResolutionID())
	if err != nil {
		t.Fatal(err)
	}
	if got := reg.ToolIDs(assistant.AgentID); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(assistant.Tools))) {
		t.Errorf("its tools are %v", got)
	}
	if a.Manager.Registry().Agent(assistant.AgentID) != nil {
		t.Error("everybody can run it")
	}
	if err := put(t, a, config.Agents, `{"id":"thief","model_id":"m","plugin_ids":["admin-assistant"]}`, false); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("another agent has its tools: %v", err)
	}
	if err := put(t, a, config.Agents, `{"id":"__admin_assistant","model_id":"m"}`, false); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("another agent can load the plugin: %v", err)
	}
}
