package llm

// Former is implemented by models that can enforce Request.Output, with or without tools.
type Former interface {
	// Forms reports whether the provider enforces an output schema for the model of that
	// name.
	Forms(model string) bool
}

// Forms reports whether m enforces Request.Output for the model of that name.
func Forms(m Model, model string) bool {
	f, ok := m.(Former)
	return ok && f.Forms(model)
}
