package bubbletest_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/testenv"
)

func TestTest_RunsOneThreadWithTheRaceDetector(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	want := before
	if testenv.Race {
		want = 1
	}
	t.Run("bubbles", func(t *testing.T) {
		for range 2 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				bubbletest.Test(t, func(t *testing.T) {
					time.Sleep(time.Hour)
					if n := runtime.GOMAXPROCS(0); n != want {
						t.Errorf("%d threads run Go code in a bubble, want %d", n, want)
					}
				})
			})
		}
	})
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d threads run Go code after the last bubble, want %d as before", n, before)
	}
}

// Goroutines that receive at the same moment from timers that have expired crash the runtime of
// the race detector sooner or later, if several threads run them.
func TestTest_SurvivesTimersThatAreReadAtOnce(t *testing.T) {
	for range 20 {
		bubbletest.Test(t, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					timer := time.NewTimer(time.Millisecond)
					for range 50 {
						time.Sleep(2 * time.Millisecond)
						select {
						case <-timer.C:
						default:
							t.Error("a timer has not expired")
						}
						timer.Reset(time.Millisecond)
					}
				})
			}
			wg.Wait()
		})
	}
}

// A test that calls synctest.Test itself fails now and then with the race detector.
func TestSources_UseThisPackage(t *testing.T) {
	files := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bubbletest" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		src, err := os.ReadFile(path)
		if err == nil && bytes.Contains(src, []byte("synctest.Test(")) {
			t.Errorf("%s calls synctest.Test; call bubbletest.Test", path)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("looked at %d tests: %v", files, err)
	}
}
