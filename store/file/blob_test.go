package file_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/blob/blobtest"
	"github.com/awaken-go/awaken/store/file"
)

func TestBlobs(t *testing.T) {
	blobtest.Run(t, func(t *testing.T, now func() time.Time) blobtest.Backend {
		s := open(t, t.TempDir(), &file.Options{Now: now})
		return blobtest.Backend{Store: s, Sweeper: s}
	})
}

// A store that is opened again has its blobs, and not what a dying process left of an upload.
func TestBlobs_AreThereAfterAReopen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	b, err := s.Blobs().Put(t.Context(), "text/plain", bytes.NewReader([]byte("hello")), blob.User("ann"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "blobs", "tmp", "left")
	undescribed := filepath.Join(dir, "blobs", b.ID[:2], blob.NewDigest("a/b").ID())
	for _, name := range []string{left, undescribed} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, nil)
	_, r, err := s.Blobs().Open(t.Context(), b.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); string(data) != "hello" || err != nil {
		t.Errorf("it has %q, %v", data, err)
	}
	for _, name := range []string{left, undescribed} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}
