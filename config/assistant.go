package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
)

// AssistantSettings is what can be set of the server's own agent.
type AssistantSettings struct {
	PolicyPrompt string `json:"policy_prompt"`
	ModelID      string `json:"model_id,omitempty"`
	// Revision counts the writes; 0 means that nothing was ever set.
	Revision int64 `json:"revision"`
}

// assistantKey is where they are. It is not one of the namespaces that clients can name.
var assistantKey = Key{"admin-assistant", "default"}

// Assistant returns the settings of the server's own agent.
func (m *Manager) Assistant(ctx context.Context) (*AssistantSettings, error) {
	rec, err := m.o.Store.Record(ctx, assistantKey)
	if errors.Is(err, awaken.ErrNotFound) {
		return &AssistantSettings{}, nil
	}
	if err != nil {
		return nil, err
	}
	out := &AssistantSettings{}
	if err := json.Unmarshal(rec.Spec, out); err != nil {
		return nil, fmt.Errorf("%s: %w", assistantKey, err)
	}
	out.Revision = rec.Meta.Revision
	return out, nil
}

// SetAssistant changes the settings. Their Revision has to be the current one.
func (m *Manager) SetAssistant(ctx context.Context, s AssistantSettings, by Actor) (*AssistantSettings, error) {
	old, err := m.Assistant(ctx)
	if err != nil {
		return nil, err
	}
	if s.ModelID != "" && !m.hasModel(s.ModelID) {
		return nil, fmt.Errorf("%w: model_id is %q, which is no model and no pool that is live", awaken.ErrInvalid, s.ModelID)
	}
	spec, err := json.Marshal(AssistantSettings{PolicyPrompt: s.PolicyPrompt, ModelID: s.ModelID})
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	now := m.o.Now()
	rec := &Record{Spec: spec, Meta: Meta{Source: Source{Kind: User}, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli(), Revision: s.Revision + 1}}
	event := m.event(by, "update", assistantKey.String())
	event.Before, event.After = before, spec
	if err := m.o.Store.Apply(ctx, &Change{Records: []RecordChange{{Key: assistantKey, Record: rec, Expect: s.Revision}}, Audit: []*AuditEvent{event}}); err != nil {
		return nil, err
	}
	s.Revision++
	return &s, nil
}

// hasModel reports whether a model or pool is live.
func (m *Manager) hasModel(id string) bool { return m.Registry().HasModel(id) }
