// Package blobtest tests implementations of [blob.Store].
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
)

// Backend is a store to test: that of a tenant, that of another, and what removes their blobs.
type Backend struct {
	Store, Other interface {
		blob.Keeper
		awaken.ThreadEditor
	}
	Sweeper blob.Sweeper
}

// retention is what the tests sweep with.
var retention = blob.Retention{Uploads: 24 * time.Hour, Pending: time.Hour}

// clock is the clock of a store under test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Run tests the promises of [blob.Store] and [blob.Sweeper]. Open returns an empty backend that tells
// the time by now.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) Backend) {
	for name, test := range map[string]func(t *testing.T, b Backend, c *clock){
		"Sizes": sizes, "SameBytes": sameBytes, "Unknown": unknown, "FailedUpload": failedUpload, "SlowUpload": slowUpload, "Seek": seek, "Tenants": tenants,
		"Users": users, "Pages": pages, "Retention": kept, "Threads": threads, "PendingThread": pendingThread, "Concurrent": concurrent,
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{now: time.UnixMilli(1_700_000_000_000)}
			test(t, open(t, c.Now), c)
		})
	}
}

// data returns n bytes that depend on seed.
func data(seed byte, n int) []byte {
	out := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{seed})
	rng.Read(out)
	return out
}

func put(t *testing.T, s blob.Store, mediaType string, data []byte, h blob.Holder) *blob.Blob {
	t.Helper()
	b, err := s.Put(t.Context(), mediaType, io.MultiReader(bytes.NewReader(data)), h)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// content returns the bytes of a blob, or nil if it does not exist.
func content(t *testing.T, s blob.Store, id string) []byte {
	t.Helper()
	b, r, err := s.Open(t.Context(), id)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := io.ReadAll(r)
	if err != nil || int64(len(out)) != b.Size {
		t.Fatalf("blob %s has %d bytes and says %d, %v", id, len(out), b.Size, err)
	}
	return out
}

// sizes: blobs of every size come back as they were, around the sizes at which stores split them.
func sizes(t *testing.T, b Backend, _ *clock) {
	s := b.Store.Blobs()
	total := int64(0)
	for i, n := range []int{0, 1, 1000, 64<<10 - 1, 64 << 10, 64<<10 + 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 512 << 10, 3<<20 + 7} {
		want := data(byte(i), n)
		got := put(t, s, "Image/PNG", want, blob.User("ann"))
		if got.Size != int64(n) || got.MediaType != "image/png" || !blob.IsID(got.ID) || got.CreatedAt.IsZero() {
			t.Fatalf("%d bytes were stored as %+v", n, got)
		}
		if have := content(t, s, got.ID); have == nil || !bytes.Equal(have, want) {
			t.Fatalf("%d bytes came back as %d others", n, len(have))
		}
		total += int64(n)
	}
	if n, err := s.Total(t.Context()); n != total || err != nil {
		t.Errorf("Total returned %d, %v, want %d", n, err, total)
	}
}

// sameBytes: the same bytes of the same type are one blob; of another type they are another.
func sameBytes(t *testing.T, b Backend, c *clock) {
	s := b.Store.Blobs()
	for i, n := range []int{10, 300 << 10} {
		first := put(t, s, "text/plain", data(byte(i), n), blob.User("ann"))
		c.advance(time.Minute)
		again := put(t, s, "text/plain", data(byte(i), n), blob.User("bob"))
		if again.ID != first.ID || !again.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("the same bytes are %+v and %+v", first, again)
		}
		if other := put(t, s, "text/html", data(byte(i), n), blob.User("ann")); other.ID == first.ID {
			t.Error("two types share a blob")
		}
		if content(t, s, first.ID) == nil {
			t.Error("the blob is gone")
		}
	}
	if n, err := s.Total(t.Context()); n != 2*10+2*(300<<10) || err != nil {
		t.Errorf("Total returned %d, %v", n, err)
	}
}

// unknown: what does not exist is ErrNotFound, and a type that is none is refused.
func unknown(t *testing.T, b Backend, _ *clock) {
	s, ctx := b.Store.Blobs(), t.Context()
	there := put(t, s, "text/plain", []byte("x"), blob.User("ann"))
	for _, id := range []string{"", "x", "../../etc/passwd", "\x00", blob.NewDigest("text/plain").ID()} {
		if _, _, err := s.Open(ctx, id); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("Open(%q) returned %v", id, err)
		}
		if err := s.Hold(ctx, blob.Thread("t"), there.ID, id); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("Hold(%q) returned %v", id, err)
		}
		if ok, err := s.Readable(ctx, id, "ann"); ok || err != nil {
			t.Errorf("Readable(%q) returned %t, %v", id, ok, err)
		}
	}
	for _, mt := range []string{"", "png", "image/", "*/*", "image/png; charset", "a/b\x00"} {
		if _, err := s.Put(ctx, mt, bytes.NewReader(nil), blob.User("")); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("Put of type %q returned %v", mt, err)
		}
	}
	if err := b.Store.CreateThread(ctx, &awaken.Thread{ID: "t", UserID: "bob"}); err != nil {
		t.Fatal(err)
	}
	if ok, _ := s.Readable(ctx, there.ID, "bob"); ok {
		t.Error("a hold that failed holds some blobs")
	}
}

// failedUpload: an upload that breaks off stores nothing, and its parts are swept.
func failedUpload(t *testing.T, b Backend, c *clock) {
	s := b.Store.Blobs()
	broken := errors.New("broken")
	for _, n := range []int{10, 1 << 20} {
		_, err := s.Put(t.Context(), "text/plain", io.MultiReader(bytes.NewReader(data(1, n)), failing{broken}), blob.User("ann"))
		if !errors.Is(err, broken) {
			t.Errorf("an upload that broke off returned %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Put(ctx, "text/plain", io.MultiReader(bytes.NewReader(data(2, 1<<20)), after{cancel}, bytes.NewReader(data(3, 1<<20))), blob.User("ann"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled upload returned %v", err)
	}
	if n, err := s.Total(t.Context()); n != 0 || err != nil {
		t.Errorf("Total returned %d, %v", n, err)
	}
	c.advance(2 * retention.Pending)
	if n, err := b.Sweeper.SweepBlobs(t.Context(), retention); n != 0 || err != nil {
		t.Errorf("SweepBlobs returned %d, %v", n, err)
	}
}

// slowUpload: an upload may take longer than unfinished ones are kept. One that stops for so long is
// stored whole or not at all, and can be made again.
func slowUpload(t *testing.T, b Backend, c *clock) {
	s := b.Store.Blobs()
	for seed, pause := range []time.Duration{retention.Pending * 2 / 3, 2 * retention.Pending} {
		want := data(byte(seed), 1<<20)
		var from []io.Reader
		for i := 0; i < len(want); i += 300 << 10 {
			from = append(from, bytes.NewReader(want[i:min(i+300<<10, len(want))]), after{func() {
				c.advance(pause)
				sweep(t, b, 0)
			}})
		}
		_, err := s.Put(t.Context(), "text/plain", io.MultiReader(from...), blob.Thread("t"))
		if err != nil && pause < retention.Pending {
			t.Errorf("a slow upload failed: %v", err)
		}
		got := put(t, s, "text/plain", want, blob.User("ann"))
		if !bytes.Equal(content(t, s, got.ID), want) {
			t.Errorf("what was uploaded with pauses of %s has other bytes", pause)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// after calls a function when it is read, and is empty.
type after struct{ f func() }

func (a after) Read([]byte) (int, error) { a.f(); return 0, io.EOF }

// seek: a reader starts at any place.
func seek(t *testing.T, b Backend, _ *clock) {
	s := b.Store.Blobs()
	for _, n := range []int{100, 700 << 10} {
		want := data(1, n)
		_, r, err := s.Open(t.Context(), put(t, s, "video/mp4", want, blob.User("ann")).ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{0, 1, int64(n) / 2, int64(n) - 1, int64(n), int64(n) + 10} {
			if got, err := r.Seek(at, io.SeekStart); got != at || err != nil {
				t.Fatalf("Seek(%d) returned %d, %v", at, got, err)
			}
			got, err := io.ReadAll(r)
			if rest := want[min(at, int64(n)):]; err != nil || !bytes.Equal(got, rest) {
				t.Fatalf("from %d on there are %d bytes, %v, want %d", at, len(got), err, len(rest))
			}
		}
		if end, err := r.Seek(-10, io.SeekEnd); end != int64(n)-10 || err != nil {
			t.Errorf("Seek from the end returned %d, %v", end, err)
		}
		if _, err := r.Seek(-1, io.SeekStart); err == nil {
			t.Error("a place before the start is accepted")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// tenants: a tenant does not see the blobs of another.
func tenants(t *testing.T, b Backend, _ *clock) {
	if b.Other == nil {
		t.Skip("the store has one tenant")
	}
	s, other := b.Store.Blobs(), b.Other.Blobs()
	id := put(t, s, "text/plain", []byte("secret"), blob.User("ann")).ID
	if content(t, other, id) != nil {
		t.Error("another tenant reads it")
	}
	if err := other.Hold(t.Context(), blob.User("ann"), id); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("another tenant holds it: %v", err)
	}
	if list, err := other.List(t.Context(), blob.Query{}); len(list) > 0 || err != nil {
		t.Errorf("another tenant lists %d, %v", len(list), err)
	}
}

// users: a user reads what the user, or a thread of the user, holds.
func users(t *testing.T, b Backend, _ *clock) {
	s, ctx := b.Store.Blobs(), t.Context()
	for _, th := range []awaken.Thread{{ID: "of-bob", UserID: "bob"}, {ID: "of-none"}} {
		if err := b.Store.CreateThread(ctx, &th); err != nil {
			t.Fatal(err)
		}
	}
	mine := put(t, s, "text/plain", []byte("1"), blob.User("ann")).ID
	shared := put(t, s, "text/plain", []byte("2"), blob.User("ann")).ID
	if err := s.Hold(ctx, blob.Thread("of-bob"), shared); err != nil {
		t.Fatal(err)
	}
	if err := s.Hold(ctx, blob.Thread("of-none"), shared); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, id string
		want     bool
	}{{"ann", mine, true}, {"bob", mine, false}, {"", mine, false}, {"ann", shared, true}, {"bob", shared, true}, {"", shared, true}, {"of-bob", shared, false}} {
		if ok, err := s.Readable(ctx, c.id, c.user); ok != c.want || err != nil {
			t.Errorf("user %q may read %.4s: %t, %v, want %t", c.user, c.id, ok, err, c.want)
		}
		list, err := s.List(ctx, blob.Query{User: &c.user})
		listed := false
		for _, b := range list {
			listed = listed || b.ID == c.id
		}
		if listed != c.want || err != nil {
			t.Errorf("the list of user %q has %.4s: %t, %v, want %t", c.user, c.id, listed, err, c.want)
		}
	}
}

// pages: a list has every blob once, the newest first, also of one time.
func pages(t *testing.T, b Backend, c *clock) {
	s := b.Store.Blobs()
	for i := range 12 {
		put(t, s, "text/plain", fmt.Append(nil, i), blob.User("ann"))
		if i%4 == 3 {
			c.advance(time.Second)
		}
	}
	seen := map[string]bool{}
	var last *blob.Blob
	for {
		list, err := s.List(t.Context(), blob.Query{Before: last, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, b := range list {
			if seen[b.ID] || last != nil && b.CreatedAt.After(last.CreatedAt) {
				t.Fatalf("%s is there twice or out of order", b.ID)
			}
			seen[b.ID], last = true, b
		}
	}
	if len(seen) != 12 {
		t.Errorf("the pages have %d blobs, want 12", len(seen))
	}
}

func sweep(t *testing.T, b Backend, want int) {
	t.Helper()
	if n, err := b.Sweeper.SweepBlobs(t.Context(), retention); n != want || err != nil {
		t.Fatalf("SweepBlobs removed %d, %v, want %d", n, err, want)
	}
}

// kept: an upload is kept for the time of retention, counted from the last time it was held.
func kept(t *testing.T, b Backend, c *clock) {
	s := b.Store.Blobs()
	small, large := put(t, s, "text/plain", []byte("1"), blob.User("ann")).ID, put(t, s, "text/plain", data(1, 1<<20), blob.User("ann")).ID
	c.advance(retention.Uploads - time.Minute)
	put(t, s, "text/plain", []byte("1"), blob.User("ann"))
	sweep(t, b, 0)
	c.advance(2 * time.Minute)
	sweep(t, b, 1)
	if content(t, s, small) == nil || content(t, s, large) != nil {
		t.Error("the wrong one was removed")
	}
	c.advance(retention.Uploads)
	sweep(t, b, 1)
	if n, err := s.Total(t.Context()); n != 0 || err != nil {
		t.Errorf("Total returned %d, %v", n, err)
	}
}

// threads: a thread holds a blob until it is deleted, and a fork holds it longer.
func threads(t *testing.T, b Backend, c *clock) {
	s, ctx := b.Store.Blobs(), t.Context()
	id := put(t, s, "text/plain", []byte("1"), blob.User("ann")).ID
	if err := b.Store.CreateThread(ctx, &awaken.Thread{ID: "t", UserID: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Hold(ctx, blob.Thread("t"), id, id); err != nil {
		t.Fatal(err)
	}
	c.advance(2 * retention.Uploads)
	sweep(t, b, 0)
	if _, err := b.Store.Fork(ctx, "t", 0, "fork", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.DeleteThread(ctx, "t", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	sweep(t, b, 0)
	if ok, err := s.Readable(ctx, id, "ann"); !ok || err != nil {
		t.Errorf("the fork's user may read it: %t, %v", ok, err)
	}
	if err := b.Store.DeleteThread(ctx, "fork", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Readable(ctx, id, "ann"); ok || err != nil {
		t.Errorf("a deleted thread lets its user read it: %t, %v", ok, err)
	}
	sweep(t, b, 1)
	if content(t, s, id) != nil {
		t.Error("it is still there")
	}
}

// pendingThread: a thread may hold a blob before it exists, for a while.
func pendingThread(t *testing.T, b Backend, c *clock) {
	s, ctx := b.Store.Blobs(), t.Context()
	id := put(t, s, "text/plain", []byte("1"), blob.Thread("later")).ID
	gone := put(t, s, "text/plain", []byte("2"), blob.Thread("never")).ID
	c.advance(retention.Pending / 2)
	sweep(t, b, 0)
	if err := b.Store.CreateThread(ctx, &awaken.Thread{ID: "later"}); err != nil {
		t.Fatal(err)
	}
	c.advance(retention.Pending * 2 / 3)
	late := put(t, s, "text/plain", []byte("3"), blob.User("ann")).ID
	c.advance(retention.Uploads) // of the two holds of the thread, one is new
	if err := s.Hold(ctx, blob.Thread("never"), late); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Minute)
	sweep(t, b, 1)
	if content(t, s, late) == nil {
		t.Error("an old hold of a thread that does not exist yet took a new one with it")
	}
	if content(t, s, id) == nil || content(t, s, gone) != nil {
		t.Error("the wrong one was removed")
	}
}

// concurrent: uploads, holds and sweeps at once lose nothing that is held.
func concurrent(t *testing.T, b Backend, c *clock) {
	s, ctx := b.Store.Blobs(), t.Context()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 8 {
				size := 50
				if i%4 == 0 {
					size = 300 << 10
				}
				got, err := s.Put(ctx, "text/plain", bytes.NewReader(data(byte(i%3), size)), blob.User(fmt.Sprint(w)))
				if err != nil {
					t.Errorf("Put: %v", err)
					return
				}
				if err := s.Hold(ctx, blob.Thread(fmt.Sprint("t", w)), got.ID); err != nil {
					t.Errorf("Hold of what the user holds: %v", err)
				}
				if _, r, err := s.Open(ctx, got.ID); err != nil {
					t.Errorf("Open of what the user holds: %v", err)
				} else if n, err := io.Copy(io.Discard, r); n != int64(size) || err != nil {
					t.Errorf("read %d bytes of %d, %v", n, size, err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 8 {
			if _, err := b.Sweeper.SweepBlobs(ctx, retention); err != nil {
				t.Errorf("SweepBlobs: %v", err)
			}
			c.advance(time.Minute)
		}
	})
	wg.Wait()
	c.advance(2 * retention.Uploads)
	if _, err := b.Sweeper.SweepBlobs(ctx, retention); err != nil {
		t.Error(err)
	}
	if n, err := s.Total(ctx); n != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", n, err)
	}
}
