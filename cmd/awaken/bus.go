package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/nats"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/state/profile"
)

// openBus returns the bus between the processes that use a database, or nil if there is none.
func openBus(ctx context.Context, s *settings.Settings, b *backend, log *slog.Logger) (_ bus.Bus, closeBus func(), err error) {
	if s.NATS.URL.IsZero() {
		return b.bus, func() {}, nil
	}
	subject := s.NATS.Subject
	if subject == "" {
		if subject, err = fleetSubject(ctx, b); err != nil {
			return nil, nil, failed(err)
		}
	}
	n, err := nats.Open(s.NATS.URL.Expose(), subject, &nats.Options{Credentials: s.NATS.Credentials, CAFile: s.NATS.CAFile, CertFile: s.NATS.CertFile, KeyFile: s.NATS.KeyFile, Logger: log})
	if err != nil {
		return nil, nil, configError("nats.url: %w", err)
	}
	return n, n.Close, nil
}

// fleetSubject returns the subject of the processes that use a database. A copy of the database in
// another place has a subject of its own.
func fleetSubject(ctx context.Context, b *backend) (string, error) {
	id, err := fleetID(ctx, b.keys)
	if err != nil {
		return "", err
	}
	place, err := b.place(ctx)
	if err != nil {
		return "", err
	}
	if place == "" {
		return "awaken." + id, nil
	}
	sum := sha256.Sum256([]byte(place))
	return "awaken." + id + "-" + hex.EncodeToString(sum[:6]), nil
}

// fleetID returns a name of the database that all processes which use it share and no others: the
// subjects on a NATS server that serves several databases differ in it. The first process makes it.
func fleetID(ctx context.Context, values profile.Store) (id string, err error) {
	made, err := json.Marshal(ids.New())
	if err != nil {
		return "", err
	}
	if _, err := values.CompareAndSet(ctx, fleetNamespace, "id", nil, made); err != nil {
		return "", err
	}
	e, err := values.Get(ctx, fleetNamespace, "id")
	if err != nil {
		return "", err
	}
	return id, json.Unmarshal(e.Value, &id)
}
