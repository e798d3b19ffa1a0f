//go:build unix

package rigtest

import (
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// Program is a server of the built command. It is stopped at the end of the test, and must end without an error then, unless the
// test has ended it before.
type Program struct {
	*Process
	Client
	// Dir is its working folder, and where its data is if it has no database.
	Dir string
	// AdminKey is the key that it has made and shown, if any.
	AdminKey string
}

// Command returns a command of the program with only what env sets of the program's settings. It runs in dir.
func Command(tb testing.TB, dir string, env []string, args ...string) *exec.Cmd {
	tb.Helper()
	path, err := testenv.Awaken()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	settings := []string{"AWAKEN_", "AGENT_", "OPENAI_", "HOME="}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc(settings, func(prefix string) bool { return strings.HasPrefix(kv, prefix) })
	})
	cmd.Env = append(append(cmd.Env, "HOME="+dir), env...)
	return cmd
}

var (
	listening = regexp.MustCompile(`Awaken listens on (http://\S+)`)
	adminKey  = regexp.MustCompile(`Admin key, shown only now: (\S+)`)
)

// Serve starts a program that serves, with flags and settings, and returns when it does. It listens on an address of its own, and on
// the same again after [Program.Again].
func Serve(tb testing.TB, env []string, flags ...string) *Program {
	tb.Helper()
	p := &Program{Dir: tb.TempDir()}
	address := "127.0.0.1:0"
	p.Process = Start(tb, func() *exec.Cmd {
		return Command(tb, p.Dir, env, append([]string{"serve", "--address", address, "--storage-dir", p.Dir}, flags...)...)
	})
	tb.Cleanup(func() {
		if p.Ended() {
			return
		}
		if err := p.Stop(); err != nil {
			tb.Errorf("a server: %v\n%s", err, p.Log())
		}
	})
	p.ready()
	at, err := url.Parse(p.URLs[0])
	if err != nil {
		tb.Fatal(err)
	}
	address = at.Host
	return p
}

// Again starts the program that has ended again, at its address, and returns when it serves.
func (p *Program) Again() {
	p.tb.Helper()
	p.Process.Again()
	p.ready()
}

// ready waits until the program serves, and reads where.
func (p *Program) ready() {
	p.tb.Helper()
	p.Says("Ctrl-C stops")
	log := p.Log()
	p.URLs = []string{listening.FindStringSubmatch(log)[1]}
	if key := adminKey.FindStringSubmatch(log); key != nil {
		p.AdminKey = key[1]
	}
}
