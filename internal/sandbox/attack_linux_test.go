//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"os"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/internal/sandbox/sandboxtest"
)

// No attack does damage, also without namespaces; those that are safe to show do damage without a sandbox. With namespaces, package
// plugin/workspace shows it: short tests make the even attacks here and the odd ones there.
func TestAttacks(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	t.Run("unconfined", sandboxtest.Control)
	t.Run("confined", func(t *testing.T) {
		defer sandbox.WithoutNamespaces(true)()
		sandboxtest.Run(t, false, func(t *testing.T, a *sandboxtest.Arena, at sandboxtest.Attack) string {
			root, err := os.OpenRoot(a.Dir)
			if err != nil {
				t.Error(err)
				return ""
			}
			defer func() { _ = root.Close() }()
			limits := sandbox.Limits{Time: 30 * time.Second, Flood: 1 << 20, Memory: 128 << 20, TotalMemory: 200 << 20, FileBytes: 8 << 20, DiskBytes: 16 << 20}
			if at.Endless {
				limits.Time = 1500 * time.Millisecond
			}
			res, err := sandbox.Run(t.Context(), &sandbox.Command{Argv: []string{"/bin/bash", "-c", a.Fill(at.Text)}, Env: []string{"PATH=" + sandbox.Path, "TMPDIR=."}, Dir: root, Limits: limits})
			if err != nil {
				t.Errorf("%s: %v", at.Text, err)
				return ""
			}
			return res.Stdout + res.Stderr
		})
	})
}
