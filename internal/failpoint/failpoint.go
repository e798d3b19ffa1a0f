// Package failpoint names points between the steps of a durable change, so that a test can
// kill the process exactly there.
//
// Failpoints are always compiled in. While they are disabled, a Hit costs one atomic load. A
// test enables a failpoint in another process through the environment. This kills the process
// at the third hit of commit.before:
//
//	AWAKEN_FAILPOINT=commit.before:3 awaken run …
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

// A Point is a named failpoint. Declare points once, as package variables.
type Point struct{ name string }

// New declares a point. It panics if the name is already in use.
func New(name string) Point {
	mu.Lock()
	defer mu.Unlock()
	if slices.Contains(names, name) {
		panic(fmt.Sprintf("failpoint %q is declared twice", name))
	}
	names = append(names, name)
	return Point{name}
}

// Names returns the sorted names of all points that are linked into this process.
func Names() []string {
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(slices.Values(names))
}

// Hit marks that the process has reached the point.
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

// Enable calls fn at every hit, with the number of hits of that point since Enable, until
// disable is called.
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

// EnableFromEnv enables the failpoint in the environment variable AWAKEN_FAILPOINT: name:n
// kills this process at the nth hit of the point. A process calls it once, when it starts.
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
		return fmt.Errorf("AWAKEN_FAILPOINT: point %q not found; available: %q", name, Names())
	}
	Enable(func(hit string, n int) {
		if hit == name && n == at {
			kill()
		}
	})
	return nil
}

// kill ends the process like a power failure: nothing is flushed, closed or logged.
func kill() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = p.Kill()
	}
	select {} // wait for the signal
}
