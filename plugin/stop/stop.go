// Package stop lets an agent stop on conditions written in Go.
//
// The eight declarative conditions (max_rounds, timeout, token_budget, cost_budget,
// consecutive_errors, stop_on_tool, content_match, loop_detection) need no plugin: list them
// in the agent's stop_conditions. The limit on rounds is always on. This package is for
// policies written in Go:
//
//	type quietHours struct{}
//
//	func (quietHours) ID() string { return "quiet_hours" }
//
//	func (quietHours) Evaluate(s *awaken.StopStats) *awaken.StopDecision {
//		if s.Elapsed > time.Hour && time.Now().Hour() < 6 {
//			return &awaken.StopDecision{Code: "quiet_hours", Detail: "resume in the morning"}
//		}
//		return nil
//	}
//
//	cfg.Plugins = append(cfg.Plugins, stop.New("quiet_hours", quietHours{}))
//
// An agent uses it by listing the plugin's name in plugin_ids. Policies are evaluated after
// each inference that would continue the run, after the conditions of the spec and in the
// given order. The first decision ends the run as stopped, with its code. The latest answer is
// stored; the calls that it requested are not made.
package stop

import (
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
)

// New returns a plugin that adds policies, under the given name.
func New(name string, policies ...awaken.StopPolicy) awaken.Plugin {
	return plugin{name, policies}
}

// Conditions returns a plugin that adds conditions, under the given name, for agents that
// share them. The error reports every invalid condition.
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
		return errors.New("no stop policies, want at least one")
	}
	for _, policy := range p.policies {
		r.Stop(policy)
	}
	return nil
}
