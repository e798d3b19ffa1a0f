package oauth

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/state/profile"
)

// Sealer encrypts the values of a broker. The name binds a value to its place: a value sealed under one name must not open under another.
// Implementations are safe for concurrent use.
type Sealer interface {
	Seal(name string, plain []byte) ([]byte, error)
	Open(name string, sealed []byte) ([]byte, error)
}

// NewSealer returns a Sealer that encrypts with AES-256-GCM. The key has 32 bytes.
func NewSealer(key []byte) (Sealer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the key has %d bytes, want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return aesSealer{aead}, err
}

type aesSealer struct{ cipher.AEAD }

func (s aesSealer) Seal(name string, plain []byte) ([]byte, error) {
	return s.AEAD.Seal(nil, nil, plain, []byte(name)), nil
}

func (s aesSealer) Open(name string, sealed []byte) ([]byte, error) {
	return s.AEAD.Open(nil, nil, sealed, []byte(name))
}

// Config configures a Broker.
type Config struct {
	// Values returns the profile that holds the authorizations of a tenant's users. Programs without tenants
	// ignore the name.
	Values func(tenant string) profile.Store
	// Shared holds values that belong to no tenant: shared authorizations and registered clients. Nil means Values("").
	Shared profile.Store
	Sealer Sealer
	// RedirectURL is the redirect URI for authorization servers. It must lead to the broker's Handler, or to a handler that calls Complete.
	RedirectURL string
	// ClientURL is the public URL of the client ID metadata document, [Broker.ClientDocument]. If "", there is no such document.
	ClientURL string
	// ClientName is the name that authorization servers show to users; default awaken.
	ClientName string
	// Lifetime is how long a user may take to authorize; default 24 hours.
	Lifetime time.Duration
	// Client makes the requests to MCP and authorization servers. If nil, only public addresses can be reached.
	Client *http.Client
	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil discards
}

// Broker manages the authorizations of MCP servers. It is safe for concurrent use, and several processes may share the profiles.
type Broker struct {
	cfg Config

	mu  sync.Mutex
	own map[string]*grant // of client credentials, by server and address; they are not stored
}

// New returns a broker. The error lists all problems in cfg.
func New(cfg Config) (*Broker, error) {
	var errs []error
	if cfg.Values == nil {
		errs = append(errs, errors.New("Values is nil, want the profiles of tenants"))
	} else if cfg.Shared == nil {
		cfg.Shared = cfg.Values("")
	}
	if cfg.Sealer == nil {
		errs = append(errs, errors.New("Sealer is nil, want one that encrypts tokens"))
	}
	if u, err := url.Parse(cfg.RedirectURL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("RedirectURL is %q, want a URL that begins with https:// or http://", cfg.RedirectURL))
	}
	if u, err := url.Parse(cfg.ClientURL); cfg.ClientURL != "" && (err != nil || u.Scheme != "https" || len(u.Path) < 2) {
		errs = append(errs, fmt.Errorf("ClientURL is %q, want a URL that begins with https:// and has a path", cfg.ClientURL))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	cfg.ClientName = cmp.Or(cfg.ClientName, "awaken")
	cfg.Lifetime = cmp.Or(cfg.Lifetime, 24*time.Hour)
	if cfg.Client == nil {
		cfg.Client = httpguard.New(httpguard.Options{MaxBytes: maxAnswer, Timeout: 20 * time.Second, Redirects: -1})
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Broker{cfg: cfg, own: map[string]*grant{}}, nil
}

// Values returns [Config.Shared].
func (b *Broker) Values() profile.Store { return b.cfg.Shared }

// Owner is the owner of an authorization: a user, or "" for the runs of a tenant without a user.
type Owner struct {
	Tenant, User string
	// Values is the profile of the tenant. Nil means the result of [Config.Values].
	Values profile.Store
}

// place is where the profile has what belongs to an owner and a server.
type place struct {
	values         profile.Store
	namespace, key string
	name           string // for the Sealer
}

// place returns the place of a kind of values.
func (b *Broker) place(kind string, s *Server, o Owner) place {
	p := place{values: o.Values, namespace: kind + "/" + s.ID, key: profile.Global}
	switch {
	case s.grant() != PerUser:
		p.values, p.key, o.Tenant = b.cfg.Shared, "server", ""
	case p.values == nil:
		p.values = b.cfg.Values(o.Tenant)
	}
	if s.grant() == PerUser && o.User != "" {
		p.key = profile.User(o.User)
	}
	p.name = p.namespace + "\x00" + o.Tenant + "\x00" + p.key
	return p
}

// read decrypts the value of a place into v. It returns the stored bytes, nil if there are none. A value that
// cannot be decrypted counts as none: it was written with a key that is gone.
func (b *Broker) read(ctx context.Context, p place, v any) (json.RawMessage, bool, error) {
	e, err := p.values.Get(ctx, p.namespace, p.key)
	if err != nil || e == nil {
		return nil, false, err
	}
	var sealed []byte
	if err := json.Unmarshal(e.Value, &sealed); err == nil {
		plain, err := b.cfg.Sealer.Open(p.name, sealed)
		if err == nil && json.Unmarshal(plain, v) == nil {
			return e.Value, true, nil
		}
	}
	b.cfg.Logger.Warn("cannot decrypt a stored authorization; ignoring it", "namespace", p.namespace)
	return e.Value, false, nil
}

// write replaces the value of a place, if that is still old, and reports whether it did. It returns the stored bytes.
func (b *Broker) write(ctx context.Context, p place, old json.RawMessage, v any) (json.RawMessage, bool, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, false, err
	}
	sealed, err := b.cfg.Sealer.Seal(p.name, plain)
	if err != nil {
		return nil, false, err
	}
	data, err := json.Marshal(sealed)
	if err != nil {
		return nil, false, err
	}
	ok, err := p.values.CompareAndSet(ctx, p.namespace, p.key, old, data)
	return data, ok, err
}
