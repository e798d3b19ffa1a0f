package main

import (
	"context"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol/a2a/remote"
)

// a2aServers answers for the A2A servers of documents.
type a2aServers struct{ backend *remote.Backend }

// Status implements [config.A2AConnector].
func (a a2aServers) Status(ctx context.Context, spec *config.A2AServerSpec) config.A2AStatus {
	s := a.backend.Status(ctx, remote.Server{BaseURL: spec.BaseURL, Auth: spec.Auth, Target: spec.Target, CardTimeout: time.Duration(spec.TimeoutMS) * time.Millisecond}, spec.Options)
	out := config.A2AStatus{Connected: s.Err == nil, CardURL: s.CardURL, Card: s.Card}
	if s.Err != nil {
		text := s.Err.Error()
		out.LastError = &text
	}
	return out
}
