package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
)

// AssistantSettings are the settings of the admin assistant.
type AssistantSettings struct {
	PolicyPrompt string `json:"policy_prompt"`
	ModelID      string `json:"model_id,omitempty"`
	// Revision counts the writes; 0 means that nothing was ever set.
	Revision int64 `json:"revision"`
}

// assistantKey is where the settings are stored. Clients cannot name its namespace.
var assistantKey = Key{"admin-assistant", "default"}

// Assistant holds the settings of the admin assistant.
type Assistant struct {
	store interface {
		recordReader
		applier
	}
	current *current
	audit   *AuditLog
	clock   func() time.Time
}

// Settings returns the settings; zero values if nothing was ever set.
func (a *Assistant) Settings(ctx context.Context) (*AssistantSettings, error) {
	rec, err := a.store.Record(ctx, assistantKey)
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

// Set replaces the settings. Their Revision must be the current one, or Set returns
// ErrConflict.
func (a *Assistant) Set(ctx context.Context, s AssistantSettings, by Actor) (*AssistantSettings, error) {
	old, err := a.Settings(ctx)
	if err != nil {
		return nil, err
	}
	if s.ModelID != "" && !a.current.now().live.reg.HasModel(s.ModelID) {
		return nil, fmt.Errorf("%w: model_id is %q, want a live model or pool", awaken.ErrInvalid, s.ModelID)
	}
	spec, err := json.Marshal(AssistantSettings{PolicyPrompt: s.PolicyPrompt, ModelID: s.ModelID})
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	now := a.clock()
	rec := &Record{Spec: spec, Meta: Meta{Source: Source{Kind: User}, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli(), Revision: s.Revision + 1}}
	event := a.audit.event(by, "update", assistantKey.String())
	event.Before, event.After = before, spec
	if err := a.store.Apply(ctx, &Change{Records: []RecordChange{{Key: assistantKey, Record: rec, Expect: s.Revision}}, Audit: []*AuditEvent{event}}); err != nil {
		return nil, err
	}
	s.Revision++
	return &s, nil
}
