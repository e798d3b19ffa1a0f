package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/state/profile"
)

// Keys holds the keys of a server: stored keys and fixed ones. It is safe for concurrent use.
type Keys struct {
	store profile.Store // may be nil
	now   func() time.Time

	mu    sync.Mutex
	fixed []hashed
	seen  map[string]seen // place of a credential -> result of a lookup, kept for seenFor
	gone  int             // number of keys revoked
	news  chan struct{}   // closed when a key is revoked, and replaced
	bus   *bus.Exchange   // tells other processes; may be nil

	watches *watches
}

type hashed struct {
	hash string
	key  server.Key
	weak string // why the secret is easy to guess, "" if it is not
}

type seen struct {
	key   *server.Key // nil if there is none
	until time.Time
}

// keysNamespace is the profile namespace of stored keys: one entry for each, under its hash.
const keysNamespace = "server.keys"

// seenFor is how long a key may still work after another process revoked it, if that process cannot
// tell this one.
const seenFor = 3 * time.Second

// NewKeys returns the keys in store, which must not be a tenant's. A nil store is for servers with
// fixed keys only.
func NewKeys(store profile.Store) *Keys {
	k := &Keys{store: store, now: time.Now, seen: map[string]seen{}, news: make(chan struct{})}
	k.watches = &watches{keys: k, open: map[server.Credential]*watch{}}
	return k
}

// Fix adds a key that is not stored. Its secret must have at least 8 characters. A server that other
// machines can reach does not start with one that is easy to guess.
func (k *Keys) Fix(secret string, key server.Key) error {
	if len(secret) < 8 {
		return errors.New("the key is too short, want at least 8 characters")
	}
	if err := key.Check(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key.Fixed = true
	k.fixed = append(k.fixed, hashed{hash(secret), key, weakness(secret)})
	return nil
}

// CheckStrength fails if a fixed key is easy to guess.
func (k *Keys) CheckStrength() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.fixed {
		if h.weak != "" {
			return fmt.Errorf("the key %s is easy to guess: %s; generate one, for example with: openssl rand -hex 32", cmp.Or(h.key.Label, h.key.ID), h.weak)
		}
	}
	return nil
}

// Audit records that a key is created or revoked, before it happens. If it fails, nothing happens.
// A nil Audit records nothing.
type Audit func(ctx context.Context, action, resource string) error

func (a Audit) record(ctx context.Context, action, keyID string) error {
	if a == nil {
		return nil
	}
	if err := a(ctx, action, "keys/"+keyID); err != nil {
		return fmt.Errorf("audit key %s: %w", keyID, err)
	}
	return nil
}

// Make creates and stores a key. It returns the key's secret, which cannot be recovered later.
func (k *Keys) Make(ctx context.Context, key server.Key, audit Audit) (*server.Key, awaken.Secret, error) {
	if err := key.Check(); err != nil {
		return nil, awaken.Secret{}, err
	}
	if k.store == nil {
		return nil, awaken.Secret{}, fmt.Errorf("%w: this server has no store for keys", awaken.ErrInvalid)
	}
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, awaken.Secret{}, err
	}
	secret := "ak_" + string(key.Kind) + "_" + base64.RawURLEncoding.EncodeToString(random[:])
	key.ID, key.CreatedAt, key.Fixed = "key_"+ids.New(), k.now().UnixMilli(), false
	data, err := json.Marshal(key)
	if err != nil {
		return nil, awaken.Secret{}, err
	}
	if err := audit.record(ctx, "create", key.ID); err != nil {
		return nil, awaken.Secret{}, err
	}
	if err := k.store.Set(ctx, keysNamespace, hash(secret), data); err != nil {
		return nil, awaken.Secret{}, err
	}
	return &key, awaken.NewSecret(secret), nil
}

// List returns all keys in the order of their ids: stored ones oldest first.
func (k *Keys) List(ctx context.Context) ([]server.Key, error) {
	list, err := k.stored(ctx)
	if err != nil {
		return nil, err
	}
	out := []server.Key{}
	for _, h := range list {
		out = append(out, h.key)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.fixed {
		out = append(out, h.key)
	}
	slices.SortStableFunc(out, func(a, b server.Key) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func (k *Keys) stored(ctx context.Context) ([]hashed, error) {
	if k.store == nil {
		return nil, nil
	}
	entries, err := k.store.List(ctx, keysNamespace)
	if err != nil {
		return nil, err
	}
	var out []hashed
	for _, e := range entries {
		var key server.Key
		if err := json.Unmarshal(e.Value, &key); err != nil {
			return nil, fmt.Errorf("stored key: %w", err)
		}
		out = append(out, hashed{hash: e.Key, key: key})
	}
	return out, nil
}

// Revoke deletes a stored key. It stops working here at once, in other processes that share a bus a
// moment later, and everywhere within five seconds. A fixed key is an ErrConflict.
func (k *Keys) Revoke(ctx context.Context, id string, audit Audit) error {
	list, err := k.stored(ctx)
	if err != nil {
		return err
	}
	for _, h := range list {
		if h.key.ID == id {
			if err := audit.record(ctx, "revoke", id); err != nil {
				return err
			}
			if err := k.store.Delete(ctx, keysNamespace, h.hash); err != nil {
				return err
			}
			k.announce(id)
			k.endSessions(ctx, h.hash)
			return nil
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.ContainsFunc(k.fixed, func(h hashed) bool { return h.key.ID == id }) {
		return fmt.Errorf("key %s: %w: the key comes from the configuration; remove it there", id, awaken.ErrConflict)
	}
	return fmt.Errorf("key %s: %w", id, awaken.ErrNotFound)
}

// keysPart is the name of keys on the bus.
const keysPart = "keys"

// Share makes keys that are revoked here stop working in the other processes of a bus at once, and
// the other way round. It must be called before the keys are used.
func (k *Keys) Share(x *bus.Exchange) {
	k.bus = x
	x.Listen(keysPart, func(_, id string) { k.forget(id) })
}

// announce makes every process look a key up again: it, or one of its sessions, has ended.
func (k *Keys) announce(id string) {
	k.forget(id)
	if k.bus != nil {
		k.bus.Tell(keysPart, id)
	}
}

// forget makes the next lookup of a key, or of all if id is "", ask the store, and open streams look
// their key up.
func (k *Keys) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for h, s := range k.seen {
		if id == "" || s.key != nil && s.key.ID == id {
			delete(k.seen, h)
		}
	}
	k.gone++
	close(k.news)
	k.news = make(chan struct{})
}

// revoked returns a channel that is closed when a key is revoked.
func (k *Keys) revoked() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.news
}

// Recalls reports whether a credential is known to have been right, without asking the store.
func (k *Keys) Recalls(c server.Credential) bool {
	h := place(c)
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.seen[h].key != nil
	for i := range k.fixed {
		found = subtle.ConstantTimeCompare([]byte(k.fixed[i].hash), []byte(h)) == 1 || found
	}
	return found
}

// Find returns the key that a credential is for, or nil.
func (k *Keys) Find(ctx context.Context, c server.Credential) (*server.Key, error) {
	if c.Session {
		return k.bySession(ctx, c.Secret)
	}
	key, _, err := k.byHash(ctx, place(c))
	return key, err
}

// byHash returns the key whose secret has a hash, or nil, and until when that is known: the zero time
// for a fixed key.
func (k *Keys) byHash(ctx context.Context, h string) (*server.Key, time.Time, error) {
	k.mu.Lock()
	var found *server.Key
	for i := range k.fixed { // compare with all, so that timing reveals nothing
		if subtle.ConstantTimeCompare([]byte(k.fixed[i].hash), []byte(h)) == 1 {
			found = &k.fixed[i].key
		}
	}
	k.mu.Unlock()
	if found != nil {
		return found, time.Time{}, nil
	}
	known, gone, ok := k.recall(h)
	switch {
	case ok:
		return known.key, known.until, nil
	case k.store == nil:
		return nil, time.Time{}, nil
	}
	now := k.now()
	e, err := k.store.Get(ctx, keysNamespace, h)
	if err != nil {
		return nil, time.Time{}, err
	}
	var key *server.Key
	if e != nil && subtle.ConstantTimeCompare([]byte(e.Key), []byte(h)) == 1 {
		if err := json.Unmarshal(e.Value, &key); err != nil {
			return nil, time.Time{}, fmt.Errorf("stored key: %w", err)
		}
	}
	until := now.Add(seenFor)
	k.remember(h, seen{key, until}, gone)
	return key, until, nil
}

// recall returns what the lookup of a hash found, if that is recent, and how many keys were revoked
// until now.
func (k *Keys) recall(h string) (known seen, gone int, ok bool) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok = k.seen[h]
	return known, k.gone, ok && now.Before(known.until)
}

// remember keeps what a lookup found, unless a key was revoked since gone of them were: it may be that
// one.
func (k *Keys) remember(h string, found seen, gone int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.seen) >= 10_000 {
		clear(k.seen)
	}
	if k.gone == gone {
		k.seen[h] = found
	}
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
