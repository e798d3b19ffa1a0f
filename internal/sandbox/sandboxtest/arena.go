//go:build linux && (amd64 || arm64)

// Package sandboxtest attacks what runs commands in a sandbox.
//
//	for _, a := range sandboxtest.Attacks() {
//		arena := sandboxtest.NewArena(t)
//		out := run(arena.Dir, arena.Fill(a.Text))
//		if damage := arena.Damage(out); damage != "" {
//			t.Errorf("%s: %s", a.Text, damage)
//		}
//	}
package sandboxtest

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Arena is what a command attacks: a workspace, with a secret, sockets and a process outside of it.
type Arena struct {
	Dir     string // the workspace; all users may write to it
	Outside string // the folder around it
	Env     []string

	t        *testing.T
	token    string // what must not be read
	secret   string // the file that holds it
	victim   *exec.Cmd
	port     string
	socket   string
	abstract string
	leaked   int    // an open file that a command must not have
	mark     string // seconds that a process sleeps, by which it is found
	reached  atomic.Int64
	modified time.Time
}

// marks counts the marks of a process.
var marks atomic.Int64

// NewArena returns an arena that is removed when the test ends.
func NewArena(t *testing.T) *Arena {
	t.Helper()
	a := &Arena{t: t, token: rand.Text(), mark: fmt.Sprint(40_000_000 + 10_000*int64(os.Getpid()%100_000) + marks.Add(1))}
	dir, err := os.MkdirTemp("", "awaken-arena-")
	a.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a.must(os.Chmod(dir, 0o777)) // only the confinement protects it
	a.Outside, a.Dir, a.secret = dir, filepath.Join(dir, "desk"), filepath.Join(dir, "secret.txt")
	for _, name := range []string{a.Dir, filepath.Join(dir, "home")} {
		a.must(os.Mkdir(name, 0o777))
		a.must(os.Chmod(name, 0o777))
	}
	a.must(os.WriteFile(a.secret, []byte(a.token), 0o666))
	a.must(os.Chmod(a.secret, 0o666))
	info, err := os.Stat(a.secret)
	a.must(err)
	a.modified = info.ModTime()
	a.Env = append(os.Environ(), "ATTACK_TOKEN="+a.token)
	a.victim = exec.Command("sleep", "600")
	a.victim.Env = a.Env
	a.must(a.victim.Start())
	t.Cleanup(func() { _ = a.victim.Process.Kill(); _ = a.victim.Wait() })
	a.socket, a.abstract = filepath.Join(dir, "sock"), "\x00awaken-arena-"+a.mark
	tcp, udp := a.listen()
	listeners := []net.Listener{tcp}
	for _, at := range []string{a.socket, "@" + a.abstract[1:]} {
		l, err := net.Listen("unix", at)
		a.must(err)
		listeners = append(listeners, l)
	}
	for _, l := range listeners {
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				a.reached.Add(1)
				_ = c.Close()
			}
		}()
	}
	a.must(os.Chmod(a.socket, 0o777))
	t.Cleanup(func() { _ = udp.Close() })
	go func() {
		if _, _, err := udp.ReadFrom(make([]byte, 10)); err == nil {
			a.reached.Add(1)
		}
	}()
	a.leaked, err = syscall.Open(a.secret, syscall.O_RDONLY, 0)
	a.must(err)
	t.Cleanup(func() { _ = syscall.Close(a.leaked) })
	return a
}

// listen listens at the same port for streams and for datagrams: at one that no other program has for either.
func (a *Arena) listen() (net.Listener, net.PacketConn) {
	a.t.Helper()
	for tries := 0; ; tries++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		a.must(err)
		udp, err := net.ListenPacket("udp", l.Addr().String())
		if err == nil {
			_, a.port, err = net.SplitHostPort(l.Addr().String())
			a.must(err)
			return l, udp
		}
		_ = l.Close()
		if tries == 20 {
			a.t.Fatal(err)
		}
	}
}

func (a *Arena) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// Fill returns the text of an attack with the names of this arena.
func (a *Arena) Fill(text string) string {
	return strings.NewReplacer("SECRET", a.secret, "OUTSIDE", a.Outside, "VICTIM", strconv.Itoa(a.victim.Process.Pid), "PORT", a.port, "SOCKET", a.socket, "ABSTRACT", a.abstract[1:],
		"LEAKED", strconv.Itoa(a.leaked), "MARK", a.mark, "CALLER", strconv.Itoa(os.Getpid())).Replace(text)
}

// Damage returns what an attack with that output has achieved, or "". What it has left behind is removed.
func (a *Arena) Damage(out string) string {
	a.t.Helper()
	var list []string
	found := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if strings.Contains(out, a.token) {
		found("the output holds the secret")
	}
	if strings.Contains(out, "ESCAPED") {
		found("a refused call has succeeded")
	}
	data, err := os.ReadFile(a.secret)
	if err != nil || string(data) != a.token {
		found("the secret is %q (%v)", data, err)
	}
	if info, err := os.Stat(a.secret); err == nil && (info.Mode().Perm() != 0o666 || !info.ModTime().Equal(a.modified)) {
		found("the secret has mode %v, changed %v", info.Mode(), info.ModTime())
	}
	if entries, err := os.ReadDir(a.Outside); err != nil || len(entries) != 4 { // the workspace, the home, the secret, the socket
		found("outside there are %v (%v)", entries, err)
	}
	if entries, err := os.ReadDir(filepath.Join(a.Outside, "home")); err != nil || len(entries) != 0 {
		found("the home has %v (%v)", entries, err)
	}
	for _, dir := range []string{"/tmp", "/dev/shm", "/var/tmp"} {
		if os.Remove(filepath.Join(dir, "awaken-"+a.mark)) == nil {
			found("a file is in %s", dir)
		}
	}
	if n := a.reached.Load(); n > 0 {
		found("a socket was reached")
	}
	if state := a.victimState(); state != "S" && state != "R" && state != "D" {
		found("the victim is in state %q", state)
	}
	for _, pid := range a.survivors() {
		found("process %d survives", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return strings.Join(list, "; ")
}

// victimState returns the state of the process, as the kernel calls it.
func (a *Arena) victimState() string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.victim.Process.Pid))
	if err != nil {
		return "gone"
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// survivors lists the processes that sleep for the mark.
func (a *Arena) survivors() (pids []int) {
	proc, err := os.Open("/proc")
	a.must(err)
	defer func() { _ = proc.Close() }()
	names, err := proc.Readdirnames(-1)
	a.must(err)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // it is no process
		}
		if data, _ := os.ReadFile("/proc/" + name + "/cmdline"); string(data) == "sleep\x00"+a.mark+"\x00" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Unconfined runs an attack as this process's user, without a sandbox, and returns its output.
func (a *Arena) Unconfined(text string) string {
	out, err := os.CreateTemp("", "awaken-arena-out-") // a pipe would be waited for, if a process survives
	a.must(err)
	defer func() { _, _ = os.Remove(out.Name()), out.Close() }()
	cmd := exec.Command("/bin/bash", "-c", a.Fill(text))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = a.Dir, a.Env, out, out
	_ = cmd.Run()
	data, err := os.ReadFile(out.Name())
	a.must(err)
	return string(data)
}
