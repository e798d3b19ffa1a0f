package jwt

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// keySet keeps an issuer's keys. It fetches them when there are none, when they are old,
// and when a token names one that is not among them.
type keySet struct {
	client *http.Client
	now    func() time.Time
	issuer string
	url    string // "" until it is discovered

	fetching sync.Mutex // held during a fetch, so that there is one at a time

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetched time.Time // when keys came
	tried   time.Time // when a fetch was last begun
	failed  error     // how that fetch failed, or nil
}

const (
	freshFor   = 15 * time.Minute // after this, keys are fetched again with the next token
	usableFor  = 24 * time.Hour   // after this, keys of an issuer that does not answer are given up
	retryAfter = 10 * time.Second // between two fetches, whatever tokens name: clients choose those
	fetchFor   = 10 * time.Second
)

func newKeySet(cfg *Config) *keySet {
	return &keySet{client: cfg.Client, now: cfg.Now, issuer: cfg.Issuer, url: cfg.KeysURL}
}

// find returns the keys that may have signed a token which names a key, or names none. An
// unknown key is ErrToken, if the issuer's keys could be fetched.
func (s *keySet) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	if found := s.known(id, freshFor); found != nil {
		return found, nil
	}
	err := s.fetch(ctx, id)
	if found := s.known(id, usableFor); found != nil {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil, fmt.Errorf("%w: the issuer has no key %q", ErrToken, id)
}

// known returns the keys with an id, or all if it is empty, unless they are older than age.
func (s *keySet) known(id string, age time.Duration) []jose.JSONWebKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil || s.now().Sub(s.fetched) >= age {
		return nil
	}
	if id == "" {
		return s.keys
	}
	var found []jose.JSONWebKey
	for _, k := range s.keys {
		if k.KeyID == id {
			found = append(found, k)
		}
	}
	return found
}

// fetch fetches the keys, unless that was just done: it then returns how that ended.
func (s *keySet) fetch(ctx context.Context, id string) error {
	s.fetching.Lock()
	defer s.fetching.Unlock()
	if s.known(id, freshFor) != nil {
		return nil // another token's request has fetched them
	}
	s.mu.Lock()
	if tried := s.tried; !tried.IsZero() && s.now().Sub(tried) < retryAfter {
		defer s.mu.Unlock()
		return s.failed
	}
	s.tried = s.now()
	s.mu.Unlock()

	// One client that goes away must not fail the requests that wait for the same fetch.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchFor)
	defer cancel()
	keys, err := s.download(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	if err == nil {
		s.keys, s.fetched = keys, s.now()
	}
	return err
}

func (s *keySet) download(ctx context.Context) ([]jose.JSONWebKey, error) {
	if s.url == "" {
		var doc struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		at := strings.TrimSuffix(s.issuer, "/") + "/.well-known/openid-configuration"
		if err := s.get(ctx, at, &doc); err != nil {
			return nil, err
		}
		if doc.Issuer != s.issuer || doc.Keys == "" {
			return nil, fmt.Errorf("%s names issuer %q and key set %q, want issuer %q and a key set", at, doc.Issuer, doc.Keys, s.issuer)
		}
		s.url = doc.Keys
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := s.get(ctx, s.url, &set); err != nil {
		return nil, err
	}
	keys := []jose.JSONWebKey{}
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) != nil || !k.Valid() || !k.IsPublic() || k.Use == "enc" {
			continue // of a kind that is not known here; a token that needs it is refused
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key that verifies signatures", s.url)
	}
	return keys, nil
}

func (s *keySet) get(ctx context.Context, url string, to any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxKeys+1))
	if err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	if len(data) > maxKeys {
		return fmt.Errorf("GET %s: more than %d bytes", url, maxKeys)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return nil
}
