package awaken

import (
	"fmt"
	"strings"
)

// Severities of a [Diagnostic].
const (
	SeverityError = "error"   // the agent cannot run
	Warning       = "warning" // the agent can run
)

// Diagnostic reports one problem of a registry, of the configuration that it is made from, or of a
// run.
type Diagnostic struct {
	Code      string `json:"code"`                 // kind of problem, such as duplicate_id; for programs
	Severity  string `json:"severity"`             // SeverityError or Warning
	Namespace string `json:"namespace"`            // where it is: agents, models, model-pools, tools, plugins, providers or another namespace of package config; runtime or runs
	ID        string `json:"id"`                   // of what has the problem, in Namespace
	DependsOn string `json:"depends_on,omitempty"` // "namespace/id" of the missing document
	Message   string `json:"message"`              // the problem, for people
}

// String returns the diagnostic in one line.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s %q: %s", strings.TrimSuffix(d.Namespace, "s"), d.ID, d.Message)
}

// ConfigError reports all problems of a configuration or a registry.
type ConfigError struct{ Problems []Diagnostic }

// Error returns the problems, one per line.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
