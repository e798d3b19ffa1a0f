//go:build unix

package stalltest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// machine notes how long the machine makes anything wait, whatever the program does.
type machine struct {
	mu          sync.Mutex
	woke, wrote time.Duration
}

// watch watches the machine until the test ends.
func watch(t *testing.T) *machine {
	m := &machine{}
	file, err := os.Create(filepath.Join(t.TempDir(), "written"))
	if err != nil {
		t.Fatal(err)
	}
	quit := make(chan struct{})
	var both sync.WaitGroup
	each := func(every time.Duration, note func(late time.Duration)) {
		both.Go(func() {
			for {
				began := time.Now()
				select {
				case <-time.After(every):
					note(time.Since(began) - every)
				case <-quit:
					return
				}
			}
		})
	}
	each(5*time.Millisecond, func(late time.Duration) {
		m.mu.Lock()
		m.woke = max(m.woke, late)
		m.mu.Unlock()
	})
	each(50*time.Millisecond, func(time.Duration) {
		began := time.Now()
		_, _ = file.WriteAt([]byte("x"), 0)
		_ = file.Sync()
		m.mu.Lock()
		m.wrote = max(m.wrote, time.Since(began))
		m.mu.Unlock()
	})
	t.Cleanup(func() { close(quit); both.Wait(); _ = file.Close() })
	return m
}

// worst returns the latest wake-up and the slowest write since the last call.
func (m *machine) worst() (woke, wrote time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	woke, wrote = m.woke, m.wrote
	m.woke, m.wrote = 0, 0
	return woke, wrote
}
