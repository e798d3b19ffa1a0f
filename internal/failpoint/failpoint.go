// Package failpoint names the places between two steps of a durable change, so that
// a test can stop the process exactly there.
//
// Failpoints are always compiled in. Until one is enabled a Hit is one atomic load.
// A test enables them in another process through the environment:
//
//	AWAKEN_FAILPOINT=commit.before:3 awaken run …
//
// kills that process, without a word, at the third hit of commit.before.
package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

var (
	enabled atomic.Bool
	mu      sync.Mutex
	action  func(name string, hits int) // called while enabled
	counts  = map[string]int{}
	names   []string
)

// A Point is a named place. Declare points once, as package variables.
type Point struct{ name string }

// New declares a point. It panics if the name is taken.
func New(name string) Point {
	mu.Lock()
	defer mu.Unlock()
	if slices.Contains(names, name) {
		panic(fmt.Sprintf("failpoint %q is declared twice", name))
	}
	names = append(names, name)
	return Point{name}
}

// Names lists the points that are linked into this process, sorted.
func Names() []string {
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(slices.Values(names))
}

// Hit says that the process has come to the point.
func (p Point) Hit() {
	if enabled.Load() {
		p.hit()
	}
}

func (p Point) hit() {
	mu.Lock()
	counts[p.name]++
	n, fn := counts[p.name], action
	mu.Unlock()
	if fn != nil {
		fn(p.name, n)
	}
}

// Enable calls fn at every hit until the returned function is called. Counting
// starts anew.
func Enable(fn func(name string, hits int)) (disable func()) {
	mu.Lock()
	action, counts = fn, map[string]int{}
	mu.Unlock()
	enabled.Store(true)
	return func() {
		enabled.Store(false)
		mu.Lock()
		action = nil
		mu.Unlock()
	}
}

// EnableFromEnv enables what the environment variable AWAKEN_FAILPOINT says:
// name:n kills this process at the nth hit of the point. A process calls it once,
// at its start.
func EnableFromEnv() error {
	spec := os.Getenv("AWAKEN_FAILPOINT")
	if spec == "" {
		return nil
	}
	name, num, _ := strings.Cut(spec, ":")
	at, err := strconv.Atoi(num)
	if err != nil || at < 1 {
		return fmt.Errorf("AWAKEN_FAILPOINT is %q, want name:n with n above 0", spec)
	}
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("AWAKEN_FAILPOINT names %q, have %q", name, Names())
	}
	Enable(func(hit string, n int) {
		if hit == name && n == at {
			kill()
		}
	})
	return nil
}

// kill ends the process as a power cut would: nothing is flushed, closed or said.
func kill() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = p.Kill()
	}
	select {} // it takes a moment to die
}
