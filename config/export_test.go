package config

// Options returns what a manager was made of.
func (m *Manager) Options() Options { return m.o }
