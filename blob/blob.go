// Package blob keeps files: the bytes of images, documents and other media that messages, tool
// results and artifacts refer to. A message holds a reference, an [llm.Source] of type "blob", so that
// a log with large files stays short, and the model gets the bytes when it is asked.
//
//	files := store.Blobs()
//	b, err := files.Put(ctx, "image/png", f, blob.User("ann")) // upload
//	...
//	msg := llm.Image(&llm.Source{Type: "blob", ID: b.ID, MediaType: b.MediaType, Size: b.Size})
//
// A blob is typed bytes, and its ID is their digest: storing the same file twice keeps one copy and
// gives the same ID. Blobs never change, and belong to one tenant.
//
// # Holds
//
// A blob is kept as long as it is held. An upload is held by its user for the time of
// [Retention.Uploads]; a thread holds what its messages refer to until the thread is deleted, and a fork
// holds what its original does. [Sweeper.SweepBlobs] removes what is not held any more. Holds are also
// the right to read: a user may read what the user, or a thread of the user, holds.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// Blob describes stored bytes.
type Blob struct {
	ID        string    `json:"id"`
	MediaType string    `json:"media_type"`
	Size      int64     `json:"size"`
	CreatedAt time.Time `json:"created_at"`
}

// Holder names an owner that keeps a blob.
type Holder struct {
	Kind Kind
	ID   string
}

// Kind is the kind of a [Holder].
type Kind string

// The kinds of holders.
const (
	Users   Kind = "user"
	Threads Kind = "thread"
)

// User returns a user as a holder; "" stands for clients without a user.
func User(id string) Holder { return Holder{Users, id} }

// Thread returns a thread as a holder.
func Thread(id string) Holder { return Holder{Threads, id} }

// Store keeps the blobs of one tenant. Implementations are safe for concurrent use; package
// blob/blobtest tests them. A blob that does not exist is an [awaken.ErrNotFound].
type Store interface {
	// Put stores what r returns until io.EOF, held by h, and reads it in pieces. If r fails,
	// nothing is stored, and the error is r's.
	Put(ctx context.Context, mediaType string, r io.Reader, h Holder) (*Blob, error)
	// Hold makes h hold blobs, all or none. What h holds already is held anew: for a user, the time
	// of retention starts again. A thread need not exist yet.
	Hold(ctx context.Context, h Holder, ids ...string) error
	// Open returns a blob and a reader of its bytes, which reads them in pieces. The caller closes
	// it, and ctx bounds it.
	Open(ctx context.Context, id string) (*Blob, io.ReadSeekCloser, error)
	// Readable reports whether a user may read a blob: the user or a thread of the user holds it.
	// It is false for a blob that does not exist.
	Readable(ctx context.Context, id, user string) (bool, error)
	// List returns one page of blobs, the newest first.
	List(ctx context.Context, q Query) ([]*Blob, error)
	// Total returns how many bytes the blobs of the tenant take.
	Total(ctx context.Context) (int64, error)
}

// Query selects blobs.
type Query struct {
	User   *string // only what this user may read
	Before *Blob   // only those after it in the list; its ID and CreatedAt count
	Limit  int     // 0 means 50
}

// Keeper is implemented by stores that keep blobs beside threads.
type Keeper interface {
	// Blobs returns the blobs of the store's tenant.
	Blobs() Store
}

// Of returns the blobs of a store, or nil if it keeps none.
func Of(store any) Store {
	if k, ok := store.(Keeper); ok {
		return k.Blobs()
	}
	return nil
}

// Sweeper removes the blobs of all tenants that are held no more. Databases implement it.
type Sweeper interface {
	// SweepBlobs removes holds that are over, then blobs without a hold, and what is left of uploads
	// that were never finished. It returns how many blobs it removed. Several processes may
	// sweep at once.
	SweepBlobs(ctx context.Context, r Retention) (int, error)
}

// Retention says how long blobs are kept that no thread holds.
type Retention struct {
	// Uploads is how long a user holds an upload.
	Uploads time.Duration
	// Pending is how long a hold of a thread that does not exist counts, since its creation may be
	// in flight, and how long an unfinished upload is kept.
	Pending time.Duration
}

// NotFound returns the error for a blob that does not exist.
func NotFound(id string) error { return fmt.Errorf("blob %.80q: %w", id, awaken.ErrNotFound) }

// ParseMediaType returns a media type in the form that blobs have: lower case, with its parameters. It
// fails unless the type is one such as image/png.
func ParseMediaType(s string) (string, error) {
	base, params, err := mime.ParseMediaType(s)
	if kind, sub, ok := strings.Cut(base, "/"); err != nil || !ok || kind == "" || sub == "" || kind == "*" || len(s) > 200 {
		return "", fmt.Errorf("media type is %.80q, want one such as image/png", s)
	}
	out := mime.FormatMediaType(base, params)
	if out == "" {
		return "", fmt.Errorf("media type is %.80q, want one such as image/png", s)
	}
	return out, nil
}

// Digest computes the ID of a blob from its type and its bytes, which are written to it.
type Digest struct{ hash.Hash }

// NewDigest returns the digest of a blob of a type without bytes.
func NewDigest(mediaType string) Digest {
	d := Digest{sha256.New()}
	io.WriteString(d, mediaType+"\n") // a hash never fails
	return d
}

// ID returns the ID of the bytes written so far.
func (d Digest) ID() string { return hex.EncodeToString(d.Sum(nil)) }

// IsID reports whether s can be the ID of a blob.
func IsID(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
