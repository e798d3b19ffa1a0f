package access

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/state/profile"
)

// session is the sign-in of a browser with a key. Its secret, which is in a cookie, stands for the key
// until the session or the key ends. The store has a hash of the secret and refers to the key by its
// hash, so neither can be read there, and every process that uses the store knows the session.
type session struct {
	KeyHash string `json:"key_hash"`
	Created int64  `json:"created_at"` // Unix ms
	Expires int64  `json:"expires_at"` // Unix ms
}

const (
	// sessionsNamespace is the beginning of the profile namespaces of sessions. Each key has one, with an
	// entry for each of its sessions under the hash of the session's secret.
	sessionsNamespace = "server.sessions."
	// maxSessions is how many sessions a key has at most. One more ends the oldest.
	maxSessions = 200
)

// place returns the name under which what is known of a credential is kept in memory. That of a session's secret is
// never the one of a key's, so neither passes for the other.
func place(c server.Credential) string {
	if c.Session {
		return "session " + hash(c.Secret)
	}
	return hash(c.Secret)
}

// placeOf returns the name under which the sessions of a key are stored. It reveals nothing of the key.
func placeOf(keyHash string) string { return hash(keyHash)[:32] }

// signIn begins a session of the key with a secret, which must exist. The session lasts for a time,
// unless it is renewed or its key is revoked before.
func (k *Keys) signIn(ctx context.Context, secret string, lasts time.Duration) (value string, s *session, err error) {
	if k.store == nil {
		return "", nil, server.Unavailable("this server has no store for sessions")
	}
	now := k.now()
	s = &session{KeyHash: hash(secret), Created: now.UnixMilli(), Expires: now.Add(lasts).UnixMilli()}
	place := placeOf(s.KeyHash)
	if err := k.makeRoom(ctx, sessionsNamespace+place); err != nil {
		return "", nil, err
	}
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", nil, err
	}
	own := base64.RawURLEncoding.EncodeToString(random[:])
	data, err := json.Marshal(s)
	if err != nil {
		return "", nil, err
	}
	return place + "." + own, s, k.store.Set(ctx, sessionsNamespace+place, hash(own), data)
}

// makeRoom deletes the expired sessions of a key, and the oldest ones that would be too many.
func (k *Keys) makeRoom(ctx context.Context, namespace string) error {
	entries, err := k.store.List(ctx, namespace)
	if err != nil {
		return err
	}
	type held struct {
		key string
		session
	}
	var live []held
	now := k.now().UnixMilli()
	for _, e := range entries {
		h := held{key: e.Key}
		if err := json.Unmarshal(e.Value, &h.session); err == nil && now < h.Expires {
			live = append(live, h)
			continue
		}
		if err := k.store.Delete(ctx, namespace, e.Key); err != nil {
			return err
		}
	}
	slices.SortFunc(live, func(a, b held) int { return cmp.Compare(a.Created, b.Created) })
	for len(live) >= maxSessions {
		if err := k.store.Delete(ctx, namespace, live[0].key); err != nil {
			return err
		}
		live = live[1:]
	}
	return nil
}

// renew makes a session last for a time from now, but no longer than most after it began.
func (k *Keys) renew(ctx context.Context, value string, lasts, most time.Duration) (*session, error) {
	for {
		e, s, err := k.session(ctx, value)
		if err != nil {
			return nil, err
		}
		now := k.now()
		if s == nil || now.UnixMilli() >= s.Expires {
			return nil, server.ErrSession
		}
		s.Expires = max(s.Expires, min(now.Add(lasts).UnixMilli(), s.Created+most.Milliseconds()))
		data, err := json.Marshal(s)
		if err != nil || bytes.Equal(data, e.Value) {
			return s, err
		}
		if done, err := k.store.CompareAndSet(ctx, e.Namespace, e.Key, e.Value, data); done || err != nil {
			return s, err
		}
	}
}

// signOut ends a session, in this process at once and in the others as the revocation of a key does.
func (k *Keys) signOut(ctx context.Context, value string) error {
	e, s, err := k.session(ctx, value)
	if err != nil || s == nil {
		return err
	}
	if err := k.store.Delete(ctx, e.Namespace, e.Key); err != nil {
		return err
	}
	key, _, err := k.byHash(ctx, s.KeyHash)
	if key != nil {
		k.announce(key.ID)
	}
	return err
}

// endSessions deletes the sessions of a key that is gone. None of them works any more, so what cannot
// be deleted only takes space.
func (k *Keys) endSessions(ctx context.Context, keyHash string) {
	namespace := sessionsNamespace + placeOf(keyHash)
	entries, _ := k.store.List(ctx, namespace)
	for _, e := range entries {
		_ = k.store.Delete(ctx, namespace, e.Key)
	}
}

// session returns the session with a secret as it is stored, or nil.
func (k *Keys) session(ctx context.Context, value string) (*profile.Entry, *session, error) {
	place, own, ok := strings.Cut(value, ".")
	if !ok || len(place) != 32 || k.store == nil {
		return nil, nil, nil
	}
	e, err := k.store.Get(ctx, sessionsNamespace+place, hash(own))
	if err != nil || e == nil {
		return nil, nil, err
	}
	s := &session{}
	if err := json.Unmarshal(e.Value, s); err != nil {
		return nil, nil, fmt.Errorf("stored session: %w", err)
	}
	return e, s, nil
}

// bySession returns the key of a session, or nil if either has ended.
func (k *Keys) bySession(ctx context.Context, value string) (*server.Key, error) {
	h := place(server.Credential{Secret: value, Session: true})
	known, gone, ok := k.recall(h)
	if ok {
		return known.key, nil
	}
	_, s, err := k.session(ctx, value)
	if err != nil {
		return nil, err
	}
	now := k.now()
	found := seen{until: now.Add(seenFor)}
	if s != nil && now.UnixMilli() < s.Expires {
		var until time.Time
		if found.key, until, err = k.byHash(ctx, s.KeyHash); err != nil {
			return nil, err
		}
		for _, t := range []time.Time{until, time.UnixMilli(s.Expires)} {
			if !t.IsZero() && t.Before(found.until) {
				found.until = t
			}
		}
	}
	k.remember(h, found, gone)
	return found.key, nil
}
