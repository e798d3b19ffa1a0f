package config

import (
	"encoding/json"
	"strings"
)

// ToolSpec is a tool of the code, as documents see it. Only its description can be
// overridden.
type ToolSpec struct {
	// ID is what models and catalogues call the tool.
	ID string `json:"id"`
	// Name is for people.
	Name string `json:"name"`
	// Description is what models are told about the tool.
	Description string `json:"description"`
	// Category groups tools for people.
	Category string `json:"category,omitempty"`
	// ParametersSchema is the JSON Schema of the arguments.
	ParametersSchema json.RawMessage `json:"parameters_schema,omitempty"`
}

// maxToolDescription is how long a description that overrides one may be, in bytes.
const maxToolDescription = 4096

// Validate reports every mistake at once.
func (s *ToolSpec) Validate() error {
	var m mistakes
	if strings.TrimSpace(s.ID) == "" {
		m.add("id is empty")
	}
	return m.join()
}
