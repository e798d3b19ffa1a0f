//go:build linux && (amd64 || arm64)

package sandbox

// WithoutNamespaces makes programs have no namespaces, until the function that it returns is called.
func WithoutNamespaces(without bool) func() {
	was := noNamespaces.Load()
	noNamespaces.Store(was || without)
	return func() { noNamespaces.Store(was) }
}
