package config

import (
	"errors"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

func TestCode_CannotBeWritten(t *testing.T) {
	c := newCode(&registry.Config{
		Agents:    []*awaken.AgentSpec{{ID: "own"}},
		Models:    []awaken.ModelSpec{{ID: "own"}},
		Pools:     []awaken.ModelPoolSpec{{ID: "own"}},
		Providers: map[string]llm.Model{"own": named("own")},
	})
	for _, ns := range []Namespace{Agents, Models, Pools, Providers} {
		if err := c.writable(Key{ns, "own"}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s of the program are %v, want ErrReadOnly", ns, err)
		}
		if err := c.writable(Key{ns, "other"}); err != nil {
			t.Errorf("others of %s are %v", ns, err)
		}
	}
	for key, want := range map[Key]error{{"nonsense", "a"}: awaken.ErrNotFound, {Tools, "any"}: ErrReadOnly, {Agents, "__any"}: awaken.ErrInvalid, {Models, "__any"}: nil} {
		if err := c.writable(key); !errors.Is(err, want) {
			t.Errorf("%s is %v, want %v", key, err, want)
		}
	}
}
