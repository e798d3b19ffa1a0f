package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/awaken-go/awaken/protocol"
)

// Table returns the routes of a server.
func (s *Server) Table() []protocol.Route { return s.routes }

// WriteCertificate writes a certificate and its key.
var WriteCertificate = writeCertificate

// ObserveWithExemplars returns a function that records durations with exemplars.
func ObserveWithExemplars() func(ctx context.Context, h prometheus.Observer, seconds float64) {
	return new(exemplars).observe
}
