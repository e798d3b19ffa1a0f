// Package registry resolves agents: it looks up what their specs refer to, registers their
// plugins, and puts together the tools that their catalogues let through. A [Registry] is
// immutable; an edit derives another one that shares what did not change ([Registry.Derive]),
// so that runs keep the registry they started on.
package registry
