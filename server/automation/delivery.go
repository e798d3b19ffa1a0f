package automation

import (
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// deliveries has the handler of what was sent to the receivers of hooks.
type deliveries struct{ hooks webhook.Store }

func (h *deliveries) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/deliveries", Needs: permit.ReadAutomation, Handle: server.Handle(h.list),
			Summary: "List the receivers of push notifications, and the latest attempts to deliver to each",
			Query:   []protocol.Param{server.Param("run_id", "string", "only deliveries of this run"), server.Param("limit", "integer", "maximum number of receivers, 1 to 1000; default 100")},
			Replies: map[int]any{200: deliveryList{}}},
	}
}

// deliveryList lists deliveries.
type deliveryList struct {
	Items []delivery `json:"items"` // by run and id
}

// delivery describes the delivery of a run's messages to a receiver.
type delivery struct {
	RunID     string            `json:"run_id"`
	ID        string            `json:"id"` // of the push configuration
	Kind      string            `json:"kind"`
	URL       string            `json:"url"` // without its query
	Delivered int               `json:"delivered"`
	Failures  int               `json:"failures"`        // in a row
	Ended     string            `json:"ended,omitempty"` // why nothing more is sent
	NextAt    *time.Time        `json:"next_at,omitempty"`
	Attempts  []webhook.Attempt `json:"attempts"` // the latest, the newest last
}

func (h *deliveries) list(req *server.Request) error {
	hooks, err := h.hooks.Hooks(req.Context(), webhook.Query{Tenant: req.Tenant().Name(), RunID: req.Value("run_id"), Limit: protocol.NumberParam(req.Values(), "limit", 100, 1, 1000)})
	if err != nil {
		return err
	}
	out := deliveryList{Items: []delivery{}}
	for _, hook := range hooks {
		out.Items = append(out.Items, deliveryOf(hook, time.Now()))
	}
	return req.Reply(200, out)
}

// deliveryOf returns what was sent to the receiver of a hook.
func deliveryOf(hook *webhook.Hook, now time.Time) delivery {
	d := delivery{RunID: hook.RunID, ID: hook.ID, Kind: hook.Kind, URL: hook.Target.Shown(), Delivered: hook.Sent, Failures: hook.Failures, Ended: hook.Ended, Attempts: hook.Attempts}
	if d.Attempts == nil {
		d.Attempts = []webhook.Attempt{}
	}
	if hook.Ended == "" && hook.Failures > 0 {
		at := now.Add(hook.Wait).UTC().Truncate(time.Second)
		d.NextAt = &at
	}
	return d
}
