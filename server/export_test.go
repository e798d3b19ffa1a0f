package server

import "github.com/awaken-go/awaken/protocol"

// Table returns the routes of a server.
func (s *Server) Table() []protocol.Route { return s.routes }

// WriteCertificate writes a certificate and its key.
var WriteCertificate = writeCertificate
