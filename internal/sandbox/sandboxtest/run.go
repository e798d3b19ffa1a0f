//go:build linux && (amd64 || arm64)

package sandboxtest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

// Run makes attacks, several at a time, each in a test of its own, and fails the test if one does damage. It calls run, which runs a
// command in the arena's folder and returns its output. Short tests make every second attack, of either the even or the odd ones.
func Run(t *testing.T, odd bool, run func(t *testing.T, a *Arena, attack Attack) string) {
	list := Attacks()
	var made, escapes atomic.Int64
	each(t, list, func(t *testing.T, i int, at Attack) {
		if !testenv.Long() && odd != (i%2 == 1) {
			return
		}
		made.Add(1)
		a := NewArena(t)
		out := run(t, a, at)
		if damage := a.Damage(out); damage != "" {
			escapes.Add(1)
			t.Errorf("%s: %s: %.500s", at.Text, damage, out)
		}
	})
	t.Logf("%d attacks, %d escapes", made.Load(), escapes.Load())
	if len(list) < 120 {
		t.Errorf("%d attacks, want at least 120", len(list))
	}
}

// Control makes the attacks without a sandbox that are safe to show, and fails the test if one does no damage: it would show nothing. Short
// tests make every fourth of them.
func Control(t *testing.T) {
	root, shown := isRoot(), atomic.Int64{}
	each(t, Attacks(), func(t *testing.T, i int, at Attack) {
		if !testenv.Long() && i%4 != 0 || !at.Shown && !(at.ByRoot && root) || !has(at.Text) {
			return
		}
		a := NewArena(t)
		out := a.Unconfined(at.Text)
		shown.Add(1)
		damage := a.Damage(out)
		for tries := 0; damage == "" && tries < 100; tries++ { // processes and sockets take a moment
			time.Sleep(50 * time.Millisecond)
			damage = a.Damage(out)
		}
		if damage == "" {
			t.Errorf("%s: does nothing without a sandbox: %.500s", at.Text, out)
		}
	})
	t.Logf("%d attacks succeed without a sandbox", shown.Load())
}

// isRoot reports whether this process has all rights that attacks of root need: in a container, it may not.
func isRoot() bool {
	data, _ := os.ReadFile("/proc/self/status")
	_, caps, _ := strings.Cut(string(data), "CapEff:")
	caps, _, _ = strings.Cut(strings.TrimSpace(caps), "\n")
	n, _ := strconv.ParseUint(caps, 16, 64)
	const most = 1<<0 | 1<<1 | 1<<3 | 1<<7 | 1<<18 | 1<<19 | 1<<21 | 1<<27 // chown, dac_override, fowner, setuid, chroot, ptrace, admin, mknod
	return os.Geteuid() == 0 && n&most == most
}

// has reports whether the system has the program that an attack begins with.
func has(text string) bool {
	program, _, _ := strings.Cut(text, " ")
	switch program {
	case "python3", "renice", "taskset", "prlimit", "ionice", "chrt", "setsid", "unshare", "nsenter":
		_, err := exec.LookPath(program)
		return err == nil
	}
	return true
}

// each calls f for all attacks, four at a time. What an attack needs is removed when it is over: the next ones look at all processes.
func each(t *testing.T, list []Attack, f func(*testing.T, int, Attack)) {
	var wg sync.WaitGroup
	work := make(chan int)
	for range 4 {
		wg.Go(func() {
			for i := range work {
				t.Run(strconv.Itoa(i), func(t *testing.T) { f(t, i, list[i]) })
			}
		})
	}
	for i := range list {
		work <- i
	}
	close(work)
	wg.Wait()
}
