package llm

// SchemaEnforcer is implemented by models that can enforce Request.Output, with or without tools.
type SchemaEnforcer interface {
	// SupportsSchema reports whether the provider enforces an output schema for the model of that
	// name.
	SupportsSchema(model string) bool
}

// SupportsSchema reports whether m enforces Request.Output for the model of that name.
func SupportsSchema(m Model, model string) bool {
	f, ok := m.(SchemaEnforcer)
	return ok && f.SupportsSchema(model)
}
