package server_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/store/memory"
)

// The audit log names the key that created or revoked another, and the name the caller gave.
func TestKeys_CreatingAndRevokingIsAudited(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	made := g.want(201, "POST", "/v1/keys", `{"kind":"run","tenant":"acme"}`, append([]string{"X-Awaken-Actor", "ada"}, admin...)...)
	id := made["id"].(string)
	g.want(204, "DELETE", "/v1/keys/"+id, "", admin...)
	_, text := g.ask("GET", "/v1/audit-log?resource=keys", "", admin...)
	for _, want := range []string{`"action":"create","resource":"keys/` + id, `"action":"revoke","resource":"keys/` + id, `"actor":"admin/ada"`, `"ip":"127.0.0.1"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit log lacks %s: %s", want, text)
		}
	}
	if strings.Contains(text, made["secret"].(string)) {
		t.Error("the audit log shows the secret")
	}
}

func TestKeys_WithoutAuditNothingIsCreatedOrRevoked(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(memory.NewProfile()), conf: brokenConfig{memory.NewDB().Config(), &broken, errors.New("disk full")}}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.start()
	first := g.want(201, "POST", "/v1/keys", `{"kind":"run"}`, admin...)["id"].(string)
	broken.Store(true)
	g.want(500, "POST", "/v1/keys", `{"kind":"run"}`, admin...)
	g.want(500, "DELETE", "/v1/keys/"+first, "", admin...)
	list, err := g.keys.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("keys are %v, %v; want the admin's and %s", list, err, first)
	}
}

func TestNewAuditLog_AddsToTheLogOfTheStore(t *testing.T) {
	t.Parallel()
	store := memory.NewDB().Config()
	if err := config.NewAuditLog(store).Add(t.Context(), "create", "keys/k", config.Actor{ID: "a"}, nil); err != nil {
		t.Fatal(err)
	}
	list, err := config.NewAuditLog(store).List(t.Context(), config.AuditQuery{Resource: "keys"})
	if err != nil || len(list) != 1 || list[0].Resource != "keys/k" {
		t.Errorf("%v, %v; want the event", list, err)
	}
}
