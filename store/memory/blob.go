package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
)

// blobs implements [blob.Store].
type blobs struct {
	*records
	now   func() time.Time
	byID  map[string]*file
	held  map[string][]*file // by thread
	total int64
}

// file is a blob with its bytes and what holds it, since when.
type file struct {
	blob.Blob
	data  []byte
	holds map[blob.Holder]time.Time
}

// Blobs returns the blobs of the tenant.
func (s *Store) Blobs() blob.Store { return s.blobs }

// Put stores a blob.
func (s *blobs) Put(ctx context.Context, mediaType string, r io.Reader, h blob.Holder) (*blob.Blob, error) {
	mediaType, err := blob.ParseMediaType(mediaType)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	digest := blob.NewDigest(mediaType)
	data, err := io.ReadAll(io.TeeReader(r, digest))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := digest.ID()
	f := s.byID[id]
	if f == nil {
		f = &file{blob.Blob{ID: id, MediaType: mediaType, Size: int64(len(data)), CreatedAt: s.now().UTC().Truncate(time.Microsecond)}, data, map[blob.Holder]time.Time{}}
		s.byID[id] = f
		s.total += f.Size
	}
	s.hold(f, h, s.now())
	return new(f.Blob), nil
}

// hold makes h hold a blob. The caller holds mu.
func (s *blobs) hold(f *file, h blob.Holder, at time.Time) {
	if _, ok := f.holds[h]; !ok && h.Kind == blob.Threads {
		s.held[h.ID] = append(s.held[h.ID], f)
	}
	f.holds[h] = at
}

// Hold makes h hold blobs.
func (s *blobs) Hold(_ context.Context, h blob.Holder, ids ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if s.byID[id] == nil {
			return blob.NotFound(id)
		}
	}
	for _, id := range ids {
		s.hold(s.byID[id], h, s.now())
	}
	return nil
}

// Open returns a blob and its bytes.
func (s *blobs) Open(_ context.Context, id string) (*blob.Blob, io.ReadSeekCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byID[id]
	if f == nil {
		return nil, nil, blob.NotFound(id)
	}
	return new(f.Blob), reading{bytes.NewReader(f.data)}, nil
}

// reading reads a blob.
type reading struct{ *bytes.Reader }

func (reading) Close() error { return nil }

// Readable reports whether a user may read a blob.
func (s *blobs) Readable(_ context.Context, id, user string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byID[id]
	return f != nil && s.readable(f, user), nil
}

func (s *blobs) readable(f *file, user string) bool {
	for h := range f.holds {
		switch h.Kind {
		case blob.Users:
			if h.ID == user {
				return true
			}
		case blob.Threads:
			if t := s.threads[h.ID]; t != nil && t.Thread.UserID == user {
				return true
			}
		}
	}
	return false
}

// List returns one page of blobs.
func (s *blobs) List(_ context.Context, q blob.Query) ([]*blob.Blob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := func(a, b *blob.Blob) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	}
	var out []*blob.Blob
	for _, f := range s.byID {
		if (q.User == nil || s.readable(f, *q.User)) && (q.Before == nil || newest(q.Before, &f.Blob) < 0) {
			out = append(out, new(f.Blob))
		}
	}
	slices.SortFunc(out, newest)
	return out[:min(len(out), cmp.Or(q.Limit, 50))], nil
}

// Total returns how many bytes the blobs of the tenant take.
func (s *blobs) Total(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, nil
}

// inherit makes a fork hold what its original holds. The caller holds mu.
func (s *blobs) inherit(from, to string) {
	for _, f := range s.held[from] {
		s.hold(f, blob.Thread(to), f.holds[blob.Thread(from)])
	}
}

// release removes the holds of a deleted thread. The caller holds mu.
func (s *blobs) release(threadID string) {
	for _, f := range s.held[threadID] {
		delete(f.holds, blob.Thread(threadID))
	}
	delete(s.held, threadID)
}

// drop removes the hold of a thread on one blob. The caller holds mu.
func (s *blobs) drop(f *file, threadID string) {
	delete(f.holds, blob.Thread(threadID))
	if s.held[threadID] = slices.DeleteFunc(s.held[threadID], func(x *file) bool { return x == f }); len(s.held[threadID]) == 0 {
		delete(s.held, threadID)
	}
}

// SweepBlobs removes the blobs of all tenants that are held no more.
func (db *DB) SweepBlobs(_ context.Context, r blob.Retention) (removed int, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.Now()
	uploads, pending := now.Add(-r.Uploads), now.Add(-r.Pending)
	for _, s := range db.tenants {
		for id, f := range s.blobs.byID {
			for h, at := range f.holds {
				switch {
				case h.Kind == blob.Users && at.Before(uploads):
					delete(f.holds, h)
				case h.Kind == blob.Threads && at.Before(pending) && s.blobs.threads[h.ID] == nil:
					s.blobs.drop(f, h.ID)
				}
			}
			if len(f.holds) == 0 && f.CreatedAt.Before(pending) {
				delete(s.blobs.byID, id)
				s.blobs.total -= f.Size
				removed++
			}
		}
	}
	return removed, nil
}
