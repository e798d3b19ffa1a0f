//go:build unix

package file_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/store/file"
)

// disk records what was synced: the bytes of each file and the names in each folder. Only
// that survives a power cut, the minimum that POSIX guarantees.
type disk struct {
	testing.TB
	top string // its name always survives

	mu    sync.Mutex
	fail  int                          // a countdown: the sync of a file fails when it reaches 1
	bytes map[uint64][]byte            // by inode
	names map[uint64]map[string]uint64 // of a folder's inode
	mode  map[uint64]os.FileMode       // of each inode that has a name
}

func newDisk(t testing.TB) *disk {
	return &disk{TB: t, top: t.TempDir(), bytes: map[uint64][]byte{}, names: map[uint64]map[string]uint64{}, mode: map[uint64]os.FileMode{}}
}

func (d *disk) inode(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

func (d *disk) sync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if d.fail > 0 {
			if d.fail--; d.fail == 0 {
				return errDisk
			}
		}
		buf := make([]byte, info.Size())
		if _, err := f.ReadAt(buf, 0); err != nil && info.Size() > 0 {
			// The handle may be write-only; then the file has one name.
			if buf, err = os.ReadFile(f.Name()); err != nil {
				return err
			}
		}
		d.bytes[d.inode(info)] = buf
		return nil
	}
	// A second handle, since reading names moves the position.
	list, err := os.ReadDir(f.Name())
	if err != nil {
		return err
	}
	names := map[string]uint64{}
	for _, e := range list {
		child, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		names[e.Name()] = d.inode(child)
		d.mode[d.inode(child)] = child.Mode()
	}
	d.names[d.inode(info)] = names
	return nil
}

// afterPowerCut returns a folder with what would survive a power cut now.
func (d *disk) afterPowerCut() string {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(d.top)
	if err != nil {
		d.Fatal(err)
	}
	to := d.TempDir()
	d.restore(to, d.inode(info))
	return to
}

func (d *disk) restore(to string, folder uint64) {
	for name, inode := range d.names[folder] {
		path := filepath.Join(to, name)
		if d.mode[inode].IsDir() {
			if err := os.Mkdir(path, 0o700); err != nil {
				d.Fatal(err)
			}
			d.restore(path, inode)
			continue
		}
		if err := os.WriteFile(path, d.bytes[inode], 0o600); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *disk) open(dir string) *file.Store {
	d.Helper()
	s, err := file.OpenSyncing(filepath.Join(d.top, dir), nil, d.sync)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = s.Close() })
	return s
}

// An acknowledged change survives a power cut, and the state before it does not come back.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	dir := filepath.Join("new", "folder")
	s := d.open(dir)
	for _, st := range crashSteps() {
		st.do(t, s)
		want := dumpDir(t, cloned(t, filepath.Join(d.top, dir)))
		if got := dumpDir(t, filepath.Join(d.afterPowerCut(), dir)); got != want {
			t.Fatalf("%s: after a power cut it is\n%s\nwant\n%s", st.name, got, want)
		}
	}
}

// What a store returns after its predecessor died is on disk, since readers rely on it.
func TestPowerCut_AfterACrash(t *testing.T) {
	t.Parallel()
	for fail := 1; fail < 20; fail++ {
		d := newDisk(t)
		s := d.open("s")
		d.fail = fail // the process dies after the write, before the sync
		func() {
			defer func() {
				if r := recover(); r != nil && r != errStopped {
					panic(r)
				}
			}()
			for _, st := range crashSteps() {
				st.do(stopper{t}, s)
			}
		}()
		s.Abandon()
		s = d.open("s")
		got := dumpDir(t, filepath.Join(d.afterPowerCut(), "s"))
		if want := dumpDir(t, cloned(t, filepath.Join(d.top, "s"))); got != want {
			t.Fatalf("sync %d: after a power cut it is\n%s\nwant\n%s", fail, got, want)
		}
		// The store stays writable.
		acquire(t, s, "another", "r99").commit(nil, "more")
		want := dumpDir(t, cloned(t, filepath.Join(d.top, "s")))
		if got := dumpDir(t, filepath.Join(d.afterPowerCut(), "s")); got != want {
			t.Fatalf("sync %d: then after a power cut it is\n%s\nwant\n%s", fail, got, want)
		}
	}
}

var errStopped = errors.New("stopped")

// stopper panics at the first error.
type stopper struct{ testing.TB }

func (stopper) Fatal(...any)          { panic(errStopped) }
func (stopper) Fatalf(string, ...any) { panic(errStopped) }

func TestPowerCut_Profile(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	p := d.open("s").Profile()
	check := func(what, namespace, key, want string) {
		t.Helper()
		cut, err := file.OpenUnsynced(filepath.Join(d.afterPowerCut(), "s"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer cut.Close()
		e, err := cut.Profile().Get(t.Context(), namespace, key)
		got := ""
		if e != nil {
			got = string(e.Value)
		}
		if err != nil || got != want {
			t.Fatalf("%s: after a power cut the entry is %q, %v, want %q", what, got, err, want)
		}
	}
	// A predecessor died before it synced the folder that it created.
	if err := os.MkdirAll(filepath.Join(d.top, "s", "profiles", "early"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, namespace := range []string{"early", "late", "late"} {
		value := fmt.Sprint(i)
		if err := p.Set(t.Context(), namespace, "k", json.RawMessage(value)); err != nil {
			t.Fatal(err)
		}
		check("set in "+namespace, namespace, "k", value)
	}
	// Another died after it removed an entry, before the sync.
	if err := os.Remove(filepath.Join(d.top, "s", "profiles", "early", "k.json")); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"early", "late", "none"} {
		if err := p.Delete(t.Context(), namespace, "k"); err != nil {
			t.Fatal(err)
		}
		check("delete in "+namespace, namespace, "k", "")
	}
}

// A thread that is deleted and recreated again and again exists or not; readers never get
// content of an earlier journal of the same name.
func TestDelete_WhileOthersRead(t *testing.T) {
	t.Parallel()
	s := quick(t, t.TempDir(), &file.Options{Cache: -1, Files: 1, NoCopies: true})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	read := func(fn func() error) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := fn(); err != nil && !errors.Is(err, awaken.ErrNotFound) {
					t.Error(err)
					return
				}
			}
		})
	}
	ctx := t.Context()
	read(func() error { _, err := s.LoadRun(ctx, "r"); return err })
	read(func() error { _, err := s.Calls(ctx, "r"); return err })
	read(func() error { _, err := s.Messages(ctx, "t", awaken.MessageQuery{}); return err })
	read(func() error { _, err := s.Entries(ctx, "t", awaken.EntryQuery{}); return err })
	read(func() error { _, err := s.ListRuns(ctx, awaken.RunQuery{}); return err })
	for i := range testenv.Times(50, 150) {
		o := acquire(t, s, "t", "r")
		for range i % 4 {
			o.commit(nil, fmt.Sprintf("%*d", 1+i%50, i))
		}
		o.commit(done, "end")
		if err := s.DeleteThread(ctx, "t", awaken.DetachChildren); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}
