package file

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/ids"
)

const blobsDir = "blobs"

// blobs implements [blob.Store] and [blob.Sweeper]: for each blob a file with its bytes, and one that
// describes it and says what holds it. The second is written last and removed first: a blob exists
// while it does.
type blobs struct {
	gate   *gate
	folder *folder
	table  *table // of threads
	now    func() time.Time

	mu     sync.Mutex // guards everything below; taken before table.mu
	loaded bool
	byID   map[string]*heldBlob
	total  int64
}

// heldBlob is the description of a blob, as its file has it.
type heldBlob struct {
	blob.Blob
	Holds []blobHold `json:"holds"`
}

// blobHold is what holds a blob, since when.
type blobHold struct {
	Kind blob.Kind `json:"kind"`
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
}

// hold adds a holder, or makes it hold anew.
func (b *heldBlob) hold(h blob.Holder, at time.Time) {
	b.Holds = append(slices.DeleteFunc(slices.Clone(b.Holds), func(x blobHold) bool { return x.Kind == h.Kind && x.ID == h.ID }), blobHold{h.Kind, h.ID, at})
}

func blobPath(id string) string { return blobsDir + "/" + id[:2] + "/" + id }

// Blobs returns the blobs of the store.
func (s *Store) Blobs() blob.Store { return s.files }

// SweepBlobs removes blobs that are held no more.
func (s *Store) SweepBlobs(ctx context.Context, r blob.Retention) (int, error) {
	return s.files.sweep(ctx, r)
}

// enter begins a method, which ends with leave. It reads the descriptions if none has.
func (s *blobs) enter() error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.load(); err != nil {
		s.leave()
		return err
	}
	return nil
}

func (s *blobs) leave() {
	s.mu.Unlock()
	s.gate.leave()
}

// load reads the descriptions, once, and removes what a dying process left behind.
func (s *blobs) load() error {
	if s.loaded {
		return nil
	}
	s.byID, s.total = map[string]*heldBlob{}, 0
	dirs, err := s.folder.list(blobsDir)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		names, err := s.folder.list(blobsDir + "/" + dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := s.loadOne(blobsDir+"/"+dir+"/"+name, slices.Contains(names, name+".json")); err != nil {
				return err
			}
		}
	}
	s.loaded = true
	return nil
}

// loadOne reads a file. Bytes that are not described belong to no blob.
func (s *blobs) loadOne(name string, described bool) error {
	id, ok := strings.CutSuffix(path.Base(name), ".json")
	switch {
	case !ok && described:
		return nil
	case !ok || !blob.IsID(id):
		return s.folder.root.Remove(name)
	}
	data, err := s.folder.root.ReadFile(name)
	if err != nil {
		return err
	}
	var b heldBlob
	if err := json.Unmarshal(data, &b); err != nil || b.ID != id {
		return fmt.Errorf("%s does not describe blob %s: %w", name, id, err)
	}
	s.byID[id] = &b
	s.total += b.Size
	return nil
}

// Put stores a blob. The bytes are written and synced before the lock is taken.
func (s *blobs) Put(ctx context.Context, mediaType string, r io.Reader, h blob.Holder) (*blob.Blob, error) {
	mediaType, err := blob.ParseMediaType(mediaType)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	if err := s.enter(); err != nil { // the first use removes what is left of uploads
		return nil, err
	}
	s.leave()
	if err := s.gate.enter(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	digest := blob.NewDigest(mediaType)
	tmp := blobsDir + "/tmp/" + ids.New()
	size, err := s.write(ctx, tmp, io.TeeReader(r, digest))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := digest.ID()
	b := &heldBlob{Blob: blob.Blob{ID: id, MediaType: mediaType, Size: size, CreatedAt: s.now().UTC().Truncate(time.Microsecond)}}
	if old := s.byID[id]; old != nil {
		b = new(*old)
		err = s.folder.root.Remove(tmp)
	} else if err = s.folder.root.MkdirAll(path.Dir(blobPath(id)), dirMode); err == nil {
		if err = s.folder.root.Rename(tmp, blobPath(id)); err == nil {
			err = errors.Join(s.folder.syncDir(blobsDir), s.folder.syncDir("."))
		}
	}
	if err != nil {
		return nil, err
	}
	b.hold(h, s.now())
	return new(b.Blob), s.save(b)
}

// write writes and syncs a file, and returns its size. It removes the file if it fails.
func (s *blobs) write(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	if err := s.folder.root.MkdirAll(path.Dir(name), dirMode); err != nil {
		return 0, err
	}
	w, err := s.folder.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return 0, err
	}
	if size, err = io.Copy(w, r); err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = s.folder.fsync(w)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		_ = s.folder.root.Remove(name)
	}
	return size, err
}

// save writes the description of a blob. Requires mu.
func (s *blobs) save(b *heldBlob) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := s.folder.replace(blobPath(b.ID)+".json", append(bytes.TrimSpace(data), '\n')); err != nil {
		return err
	}
	if s.byID[b.ID] == nil {
		s.total += b.Size
	}
	s.byID[b.ID] = b
	return nil
}

// Hold makes h hold blobs.
func (s *blobs) Hold(_ context.Context, h blob.Holder, ids ...string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	for _, id := range ids {
		if s.byID[id] == nil {
			return blob.NotFound(id)
		}
	}
	for _, id := range ids {
		b := new(*s.byID[id])
		b.hold(h, s.now())
		if err := s.save(b); err != nil {
			return err
		}
	}
	return nil
}

// Open returns a blob and its bytes.
func (s *blobs) Open(_ context.Context, id string) (*blob.Blob, io.ReadSeekCloser, error) {
	if err := s.enter(); err != nil {
		return nil, nil, err
	}
	defer s.leave()
	b := s.byID[id]
	if b == nil {
		return nil, nil, blob.NotFound(id)
	}
	f, err := s.folder.root.Open(blobPath(id))
	if err != nil {
		return nil, nil, err
	}
	return new(b.Blob), f, nil
}

// Readable reports whether a user may read a blob.
func (s *blobs) Readable(_ context.Context, id, user string) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	b := s.byID[id]
	return b != nil && s.readable(b, user), nil
}

func (s *blobs) readable(b *heldBlob, user string) bool {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return slices.ContainsFunc(b.Holds, func(h blobHold) bool {
		if h.Kind == blob.Users {
			return h.ID == user
		}
		t, err := s.table.find(h.ID)
		return err == nil && t.UserID == user
	})
}

// List returns one page of blobs.
func (s *blobs) List(_ context.Context, q blob.Query) ([]*blob.Blob, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	newest := func(a, b *blob.Blob) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	}
	var out []*blob.Blob
	for _, b := range s.byID {
		if (q.User == nil || s.readable(b, *q.User)) && (q.Before == nil || newest(q.Before, &b.Blob) < 0) {
			out = append(out, new(b.Blob))
		}
	}
	slices.SortFunc(out, newest)
	return out[:min(len(out), cmp.Or(q.Limit, 50))], nil
}

// Total returns how many bytes the blobs take.
func (s *blobs) Total(context.Context) (int64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	return s.total, nil
}

// inherit makes a fork hold what its original holds. The caller has entered the gate.
func (s *blobs) inherit(from, to string) error {
	return s.change(func(b *heldBlob) bool {
		for _, h := range b.Holds {
			if h.Kind == blob.Threads && h.ID == from {
				b.hold(blob.Thread(to), h.At)
				return true
			}
		}
		return false
	})
}

// release removes the holds of a deleted thread. The caller has entered the gate.
func (s *blobs) release(threadID string) error {
	return s.change(func(b *heldBlob) bool {
		n := len(b.Holds)
		b.Holds = slices.DeleteFunc(slices.Clone(b.Holds), func(h blobHold) bool { return h.Kind == blob.Threads && h.ID == threadID })
		return len(b.Holds) < n
	})
}

// change saves the descriptions that f changes.
func (s *blobs) change(f func(b *heldBlob) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return err
	}
	for _, b := range s.byID {
		if own := new(*b); f(own) {
			if err := s.save(own); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep removes holds that are over, and blobs without a hold.
func (s *blobs) sweep(ctx context.Context, r blob.Retention) (removed int, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	now := s.now()
	uploads, pending := now.Add(-r.Uploads), now.Add(-r.Pending)
	for id, b := range s.byID {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		own := new(*b)
		own.Holds = slices.DeleteFunc(slices.Clone(b.Holds), func(h blobHold) bool {
			return h.Kind == blob.Users && h.At.Before(uploads) || h.Kind == blob.Threads && h.At.Before(pending) && !s.exists(h.ID)
		})
		switch {
		case len(own.Holds) == 0 && b.CreatedAt.Before(pending):
			if err := s.folder.root.Remove(blobPath(id) + ".json"); err != nil {
				return removed, err
			}
			_ = s.folder.root.Remove(blobPath(id)) // bytes that are not described are removed when the store is opened
			delete(s.byID, id)
			s.total -= b.Size
			removed++
		case len(own.Holds) < len(b.Holds):
			if err := s.save(own); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

func (s *blobs) exists(threadID string) bool {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	_, err := s.table.find(threadID)
	return err == nil
}
