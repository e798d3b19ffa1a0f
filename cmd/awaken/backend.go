package main

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/postgres"
)

// systemTenant is whose profile holds the server's keys. No key can be of that tenant.
const systemTenant = "awaken.system"

// backend is where a server keeps everything.
type backend struct {
	queue  mailbox.Queue
	keys   profile.Store
	config config.Store
	// profile returns the profile of a tenant.
	profile func(tenant string) profile.Store
	name    string // for people
	close   func(err *error)
}

// openBackend opens the database that the settings choose. If create, an SQLite file is
// made when it is missing.
func openBackend(ctx context.Context, s *settings.Settings, create bool) (*backend, error) {
	if !s.DatabaseURL.IsZero() {
		db, err := postgres.Open(ctx, s.DatabaseURL.Expose(), nil)
		if err != nil {
			return nil, configError("%w", err)
		}
		return &backend{queue: db, keys: db.Profile(systemTenant), config: db.Config(), profile: func(tenant string) profile.Store { return db.Profile(tenant) }, name: databaseName(s.DatabaseURL), close: func(*error) { db.Close() }}, nil
	}
	path := filepath.Join(s.StorageDir, storeName)
	db, err := openFile(ctx, path, create, true)
	if err != nil {
		return nil, err
	}
	return &backend{queue: db, keys: db.Profile(systemTenant), config: db.Config(), profile: func(tenant string) profile.Store { return db.Profile(tenant) }, name: path, close: func(err *error) { closing(db, err) }}, nil
}

// databaseName is a database for people, without the user and the password.
func databaseName(secret awaken.Secret) string {
	u, err := url.Parse(secret.Expose())
	if err != nil || u.Host == "" {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + u.Host + u.Path
}

// openKeys returns the keys of a server. Missing says that nobody has an admin key, and
// that only this machine can reach the server: then one should be made. A server that
// others can reach is refused if there is no key at all, or none for the routes that
// change documents.
func openKeys(ctx context.Context, s *settings.Settings, b *backend) (keys *server.Keys, missing bool, err error) {
	keys = server.NewKeys(b.keys)
	if token := s.Admin.Token; !token.IsZero() {
		if err := keys.Fix(token.Expose(), server.Key{ID: "configured", Kind: server.AdminKey, Label: "admin.bearer_token"}); err != nil {
			return nil, false, configError("admin.bearer_token: %w", err)
		}
		return keys, false, nil
	}
	list, err := keys.List(ctx)
	if err != nil {
		return nil, false, failed(err)
	}
	admin := slices.ContainsFunc(list, func(k server.Key) bool { return k.Kind == server.AdminKey && k.Tenant == "" })
	if local, err := server.IsLocal(s.Server.Address); err == nil && local {
		return keys, !admin, nil
	}
	if len(list) == 0 {
		e := configError("%s can be reached from other machines, and nobody has a key", s.Server.Address)
		e.hint = "Make one with 'awaken keys make --kind admin', or put one into AWAKEN_ADMIN_API_BEARER_TOKEN."
		return nil, false, e
	}
	if s.Admin.Config && !admin {
		e := configError("%s can be reached from other machines, and no admin key guards the routes that change agents", s.Server.Address)
		e.hint = "Make one without a tenant, with 'awaken keys make --kind admin', put one into\nAWAKEN_ADMIN_API_BEARER_TOKEN, or set admin.expose_config_routes to false."
		return nil, false, e
	}
	return keys, false, nil
}
