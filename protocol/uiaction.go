package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/state/builtin"
)

// maxActionBytes limits the context of an action, which is the content of a form.
const maxActionBytes = 64 << 10

// UIAction is a user's action in an interface that an agent has drawn: a pressed button, a sent form.
type UIAction struct {
	SurfaceID string `json:"surfaceId"`
	// ComponentID is the component that the user used. Formats whose events do not name one leave it out.
	ComponentID string          `json:"sourceComponentId,omitempty"`
	Name        string          `json:"name"`
	Context     json.RawMessage `json:"context,omitempty"` // an object
	Timestamp   string          `json:"timestamp,omitempty"`
	// Error is set instead if the event says that the renderer could not draw.
	Error *UIError `json:"-"`
}

// UIError reports that a renderer could not draw an interface.
type UIError struct {
	SurfaceID string `json:"surfaceId,omitempty"`
	Code      string `json:"code,omitempty"`
	Path      string `json:"path,omitempty"` // where the mistake is
	Message   string `json:"message"`
}

// ParseUIAction decodes the event of a renderer: {"userAction": {…}} as A2UI v0.8 has it, {"version",
// "action": {…}} as v0.9 has it, the action alone, or {"error": {…}}. Field names the value in errors.
func ParseUIAction(field string, data json.RawMessage) (*UIAction, error) {
	var event struct {
		Version    string          `json:"version"`
		UserAction json.RawMessage `json:"userAction"`
		Action     json.RawMessage `json:"action"`
		Error      json.RawMessage `json:"error"`
	}
	if err := strict.UnmarshalKnown(data, &event); err != nil {
		return nil, InvalidBody("%s: %v", field, err)
	}
	var kinds []string
	for _, k := range []struct {
		name string
		data json.RawMessage
	}{{"userAction", event.UserAction}, {"action", event.Action}, {"error", event.Error}} {
		if k.data != nil {
			kinds = append(kinds, k.name)
		}
	}
	switch {
	case len(kinds) > 1:
		return nil, BadRequest("%s has %s, want one of them", field, strings.Join(kinds, " and "))
	case event.Error != nil:
		return parseUIError(field+".error", event.Error)
	case event.UserAction != nil:
		field, data = field+".userAction", event.UserAction
	case event.Action != nil:
		field, data = field+".action", event.Action
	}
	a := &UIAction{}
	if err := strict.UnmarshalKnown(data, a); err != nil {
		return nil, InvalidBody("%s: %v", field, err)
	}
	for _, f := range []struct{ name, value string }{{"surfaceId", a.SurfaceID}, {"name", a.Name}} {
		if strings.TrimSpace(f.value) == "" {
			return nil, InvalidBody("%s.%s is missing, want a text", field, f.name)
		}
	}
	if len(a.Context) > maxActionBytes {
		return nil, BadRequest("%s.context has %d bytes, want at most %d", field, len(a.Context), maxActionBytes)
	}
	if c := strings.TrimSpace(string(a.Context)); c == "" || c == "null" {
		a.Context = json.RawMessage("{}")
	} else if c[0] != '{' {
		return nil, InvalidBody("%s.context is %.80s, want an object", field, c)
	}
	return a, nil
}

// maxUIText limits each text of a renderer's error, which may be long.
const maxUIText = 1000

// parseUIError decodes the error of a renderer. A2UI v0.8 leaves open what it has.
func parseUIError(field string, data json.RawMessage) (*UIAction, error) {
	e := &UIError{}
	if err := strict.UnmarshalKnown(data, e); err != nil {
		return nil, InvalidBody("%s: %v", field, err)
	}
	if strings.TrimSpace(e.Message) == "" { // what it has instead
		if e.Message = string(data); e.Message == "{}" {
			return nil, InvalidBody("%s.message is missing, want a text", field)
		}
	}
	for _, text := range []*string{&e.SurfaceID, &e.Code, &e.Path, &e.Message} {
		if runes := []rune(*text); len(runes) > maxUIText {
			*text = string(runes[:maxUIText]) + "…"
		}
	}
	return &UIAction{SurfaceID: e.SurfaceID, Error: e}, nil
}

// maxUIErrors is how many errors of renderers an agent is told of before a user says something: a page and an agent could keep each other busy for ever.
const maxUIErrors = 3

// checkErrors refuses an error of a renderer if the agent was told of enough of them since the user's latest message.
func checkErrors(ctx context.Context, t *mailbox.Tenant, threadID, field string) error {
	view, err := t.Store.View(ctx, threadID)
	if err != nil {
		return err
	}
	told := 0
	for _, m := range slices.Backward(view.Messages()) {
		if m.Role != llm.User {
			continue
		}
		if !strings.HasPrefix(m.Text(), errorOpen) {
			break
		}
		told++
	}
	if told >= maxUIErrors {
		return &Failure{Status: http.StatusConflict, Code: "conflict", Message: fmt.Sprintf("%s: the agent was told of %d errors since the user's latest message, which is the maximum", field, told)}
	}
	return nil
}

// Check reports an action that the thread's surfaces do not offer, and an error that is not about one of them or one too many. Field names the action in errors.
func (a *UIAction) Check(ctx context.Context, t *mailbox.Tenant, threadID, field string) error {
	values, err := t.Store.ThreadState(ctx, threadID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	var surfaces map[string]builtin.Surface
	if raw := values[builtin.Surfaces.Name()]; raw != nil {
		if err := json.Unmarshal(raw, &surfaces); err != nil {
			return err
		}
	}
	s, ok := surfaces[a.SurfaceID]
	if a.Error != nil && len(surfaces) > 0 && (ok || a.SurfaceID == "") {
		return checkErrors(ctx, t, threadID, field)
	}
	if !ok {
		return BadRequest("%s.surfaceId is %.80q, want a surface of the thread: %s", field, a.SurfaceID, some(maps.Keys(surfaces)))
	}
	if a.ComponentID == "" && s.Format != "a2ui" { // its events name no component
		for _, names := range s.Actions {
			if slices.Contains(names, a.Name) {
				return nil
			}
		}
		return BadRequest("%s.name is %.80q, want an action of surface %q: %s", field, a.Name, a.SurfaceID, some(func(yield func(string) bool) {
			for _, names := range s.Actions {
				for _, n := range names {
					if !yield(n) {
						return
					}
				}
			}
		}))
	}
	id := a.ComponentID
	names, ok := s.Actions[id]
	if !ok { // a renderer of v0.8 numbers the components that a template makes: row:0:1
		id, _, _ = strings.Cut(id, ":")
		names, ok = s.Actions[id]
	}
	if !ok {
		return BadRequest("%s.sourceComponentId is %.80q, want a component of surface %q that offers actions: %s", field, a.ComponentID, a.SurfaceID, some(maps.Keys(s.Actions)))
	}
	if !slices.Contains(names, a.Name) {
		return BadRequest("%s.name is %.80q, want an action of component %q: %s", field, a.Name, id, some(slices.Values(names)))
	}
	return nil
}

// some lists names in order, at most ten.
func some(seq func(yield func(string) bool)) string {
	names := slices.Compact(slices.Sorted(seq))
	if len(names) == 0 {
		return "there is none"
	}
	if len(names) > 10 {
		names = append(names[:10:10], "and others")
	}
	return strings.Join(names, ", ")
}

const (
	actionOpen, actionClose = "<ui_action>\n", "\n</ui_action>"
	errorOpen, errorClose   = "<ui_error>\n", "\n</ui_error>"
)

// Text returns the action as the text of a user message, which the instructions of the plugin generative-ui
// explain to models. The JSON inside has no < and >, so it cannot end the mark.
func (a *UIAction) Text() (string, error) {
	if a.Error != nil {
		data, err := json.Marshal(a.Error)
		return errorOpen + string(data) + errorClose, err
	}
	said := *a
	said.Timestamp = ""
	data, err := json.Marshal(&said) // escapes < and >
	if err != nil {
		return "", fmt.Errorf("action: %w", err)
	}
	return actionOpen + string(data) + actionClose, nil
}

// IsUIAction reports whether a text is the result of [UIAction.Text].
func IsUIAction(text string) bool {
	return strings.HasPrefix(text, actionOpen) && strings.HasSuffix(text, actionClose) || strings.HasPrefix(text, errorOpen) && strings.HasSuffix(text, errorClose)
}
