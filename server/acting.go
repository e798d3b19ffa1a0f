package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// tenantHeader names the tenant that an admin of the whole server acts for.
const tenantHeader = "X-Awaken-Tenant"

// actingFor returns the tenant that a request is made for, if it names one and its key may: an admin
// key that belongs to none.
func actingFor(r *http.Request, c *Caller) (string, error) {
	values := r.Header.Values(tenantHeader)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", protocol.BadRequest("multiple %s headers are not allowed", tenantHeader)
	case !c.May(permit.ActForTenants):
		return "", Forbidden("%s is %.80q, but only an admin key that belongs to no tenant may act for one", tenantHeader, values[0])
	}
	name := values[0]
	if err := (&Key{Kind: AdminKey, Tenant: name}).Check(); err != nil || name == "" || strings.ContainsFunc(name, unicode.IsControl) {
		return "", protocol.BadRequest("%s is %.80q, want the name of a tenant, with at most 200 bytes", tenantHeader, name)
	}
	return name, nil
}

// readsEvery is how often it is recorded that an admin reads a tenant's data.
const readsEvery = 10 * time.Minute

// visits records what admins of the server do for tenants.
type visits struct {
	control *config.Manager // has the audit log; may be nil

	mu    sync.Mutex
	reads map[[2]string]time.Time // key and tenant -> when a read was recorded
}

// record writes to the audit log that an admin acts for a tenant: every request that may change
// something, before it does, and reads now and then. What cannot be recorded does not happen.
func (h *visits) record(req *Request) error {
	if req.Acting == "" || h.control == nil {
		return nil
	}
	action, who := "act", [2]string{req.KeyID(), req.Acting}
	if req.HTTP().Method == http.MethodGet || req.HTTP().Method == http.MethodHead {
		action = "read"
		h.mu.Lock()
		recent := time.Since(h.reads[who]) < readsEvery
		h.mu.Unlock()
		if recent {
			return nil
		}
	}
	after, err := json.Marshal(struct {
		Method string `json:"method"`
		Path   string `json:"path"`
	}{req.HTTP().Method, req.HTTP().URL.Path})
	if err != nil {
		return err
	}
	if err := h.control.Audit().Add(req.Context(), action, "tenants/"+req.Acting, ActorOf(req), after); err != nil || action != "read" {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reads == nil || len(h.reads) >= 10_000 {
		h.reads = map[[2]string]time.Time{}
	}
	h.reads[who] = time.Now()
	return nil
}
