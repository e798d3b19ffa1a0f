package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/ids"
)

const (
	// inlineBlob is the size up to which a blob is in its own row.
	inlineBlob = 64 << 10
	// blobPart is the size of the parts of a larger one. Stored blobs have it too: it never changes.
	blobPart = 256 << 10
)

// Blobs implements [blob.Store] for one tenant. A large blob is a list of parts under a key of their
// own, which are written as they arrive, each in a transaction: the blob exists when its row does.
type Blobs struct{ scope Scope }

var _ blob.Store = (*Blobs)(nil)

// Blobs returns the blobs of the tenant.
func (s *Tenant) Blobs() blob.Store { return &Blobs{s.scope} }

// Put stores a blob.
func (s *Blobs) Put(ctx context.Context, mediaType string, r io.Reader, h blob.Holder) (*blob.Blob, error) {
	mediaType, err := blob.ParseMediaType(mediaType)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	digest := blob.NewDigest(mediaType)
	r = io.TeeReader(r, digest)
	first, err := fill(ctx, r, make([]byte, inlineBlob+1))
	if err != nil {
		return nil, err
	}
	b := &blob.Blob{MediaType: mediaType, Size: int64(len(first)), CreatedAt: s.scope.db.Now()}
	if len(first) <= inlineBlob {
		b.ID = digest.ID()
		return s.add(ctx, b, first, "", h)
	}
	body := ids.New()
	if err := s.upload(ctx, body, b, io.MultiReader(bytes.NewReader(first), r)); err != nil {
		err = errors.Join(err, s.drop(context.WithoutCancel(ctx), body))
		return nil, err
	}
	b.ID = digest.ID()
	b, err = s.add(ctx, b, nil, body, h)
	if errors.Is(err, errSwept) {
		err = errors.Join(err, s.drop(context.WithoutCancel(ctx), body)) // what came after the sweep
	}
	return b, err
}

// fill fills buf from r, up to its end.
func fill(ctx context.Context, r io.Reader, buf []byte) ([]byte, error) {
	n := 0
	for n < len(buf) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		got, err := r.Read(buf[n:])
		if n += got; err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return buf[:n], nil
}

// touchUpload is how often an upload that takes long shows that it is not forgotten.
const touchUpload = time.Minute

// upload stores the parts of a blob under a key, and sets its size.
func (s *Blobs) upload(ctx context.Context, body string, b *blob.Blob, r io.Reader) error {
	db := s.scope.db
	if _, err := db.Exec(ctx, `INSERT INTO {p}_blob_uploads (body, at) VALUES (?, ?) ON CONFLICT (body) DO NOTHING`, body, b.CreatedAt.UnixMicro()); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	b.Size = 0
	touched := b.CreatedAt
	buf := make([]byte, blobPart)
	for n := 0; ; n++ {
		part, err := fill(ctx, r, buf)
		if err != nil {
			return err
		}
		if now := db.Now(); now.Sub(touched) >= touchUpload {
			if _, err := db.Exec(ctx, `UPDATE {p}_blob_uploads SET at = ? WHERE body = ?`, now.UnixMicro(), body); err != nil {
				return fmt.Errorf("blob: %w", err)
			}
			touched = now
		}
		if len(part) > 0 {
			if _, err := db.Exec(ctx, `INSERT INTO {p}_blob_parts (body, n, data) VALUES (?, ?, ?) ON CONFLICT (body, n) DO NOTHING`, body, n, part); err != nil {
				return fmt.Errorf("blob: %w", err)
			}
		}
		if b.Size += int64(len(part)); len(part) < blobPart {
			return nil
		}
	}
}

// drop removes the parts of an upload that no blob has.
func (s *Blobs) drop(ctx context.Context, body string) error {
	return dropParts(ctx, s.scope.db, body)
}

func dropParts(ctx context.Context, db DB, body string) error {
	return db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		_, err = c.Exec(ctx, statement(`DELETE FROM {p}_blob_uploads WHERE body = ?`, body), statement(`DELETE FROM {p}_blob_parts WHERE body = ?`, body))
		return nil, err
	})
}

var (
	// errGone is the error of a hold whose blob was removed in the meantime.
	errGone = errors.New("the blob was removed")
	// errSwept is the error of an upload of which a sweep has removed parts.
	errSwept = errors.New("the upload took too long: a sweep has removed it")
)

// add adds the row of a blob, and a hold of it. If the blob exists, what was uploaded is dropped. The
// parts are whole while the upload has its row: without it, another attempt at this has succeeded, or a
// sweep has removed parts, and no row is added.
func (s *Blobs) add(ctx context.Context, b *blob.Blob, data []byte, body string, h blob.Holder) (*blob.Blob, error) {
	var stored *blob.Blob
	if data == nil && body == "" {
		data = []byte{}
	}
	write := func(ctx context.Context, c Conn) (refused, err error) {
		whole := int64(1)
		if body != "" {
			if whole, err = c.Exec(ctx, statement(`DELETE FROM {p}_blob_uploads WHERE body = ?`, body)); err != nil {
				return nil, err
			}
		}
		if whole > 0 {
			if _, err = c.Exec(ctx, statement(`INSERT INTO {p}_blobs (tenant, id, media_type, size, created, data, body) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, id) DO NOTHING`,
				s.scope.tenant, b.ID, b.MediaType, b.Size, b.CreatedAt.UnixMicro(), data, body)); err != nil {
				return nil, err
			}
		}
		if held, err := c.Exec(ctx, s.hold(h, b.ID)); err != nil || held == 0 {
			if whole == 0 {
				return errSwept, err
			}
			return errGone, err
		}
		var has string
		if stored, _, has, err = s.row(ctx, c, b.ID); err == nil && has != body && body != "" {
			_, err = c.Exec(ctx, statement(`DELETE FROM {p}_blob_parts WHERE body = ?`, body))
		}
		return nil, err
	}
	err := s.scope.db.Write(ctx, write)
	for errors.Is(err, errGone) && ctx.Err() == nil { // it was there, and a sweep removed it: now it is not
		err = s.scope.db.Write(ctx, write)
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return stored, nil
}

// hold returns the statement that makes h hold a blob.
func (s *Blobs) hold(h blob.Holder, id string) Statement {
	return statement(`INSERT INTO {p}_blob_holds (tenant, blob, kind, holder, at) SELECT tenant, id, ?, ?, ? FROM {p}_blobs WHERE tenant = ? AND id = ?{keep}
		ON CONFLICT (tenant, blob, kind, holder) DO UPDATE SET at = excluded.at`,
		string(h.Kind), s.scope.id(h.ID), s.scope.db.Now().UnixMicro(), s.scope.tenant, id)
}

// Hold makes h hold blobs.
func (s *Blobs) Hold(ctx context.Context, h blob.Holder, list ...string) error {
	if len(list) == 0 {
		return nil
	}
	list = slices.Compact(slices.Sorted(slices.Values(list))) // in one order, so that none waits for another
	err := s.scope.db.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		holds := make([]Statement, 0, len(list))
		for _, id := range list {
			var one int
			if found, err := row(ctx, c, `SELECT 1 FROM {p}_blobs WHERE tenant = ? AND id = ?{keep}`, []any{s.scope.tenant, s.scope.id(id)}, &one); err != nil {
				return nil, err
			} else if !found {
				return blob.NotFound(id), nil
			}
			holds = append(holds, s.hold(h, id))
		}
		_, err = c.Exec(ctx, holds...)
		return nil, err
	})
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return fmt.Errorf("blob: %w", err)
	}
	return err
}

// row reads the row of a blob.
func (s *Blobs) row(ctx context.Context, c Conn, id string) (b *blob.Blob, data []byte, body string, err error) {
	if !blob.IsID(id) {
		return nil, nil, "", blob.NotFound(id)
	}
	b = &blob.Blob{ID: id}
	var created int64
	found, err := row(ctx, c, `SELECT media_type, size, created, data, body FROM {p}_blobs WHERE tenant = ? AND id = ?`, []any{s.scope.tenant, id}, &b.MediaType, &b.Size, &created, &data, &body)
	if err == nil && !found {
		err = blob.NotFound(id)
	}
	b.CreatedAt = time.UnixMicro(created).UTC()
	return b, data, body, err
}

// Open returns a blob and its bytes.
func (s *Blobs) Open(ctx context.Context, id string) (*blob.Blob, io.ReadSeekCloser, error) {
	var b *blob.Blob
	var data []byte
	var body string
	err := s.scope.db.Read(ctx, func(c Conn) (err error) {
		b, data, body, err = s.row(ctx, c, id)
		return err
	})
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("blob: %w", err)
	case body == "":
		return b, inline{bytes.NewReader(data)}, nil
	}
	return b, &parts{ctx: ctx, db: s.scope.db, body: body, size: b.Size, n: -1}, nil
}

// inline reads a blob that is in its row.
type inline struct{ *bytes.Reader }

func (inline) Close() error { return nil }

// parts reads a blob part by part.
type parts struct {
	ctx  context.Context
	db   DB
	body string
	size int64
	at   int64
	n    int64 // the part in data, or -1
	data []byte
}

// Read reads from one part at most.
func (p *parts) Read(to []byte) (int, error) {
	if p.at >= p.size {
		return 0, io.EOF
	}
	if n := p.at / blobPart; n != p.n {
		p.n = -1
		err := p.db.Read(p.ctx, func(c Conn) error {
			_, err := row(p.ctx, c, `SELECT data FROM {p}_blob_parts WHERE body = ? AND n = ?`, []any{p.body, n}, &p.data)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("blob: %w", err)
		}
		if want := min(blobPart, p.size-n*blobPart); int64(len(p.data)) != want {
			return 0, fmt.Errorf("blob: part %d has %d bytes, want %d: it was removed", n, len(p.data), want)
		}
		p.n = n
	}
	copied := copy(to, p.data[p.at%blobPart:])
	p.at += int64(copied)
	return copied, nil
}

// Seek implements [io.Seeker].
func (p *parts) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		offset += p.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("blob: seek to %d", offset)
	}
	p.at = offset
	return offset, nil
}

func (p *parts) Close() error { return nil }

// mayRead selects, of blobs b, those that a user may read; the arguments are the user, twice.
const mayRead = `EXISTS (SELECT 1 FROM {p}_blob_holds h WHERE h.tenant = b.tenant AND h.blob = b.id AND h.kind = 'user' AND h.holder = ?
	UNION ALL SELECT 1 FROM {p}_blob_holds h JOIN {p}_threads t ON t.tenant = h.tenant AND t.id = h.holder
	WHERE h.tenant = b.tenant AND h.blob = b.id AND h.kind = 'thread' AND t.user_id = ?)`

// Readable reports whether a user may read a blob.
func (s *Blobs) Readable(ctx context.Context, id, user string) (ok bool, err error) {
	err = s.scope.db.Read(ctx, func(c Conn) (err error) {
		n := 0
		_, err = row(ctx, c, `SELECT count(*) FROM {p}_blobs b WHERE b.tenant = ? AND b.id = ? AND `+mayRead, []any{s.scope.tenant, s.scope.id(id), s.scope.id(user), s.scope.id(user)}, &n)
		ok = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("blob: %w", err)
	}
	return ok, nil
}

// List returns one page of blobs.
func (s *Blobs) List(ctx context.Context, q blob.Query) ([]*blob.Blob, error) {
	query, args := `SELECT b.id, b.media_type, b.size, b.created FROM {p}_blobs b WHERE b.tenant = ?`, []any{s.scope.tenant}
	if q.Before != nil {
		at := q.Before.CreatedAt.UnixMicro()
		query, args = query+` AND (b.created < ? OR b.created = ? AND b.id < ?)`, append(args, at, at, s.scope.id(q.Before.ID))
	}
	if q.User != nil {
		user := s.scope.id(*q.User)
		query, args = query+` AND `+mayRead, append(args, user, user)
	}
	query, args = query+` ORDER BY b.created DESC, b.id DESC LIMIT ?`, append(args, cmp.Or(q.Limit, 50))
	return list(ctx, s.scope.db, "blobs", query, args, func(scan Scan) (*blob.Blob, error) {
		var b blob.Blob
		var created int64
		err := scan(&b.ID, &b.MediaType, &b.Size, &created)
		b.CreatedAt = time.UnixMicro(created).UTC()
		return &b, err
	})
}

// Total returns how many bytes the blobs of the tenant take.
func (s *Blobs) Total(ctx context.Context) (n int64, err error) {
	err = s.scope.db.Read(ctx, func(c Conn) error {
		_, err := row(ctx, c, `SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM {p}_blobs WHERE tenant = ?`, []any{s.scope.tenant}, &n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("blob: %w", err)
	}
	return n, nil
}
