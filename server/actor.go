package server

import (
	"net"
	"strings"

	"github.com/awaken-go/awaken/config"
)

// ActorOf returns the caller for the audit log: its key, its address and the name it gives itself.
func ActorOf(req *Request) config.Actor {
	a := config.Actor{ID: "anonymous", RequestID: req.Writer().Header().Get("X-Request-Id")}
	if req.Key != nil {
		a.ID, a.Label = req.Key.ID, req.Key.Label
	}
	if who := req.HTTP().Header.Get("X-Awaken-Actor"); who != "" && len(who) <= 64 && printableASCII(who) {
		a.Label = who
	}
	if req.User != "" { // the server knows it, whatever the client calls itself
		a.Label = req.User
	}
	if host, _, err := net.SplitHostPort(req.HTTP().RemoteAddr); err == nil {
		a.IP = host
	}
	return a
}

func printableASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// RecordChange adds what a caller did to something of its tenant to the audit log, unless there is none.
func RecordChange(req *Request, audit *config.Manager, action, resource string) error {
	if audit == nil {
		return nil
	}
	if name := req.Tenant().Name(); name != "" {
		resource = "tenants/" + name + "/" + resource
	}
	return audit.Audit().Add(req.Context(), action, resource, ActorOf(req), nil)
}
