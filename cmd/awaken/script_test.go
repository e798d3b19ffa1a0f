package main

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/awaken-go/awaken/internal/testenv"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"awaken": main, "awaken-in-memory": inMemoryMain, "attacker": attackMain})
}

// plainVar names the program without the race detector, where there is one.
const plainVar = "PLAIN_PROGRAM"

// TestScript runs the scripts in testdata/script. Beside testscript's own commands
// they have
//
//	exits STATUS program args...           run the program; it must exit with STATUS,
//	                                       or be killed if that is -1
//	signals SIG STATUS TEXT program args...  start it, send SIG once TEXT is on its
//	                                       stdout; what it printed is in the files
//	                                       out and err
//
// and, for servers, serves, stops, until and finds, which serve_test.go explains, a small
// curl, and inmodule and plays, for tests that are written, which astest_test.go explains.
//
// With the race detector, exec and exits start a program that is built without it, unless the test is a long one: to start the other one
// takes longer than most commands. What signals starts always has the detector, and what serves starts has it in the scripts serve*.
//
// FAKE_OPENAI, FAKE_ANTHROPIC and FAKE_OLLAMA are the addresses of servers with models.
func TestScript(t *testing.T) {
	fakes := map[string]*httptest.Server{"FAKE_OPENAI": startOpenAI(), "FAKE_ANTHROPIC": startAnthropic(), "FAKE_OLLAMA": startOllama()}
	for _, s := range fakes {
		t.Cleanup(s.Close) // after the scripts, which are parallel
	}
	plain := t.TempDir()
	if testenv.Race && !testenv.Long() {
		program, err := testenv.Awaken()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(plain, "awaken")); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=10") // the default is a second for every command
			if testenv.Race && !testenv.Long() {
				env.Setenv("PATH", plain+string(filepath.ListSeparator)+env.Getenv("PATH"))
				env.Setenv(plainVar, filepath.Join(plain, "awaken"))
			}
			for name, s := range fakes {
				env.Setenv(name, s.URL)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"signals": sendSignal,
			"serves":  startServer,
			"stops":   stopServer,
			"until":   until,
			"finds":   findIn,
			"curl":    scriptCurl,

			"inmodule": makeFolder,
			"plays":    playTest,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	checkStatus(ts, ts.Exec(args[1], args[2:]...), want)
}

func checkStatus(ts *testscript.TestScript, err error, want int) {
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	sig, ok := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[0]]
	if neg || len(args) < 4 || !ok {
		ts.Fatalf("usage: signals INT|TERM STATUS TEXT program args...")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	cmd := exec.Command(programPath(ts, args[3]), args[4:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), storageEnv+"="+ts.Getenv(storageEnv))
	out := &watched{text: args[2], seen: make(chan struct{})}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	ts.Check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for seen := out.seen; ; {
		select {
		case <-seen:
			ts.Check(cmd.Process.Signal(sig))
			seen = nil
			continue
		case err = <-done:
		case <-limit.C:
			ts.Check(cmd.Process.Kill())
			<-done
			ts.Fatalf("it did not end in time; stdout:\n%s\nstderr:\n%s", out.buf.String(), stderr.String())
		}
		break
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.buf.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), stderr.Bytes(), 0o600))
	ts.Logf("[stdout]\n%s[stderr]\n%s", out.buf.String(), stderr.String())
	checkStatus(ts, err, want)
}

// watched collects output and signals when it contains a text.
type watched struct {
	text string
	seen chan struct{}

	once sync.Once
	mu   sync.Mutex
	buf  bytes.Buffer
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.text) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}
