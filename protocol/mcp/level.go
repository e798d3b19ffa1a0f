package mcp

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/state/profile"
)

// Levels keeps the log levels that sessions of the older era have set. A [profile.Store] is one.
type Levels interface {
	Get(ctx context.Context, namespace, key string) (*profile.Entry, error)
	Set(ctx context.Context, namespace, key string, value json.RawMessage) error
	Delete(ctx context.Context, namespace, key string) error
	List(ctx context.Context, namespace string) ([]profile.Entry, error)
}

const (
	levelSpace = "mcp_log_level"
	// maxLevels is how many levels are kept. Of more, those that were set last are.
	maxLevels = 10_000
	// defaultLevel is the level of sessions that have set none.
	defaultLevel = "info"
)

// levelParams set a level.
type levelParams struct {
	Level string `json:"level"`
}

// UnmarshalJSON ignores unknown fields.
func (p *levelParams) UnmarshalJSON(data []byte) error {
	type plain levelParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// setLevel sets the level of the session's messages.
func (x *exchange) setLevel(m *message) error {
	var in levelParams
	if err := m.params(&in); err != nil {
		return err
	}
	if !slices.Contains(levels, in.Level) {
		return invalid("params.level is %.80q, want one of %s", in.Level, strings.Join(levels, ", "))
	}
	if x.session.Nonce == "" {
		return invalid("a level belongs to a session: initialize one")
	}
	value, err := json.Marshal(in.Level)
	if err != nil {
		return err
	}
	if err := x.cfg.Levels.Set(x.Context(), levelSpace, x.session.Nonce, value); err != nil {
		return err
	}
	if rand.IntN(32) == 0 {
		if err := x.forgetLevels(time.Now().Add(-sessionAge)); err != nil {
			return err
		}
	}
	return x.reply(&result{})
}

// forgetLevels deletes the levels that were set before a time, and the oldest of too many.
func (x *exchange) forgetLevels(before time.Time) error {
	list, err := x.cfg.Levels.List(x.Context(), levelSpace)
	slices.SortFunc(list, func(a, b profile.Entry) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	for i := range list {
		if err == nil && (i >= maxLevels || list[i].UpdatedAt.Before(before)) {
			err = x.cfg.Levels.Delete(x.Context(), levelSpace, list[i].Key)
		}
	}
	return err
}

// chooseLevel finds out which messages of the log a call sends: those that the request asks for or, in the older era, the session.
func (x *exchange) chooseLevel() error {
	if x.level != "" && !slices.Contains(levels, x.level) {
		return invalid("the log level is %.80q, want one of %s", x.level, strings.Join(levels, ", "))
	}
	if x.level != "" || x.modern || x.cfg.Levels == nil {
		return nil
	}
	x.level = defaultLevel
	if x.session.Nonce == "" {
		return nil
	}
	e, err := x.cfg.Levels.Get(x.Context(), levelSpace, x.session.Nonce)
	if err != nil || e == nil {
		return err
	}
	return json.Unmarshal(e.Value, &x.level)
}
