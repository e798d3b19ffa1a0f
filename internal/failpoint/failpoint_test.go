package failpoint_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/failpoint"
)

var here, there = failpoint.New("test.here"), failpoint.New("test.there")

func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_CHILD") != "" {
		if err := failpoint.EnableFromEnv(); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(2)
		}
		for range 3 {
			os.Stdout.WriteString("x")
			here.Hit()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, spec string) (stdout string, err error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", "AWAKEN_FAILPOINT="+spec)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	return string(out) + errOut.String(), err
}

func TestEnableFromEnv_KillsTheProcessAtTheNamedHit(t *testing.T) {
	out, err := child(t, "test.here:2")
	if err == nil || !strings.Contains(err.Error(), "killed") || out != "xx" {
		t.Fatalf("got %q and %v, want the process killed after two hits", out, err)
	}
}

func TestEnableFromEnv_RejectsAnUnknownPoint(t *testing.T) {
	if out, err := child(t, "test.nowhere:1"); err == nil || !strings.Contains(out, `"test.nowhere"`) {
		t.Fatalf("got %q and %v, want an error that names the point", out, err)
	}
	if out, err := child(t, "test.here:0"); err == nil || !strings.Contains(out, "test.here:0") {
		t.Fatalf("got %q and %v, want an error that names the value", out, err)
	}
}

func TestEnable_CountsHitsOfEachPoint(t *testing.T) {
	var got []string
	disable := failpoint.Enable(func(name string, n int) { got = append(got, strings.Repeat(name+" ", n)) })
	here.Hit()
	here.Hit()
	there.Hit()
	disable()
	here.Hit()
	if want := "test.here |test.here test.here |test.there "; strings.Join(got, "|") != want {
		t.Fatalf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

func BenchmarkHit(b *testing.B) {
	for b.Loop() {
		here.Hit()
	}
}
