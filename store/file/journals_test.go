package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func openJournals(t *testing.T, maxOpen int) *journals {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	js := &journals{folder: folder{root: root, fsync: func(*os.File) error { return nil }}, max: maxOpen}
	t.Cleanup(func() { _ = js.closeAll() })
	return js
}

func TestJournals_KeepAtMostMaxOpen(t *testing.T) {
	js := openJournals(t, 2)
	all := make([]*journal, 5)
	for i := range all {
		all[i] = &journal{path: journalPath(fmt.Sprint(i))}
		if err := js.create(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if n := js.open.Len(); n != len(all) {
		t.Errorf("%d journals are open while %d are used", n, len(all))
	}
	for _, j := range all {
		js.put(j)
	}
	if n := js.open.Len(); n != 2 {
		t.Errorf("%d journals are open, want 2", n)
	}
	if _, err := js.get(all[0]); err != nil || all[0].file == nil {
		t.Errorf("a journal that was closed is not opened again: %v", err)
	}
}

func TestJournals_AReaderCanFinishARemovedJournal(t *testing.T) {
	js := openJournals(t, 2)
	j := &journal{path: journalPath("t")}
	if err := js.create(j); err != nil {
		t.Fatal(err)
	}
	if err := js.remove(j); err != nil {
		t.Fatal(err)
	}
	if _, err := j.file.Stat(); err != nil {
		t.Errorf("the file is closed while it is used: %v", err)
	}
	js.put(j)
	if j.file != nil {
		t.Error("the file is open, and has no user")
	}
	if err := os.WriteFile(filepath.Join(js.root.Name(), j.name()), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := js.get(j); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get returns %v: the file is another journal's", err)
	}
}

func TestAppendSealed_ReportsWhetherTheFileIsBroken(t *testing.T) {
	record := append(make([]byte, headerSize), "payload"...)
	if err := seal(record); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	synced := func(*os.File) error { return nil }
	if broken, err := appendSealed(f, "f", 0, record, synced); broken != nil || err != nil {
		t.Fatalf("%v, %v", broken, err)
	}
	at := span{0, int64(len(record))}
	if payload, err := readRecord(f, "f", at); string(payload) != "payload" || err != nil {
		t.Errorf("it holds %q, %v", payload, err)
	}
	failed := errors.New("no disk")
	if broken, err := appendSealed(f, "f", at.end(), record, func(*os.File) error { return failed }); !errors.Is(broken, failed) || !errors.Is(err, failed) {
		t.Errorf("after a sync that failed the file is %v, and the error %v", broken, err)
	}
	readOnly, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	if broken, err := appendSealed(readOnly, "f", at.end(), record, synced); broken == nil || err == nil {
		t.Errorf("after a write that was not taken back the file is %v, and the error %v", broken, err)
	}
}
