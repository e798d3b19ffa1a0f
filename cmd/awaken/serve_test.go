package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

func TestServe_WarnsAboutSettingsWithoutEffect(t *testing.T) {
	h := host(t, func(s *settings.Settings) {
		for _, v := range s.Values() {
			if v.Name == "mailbox.suspended_lease_ms" {
				v.Source = "AWAKEN_MAILBOX_SUSPENDED_LEASE_MS"
			}
		}
	})
	want := `level=WARN msg="setting has no effect" setting=mailbox.suspended_lease_ms from=AWAKEN_MAILBOX_SUSPENDED_LEASE_MS`
	if got := h.log.String(); strings.Count(got, "has no effect") != 1 || !strings.Contains(got, want) {
		t.Errorf("the log is %q", got)
	}
}

// writer is a function that is told what is written.
type writer func(text string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// When the server says that it listens, its debug address is open, too. If that cannot be opened, it says nothing and makes
// no key.
func TestServe_OpensItsDebugAddressBeforeItSaysThatItListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := settings.Defaults()
	s.Server.Address, s.Server.DebugAddress, s.StorageDir = "127.0.0.1:0", l.Addr().String(), t.TempDir()
	log := &watched{text: "\x00", seen: make(chan struct{})}
	err = serve(t.Context(), &console{in: strings.NewReader(""), out: writer(func(text string) { t.Errorf("it says %q", text) }), err: log}, s, newCode(s))
	if err == nil || !strings.Contains(err.Error(), "listen on debug address "+s.Server.DebugAddress) {
		t.Fatalf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := false
	s.Server.DebugAddress = "127.0.0.1:0"
	err = serve(ctx, &console{in: strings.NewReader(""), err: log, out: writer(func(text string) {
		said = true
		if !adminKey.MatchString(text) {
			t.Errorf("the server that could not start has made the key: %q", text)
		}
		m := regexp.MustCompile(`msg="serving profiles" address=(\S+)`).FindStringSubmatch(log.String())
		if m == nil {
			t.Errorf("the log is %q", log.String())
		} else if c, err := net.Dial("tcp", m[1]); err != nil {
			t.Errorf("the debug address is not open: %v", err)
		} else {
			_ = c.Close()
		}
		cancel()
	})}, s, newCode(s))
	if err != nil || !said {
		t.Errorf("it said that it listens: %v; %v", said, err)
	}
}

// process is a server that a script has started.
type process struct {
	cmd      *exec.Cmd
	out, err *watched
	ended    chan struct{}
}

var (
	listening = regexp.MustCompile(`Awaken listens on (https?://\S+)`)
	adminKey  = regexp.MustCompile(`Admin key, shown only now: (\S+)`)
)

// startServer is the script command
//
//	serves NAME [VAR=value...] args...
//
// It starts awaken serve on a free port and sets $URL and $PORT, and $KEY if an admin key is made.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serves NAME [VAR=value...] args...")
	}
	name, rest := args[0], args[1:]
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "AWAKEN_") || strings.HasPrefix(kv, "AGENT_") || strings.HasPrefix(kv, "OPENAI_")
	})
	env = append(env, "PATH="+ts.Getenv("PATH"), "GORACE=atexit_sleep_ms=10")
	for len(rest) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(rest[0]) {
		env, rest = append(env, rest[0]), rest[1:]
	}
	program := programPath(ts, "awaken")
	if plain := ts.Getenv(plainVar); plain != "" && !strings.HasPrefix(ts.Name(), "serve") {
		program = plain
	}
	p := &process{cmd: exec.Command(program, append([]string{"serve", "--address", "127.0.0.1:0"}, rest...)...),
		out: &watched{text: "Ctrl-C stops", seen: make(chan struct{})}, err: &watched{text: "msg=stopping", seen: make(chan struct{})}, ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = ts.MkAbs("."), env, p.out, p.err
	ts.Check(p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	select {
	case <-p.out.seen:
	case <-p.ended:
		ts.Fatalf("the server ended: %s%s", p.out, p.err)
	case <-time.After(2 * time.Minute):
		ts.Fatalf("the server did not start: %s%s", p.out, p.err)
	}
	url := listening.FindStringSubmatch(p.out.String())[1]
	ts.Setenv("URL", url)
	ts.Setenv("PORT", url[strings.LastIndexByte(url, ':')+1:])
	if m := adminKey.FindStringSubmatch(p.out.String()); m != nil {
		ts.Setenv("KEY", m[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(name+".out"), []byte(p.out.String()), 0o600))
	servers.Store(ts.MkAbs(name), p)
}

// servers are those that are running, by the absolute name of the script's.
var servers sync.Map

// stopServer is the script command
//
//	stops NAME SIG[,SIG] STATUS
//
// It sends the signals, each after the one before had an effect, and waits for the end. The
// signal - is none: the server ends by itself. What the server logged is then in NAME.err.
func stopServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: stops NAME SIG[,SIG] STATUS")
	}
	got, ok := servers.LoadAndDelete(ts.MkAbs(args[0]))
	if !ok {
		ts.Fatalf("there is no server %s", args[0])
	}
	p := got.(*process)
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	for i, name := range strings.Split(args[1], ",") {
		if i > 0 {
			<-p.err.seen
		}
		if name == "-" {
			continue
		}
		ts.Check(p.cmd.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}[name]))
	}
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		ts.Fatalf("the server did not stop: %s", p.err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(p.err.String()), 0o600))
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit status %d, want %d: %s", got, want, p.err)
	}
}

// until is the script command
//
//	until REGEXP curl args...
//
// It asks until the answer matches. It does so in this process, which is much faster than
// starting another: what it waits for may be there for a second only.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "curl" {
		ts.Fatalf("usage: until REGEXP curl args...")
	}
	re := regexp.MustCompile(args[0])
	var out bytes.Buffer
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		out.Reset()
		if _, err := curl(context.Background(), args[2:], &out); err == nil && re.Match(out.Bytes()) {
			return
		}
	}
	ts.Fatalf("%q did not come; last was %s", args[0], bytes.TrimSpace(out.Bytes()))
}

// findIn is the script command
//
//	finds VAR REGEXP FILE
//
// It sets VAR to the first group of the regular expression in the file.
func findIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: finds VAR REGEXP FILE")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if m == nil {
		ts.Fatalf("%s has no %s", args[2], args[1])
	}
	ts.Setenv(args[0], m[1])
}

// programPath finds a program of this test, which has the race detector if the test has it.
func programPath(ts *testscript.TestScript, name string) string {
	p, err := exec.LookPath(name)
	ts.Check(err)
	return p
}
