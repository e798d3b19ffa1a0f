package llmtest_test

import (
	"go/build"
	"slices"
	"testing"
)

func TestPackage_DoesNotImportTesting(t *testing.T) {
	t.Parallel()
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(pkg.Imports, "testing") {
		t.Error("programs link this package, so it must not import testing")
	}
}
