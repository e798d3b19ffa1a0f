package runs

import (
	"errors"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/trace"
)

// pins has the handlers that keep runs from retention.
type pins struct {
	audit *config.Manager // nil keeps no audit log
}

func (h *pins) routes() []protocol.Route {
	const path = "/v1/traces/{run_id}/pin"
	return []protocol.Route{
		{Method: "GET", Path: path, Needs: permit.ReadTraces, Handle: server.Handle(h.list),
			Summary: "List the reasons to keep a run", Replies: map[int]any{200: pinList{}}},
		{Method: "POST", Path: path, Needs: permit.WriteTraces, Handle: server.Handle(h.add),
			Summary: "Protect a run and its child runs from retention", Body: newPin{}, Replies: map[int]any{204: nil}},
		{Method: "DELETE", Path: path, Needs: permit.WriteTraces, Handle: server.Handle(h.remove),
			Summary: "Remove a reason to keep a run",
			Query: []protocol.Param{server.Param("kind", "operator|evidence|dataset", "kind of the pin; default operator"),
				server.Param("ref", "string", "object that the pin refers to; default none")},
			Replies: map[int]any{204: nil}},
	}
}

// pinList lists the pins of a run.
type pinList struct {
	Pins []trace.Pin `json:"pins"`
}

type newPin struct {
	Kind   trace.PinKind `json:"kind,omitempty"`   // operator (the default), evidence or dataset
	Ref    string        `json:"ref,omitempty"`    // what needs the run, such as the id of an evaluation
	Reason string        `json:"reason,omitempty"` // for people
}

// pinsOf returns the pins of the tenant of a request.
func pinsOf(req *server.Request) trace.Pins { return trace.Pins{Store: server.ThreadsOf(req.Tenant())} }

func (h *pins) list(req *server.Request) error {
	run, err := req.Run()
	if err != nil {
		return err
	}
	list, err := pinsOf(req).Of(req.Context(), run)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) { // a run that has not started may have no thread
		return err
	}
	return req.Reply(200, pinList{append([]trace.Pin{}, list...)})
}

const (
	maxPinRef    = 200
	maxPinReason = 1000
)

// add pins a run. A request without a body pins it for its operator, as in the original.
func (h *pins) add(req *server.Request) error {
	body := &newPin{}
	if req.HTTP().ContentLength != 0 {
		if err := req.Decode(body); err != nil {
			return err
		}
	}
	run, err := req.Run()
	if err != nil {
		return err
	}
	pin := trace.Pin{Kind: body.Kind, Ref: body.Ref, Reason: body.Reason, By: server.ActorOf(req).String()}
	if pin.Kind == "" {
		pin.Kind = trace.PinOperator
	}
	switch {
	case !slices.Contains([]trace.PinKind{trace.PinOperator, trace.PinEvidence, trace.PinDataset}, pin.Kind):
		return protocol.BadRequest("kind is %.80q, want operator, evidence or dataset", pin.Kind)
	case len(pin.Ref) > maxPinRef:
		return protocol.BadRequest("ref has %d bytes, want up to %d", len(pin.Ref), maxPinRef)
	case len(pin.Reason) > maxPinReason:
		return protocol.BadRequest("reason has %d bytes, want up to %d", len(pin.Reason), maxPinReason)
	case run.StartedAt == 0:
		return protocol.BadRequest("run %s has not started: there is nothing to keep yet", run.RunID)
	}
	if err := pinsOf(req).Add(req.Context(), run.RunID, pin); err != nil {
		return err
	}
	return req.Done(server.RecordChange(req, h.audit, "pin", "traces/"+run.RunID))
}

func (h *pins) remove(req *server.Request) error {
	run, err := req.Run()
	if err != nil {
		return err
	}
	kind := trace.PinKind(req.Value("kind"))
	if kind == "" {
		kind = trace.PinOperator
	}
	had := false
	if run.StartedAt != 0 {
		if had, err = pinsOf(req).Remove(req.Context(), run.RunID, kind, req.Value("ref")); err != nil {
			return err
		}
	}
	if !had {
		return req.Done(nil)
	}
	return req.Done(server.RecordChange(req, h.audit, "unpin", "traces/"+run.RunID))
}
