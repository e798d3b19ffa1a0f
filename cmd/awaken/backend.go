package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/trace/rollup"
)

// systemTenant is the tenant whose profile holds the server's keys. No key can belong to it.
const systemTenant = "awaken.system"

// backend is the database of a server.
type backend struct {
	queue      mailbox.Queue
	keys       profile.Store
	config     config.Store
	limits     limit.Store // of providers
	hooks      webhook.Store
	schedules  schedule.Store
	triggers   trigger.Store
	endpoints  webhook.EndpointStore
	judgements live.Store
	rollups    rollup.Store
	changes    changelog.Store
	tenants    func(ctx context.Context) ([]string, error) // that have data
	// restoration marks a database that was restored; nil if it was not.
	restoration *awaken.Restoration
	// profile returns the profile of a tenant.
	profile func(tenant string) profile.Store
	bus     bus.Bus // between the processes that use the database; nil if there is none
	// place returns where the database is, which a copy of it does not share.
	place func(ctx context.Context) (string, error)
	name  string // for messages
	close func(err *error)
}

// openBackend opens the database that the settings select. If create is set, it creates a
// missing SQLite file. Log may be nil.
func openBackend(ctx context.Context, s *settings.Settings, create bool, log *slog.Logger) (*backend, error) {
	if !s.DatabaseURL.IsZero() {
		db, err := postgres.Open(ctx, s.DatabaseURL.Expose(), &postgres.Options{Logger: log})
		if err != nil {
			e := configError("%w", err)
			if fault.OutageOf(err) != nil {
				e.code = exitUnavailable
			}
			return nil, e
		}
		out := backendOf(db)
		out.bus, out.place, out.name, out.close = db.Bus(), db.Place, databaseName(s.DatabaseURL), func(*error) { db.Close() }
		return out.load(ctx)
	}
	path := filepath.Join(s.StorageDir, storeName)
	db, err := openFile(ctx, path, create, true, log)
	if err != nil {
		return nil, err
	}
	out := backendOf(db)
	out.place, out.name, out.close = placeless, path, func(err *error) { closing(db, err) }
	return out.load(ctx)
}

// database is the interface that both databases implement.
type database interface {
	mailbox.Queue
	Tenants(ctx context.Context) ([]string, error)
	Profile(tenant string) profile.Store
	Config() config.Store
	Limits() limit.Store
	Hooks() webhook.Store
	Schedules() schedule.Store
	Triggers() trigger.Store
	Endpoints() webhook.EndpointStore
	Judgements() live.Store
	Rollups() rollup.Store
	Changes() changelog.Store
}

// backendOf returns the ports of a database.
func backendOf(db database) *backend {
	return &backend{
		queue:      db,
		tenants:    db.Tenants,
		keys:       db.Profile(systemTenant),
		config:     db.Config(),
		limits:     db.Limits(),
		hooks:      db.Hooks(),
		schedules:  db.Schedules(),
		triggers:   db.Triggers(),
		endpoints:  db.Endpoints(),
		judgements: db.Judgements(),
		rollups:    db.Rollups(),
		changes:    db.Changes(),
		profile:    db.Profile,
	}
}

// startWait is how long a server that starts waits for its database, and startPause how long it waits between two tries.
const startWait, startPause = 2 * time.Minute, time.Second

// awaitBackend is openBackend for a server: while the database cannot be reached, because it restarts or starts later, it tries again for
// startWait. If ctx is done, it returns no backend and no error.
func awaitBackend(ctx context.Context, s *settings.Settings, log *slog.Logger) (*backend, error) {
	for began, waiting := time.Now(), false; ; waiting = true {
		b, err := openBackend(ctx, s, true, log)
		if ctx.Err() != nil {
			if b != nil {
				b.close(&err)
			}
			return nil, nil
		}
		e, ok := errors.AsType[*exitError](err)
		if !ok || e.code != exitUnavailable || time.Since(began) >= startWait {
			return b, err
		}
		if !waiting {
			log.Warn("the database cannot be reached; waiting for it", "database", databaseName(s.DatabaseURL), "at most", startWait, "error", err)
		}
		select {
		case <-time.After(startPause):
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// load reads whether the database was restored, and returns b. If it cannot, it closes the database.
func (b *backend) load(ctx context.Context) (_ *backend, err error) {
	if b.restoration, err = loadRestoration(ctx, b.keys); err != nil {
		err = failed(err)
		b.close(&err)
		return nil, err
	}
	return b, nil
}

// placeless is the place of a file: processes in different containers may know it by different paths.
func placeless(context.Context) (string, error) { return "", nil }

// databaseName returns the name of a database for messages, without user and password.
func databaseName(secret awaken.Secret) string {
	u, err := url.Parse(secret.Expose())
	if err != nil || u.Host == "" {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + u.Host + u.Path
}

// openKeys returns the keys of a server. Missing reports that there is no admin key and the
// server listens on a loopback address: the caller should create one. It fails if other
// machines can reach the server and there is no key at all, or no admin key for the
// configuration routes.
func openKeys(ctx context.Context, s *settings.Settings, b *backend) (keys *access.Keys, missing bool, err error) {
	keys = access.NewKeys(b.keys)
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
	admin := slices.ContainsFunc(list, func(k server.Key) bool { return k.Permissions().Includes(permit.Admin) })
	if local, err := server.IsLocal(s.Server.Address); err == nil && local {
		return keys, !admin, nil
	}
	if len(list) == 0 {
		e := configError("%s is reachable from other machines, but no key exists", s.Server.Address)
		e.hint = "Create one with 'awaken keys make --kind admin', or set AWAKEN_ADMIN_API_BEARER_TOKEN."
		return nil, false, e
	}
	if s.Admin.Config && !admin {
		e := configError("%s is reachable from other machines, but no admin key protects the configuration routes", s.Server.Address)
		e.hint = "Create one without a tenant ('awaken keys make --kind admin'), set\nAWAKEN_ADMIN_API_BEARER_TOKEN, or set admin.expose_config_routes to false."
		return nil, false, e
	}
	return keys, false, nil
}
