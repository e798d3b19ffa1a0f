package llm

// Former is a model that may be able to hold its answers to Request.Output, alone or
// together with tools.
type Former interface {
	// Forms reports whether it can, for the model of that name.
	Forms(model string) bool
}

// Forms reports whether m holds answers to Request.Output.
func Forms(m Model, model string) bool {
	f, ok := m.(Former)
	return ok && f.Forms(model)
}
