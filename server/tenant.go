package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
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
	case !c.Governs():
		return "", Forbidden("%s is %.80q, but only an admin key that belongs to no tenant may act for one", tenantHeader, values[0])
	}
	name := values[0]
	if err := (&Key{Kind: AdminKey, Tenant: name}).check(); err != nil || name == "" || strings.ContainsFunc(name, unicode.IsControl) {
		return "", protocol.BadRequest("%s is %.80q, want the name of a tenant, with at most 200 bytes", tenantHeader, name)
	}
	return name, nil
}

// readsEvery is how often it is recorded that an admin reads a tenant's data.
const readsEvery = 10 * time.Minute

// tenants has the handler of the list of tenants, and records what admins of the server do for them.
type tenants struct {
	keys    *Keys           // may be nil
	control *config.Manager // has the audit log; may be nil

	mu    sync.Mutex
	reads map[[2]string]time.Time // key and tenant -> when a read was recorded
}

func (h *tenants) routes() []protocol.Route {
	return ForGlobalAdmins([]protocol.Route{
		{Method: "GET", Path: "/v1/tenants", Handle: Handle(h.list),
			Summary: "List the tenants that have keys, and the default tenant", Replies: map[int]any{200: tenantList{}}},
	})
}

type tenantList struct {
	Items []tenantItem `json:"items"`
}

type tenantItem struct {
	Tenant string `json:"tenant"` // "" is the default tenant
	Keys   int    `json:"keys"`
}

func (h *tenants) list(req *Request) error {
	keys, err := h.keys.List(req.Context())
	if err != nil {
		return err
	}
	count := map[string]int{"": 0}
	for _, k := range keys {
		count[k.Tenant]++
	}
	out := tenantList{Items: []tenantItem{}}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out.Items = append(out.Items, tenantItem{name, count[name]})
	}
	return req.Reply(200, out)
}

// record writes to the audit log that an admin acts for a tenant: every request that may change
// something, before it does, and reads now and then. What cannot be recorded does not happen.
func (h *tenants) record(req *Request) error {
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
