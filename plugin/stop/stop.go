// Package stop lets an agent stop on conditions of your own.
//
// The eight conditions that are data (max_rounds, timeout, token_budget, cost_budget,
// consecutive_errors, stop_on_tool, content_match, loop_detection) need no plugin:
// write them into the agent's stop_conditions. The limit on rounds is always on. This
// package is for policies written in Go:
//
//	type quietHours struct{}
//
//	func (quietHours) ID() string { return "quiet_hours" }
//
//	func (quietHours) Evaluate(s *awaken.StopStats) *awaken.StopDecision {
//		if s.Elapsed > time.Hour && time.Now().Hour() < 6 {
//			return &awaken.StopDecision{Code: "quiet_hours", Detail: "goes on in the morning"}
//		}
//		return nil
//	}
//
//	cfg.Plugins = append(cfg.Plugins, stop.New("quiet_hours", quietHours{}))
//
// An agent uses it by listing the plugin's name in plugin_ids. Policies are asked
// after each inference that wants to go on, after the conditions of the spec, in the
// order given; the first that answers ends the run as stopped with its code. The
// answer that was just given is stored, and the calls it asked for are not made.
package stop

import (
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
)

// New returns a plugin of the given name that adds policies.
func New(name string, policies ...awaken.StopPolicy) awaken.Plugin {
	return plugin{name, policies}
}

// Conditions returns a plugin of the given name that adds conditions, for agents
// that share them. All mistakes in them are reported at once.
func Conditions(name string, conditions ...awaken.StopCondition) (awaken.Plugin, error) {
	var policies []awaken.StopPolicy
	var errs []error
	for i, c := range conditions {
		p, err := c.Policy()
		if err != nil {
			errs = append(errs, fmt.Errorf("stop condition %d: %w", i, err))
			continue
		}
		policies = append(policies, p)
	}
	return plugin{name, policies}, errors.Join(errs...)
}

type plugin struct {
	name     string
	policies []awaken.StopPolicy
}

func (p plugin) Name() string { return p.name }

func (p plugin) Register(r *awaken.Registrar) error {
	if len(p.policies) == 0 {
		return errors.New("has no policies")
	}
	for _, policy := range p.policies {
		r.Stop(policy)
	}
	return nil
}
