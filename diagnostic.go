package awaken

import (
	"fmt"
	"strings"
)

// How bad a diagnostic is.
const (
	SeverityError = "error"
	Warning       = "warning"
)

// Diagnostic is one thing that is wrong, or looks wrong, in a registry.
type Diagnostic struct {
	Code      string `json:"code"`
	Severity  string `json:"severity"`
	Namespace string `json:"namespace"` // agents, models, tools, plugins, providers
	ID        string `json:"id"`
	DependsOn string `json:"depends_on,omitempty"` // "namespace/id" of what is missing
	Message   string `json:"message"`
}

func (d Diagnostic) String() string {
	return fmt.Sprintf("%s %q: %s", strings.TrimSuffix(d.Namespace, "s"), d.ID, d.Message)
}

// ConfigError reports every mistake found in a Config or a registry.
type ConfigError struct{ Problems []Diagnostic }

func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
