package server

import (
	"errors"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/trace"
)

// pins has the handlers that keep runs from retention.
type pins struct {
	audit *config.Manager // nil keeps no audit log
}

func (h *pins) routes() []protocol.Route {
	const path = "/v1/traces/{run_id}/pin"
	return []protocol.Route{
		{Method: "GET", Path: path, Access: protocol.Admins, Handle: own(h.list),
			Summary: "List the reasons to keep a run", Replies: map[int]any{200: pinList{}}},
		{Method: "POST", Path: path, Access: protocol.Admins, Handle: own(h.add),
			Summary: "Keep a run and the runs below it from retention", Body: newPin{}, Replies: map[int]any{204: nil}},
		{Method: "DELETE", Path: path, Access: protocol.Admins, Handle: own(h.remove),
			Summary: "Remove a reason to keep a run",
			Query: []protocol.Param{param("kind", "operator|evidence|dataset", "kind of the pin; default operator"),
				param("ref", "string", "what the pin refers to; default nothing")},
			Replies: map[int]any{204: nil}},
	}
}

// pinList is what keeps a run.
type pinList struct {
	Pins []trace.Pin `json:"pins"`
}

type newPin struct {
	Kind   trace.PinKind `json:"kind,omitempty"`   // operator (the default), evidence or dataset
	Ref    string        `json:"ref,omitempty"`    // what needs the run, such as the id of an evaluation
	Reason string        `json:"reason,omitempty"` // for people
}

// pinsOf returns the pins of the tenant of a request.
func pinsOf(req *request) trace.Pins { return trace.Pins{Store: editor(req.tenant)} }

func (h *pins) list(req *request) error {
	run, err := req.run()
	if err != nil {
		return err
	}
	list, err := pinsOf(req).Of(req.ctx, run)
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
func (h *pins) add(req *request) error {
	body := &newPin{}
	if req.r.ContentLength != 0 {
		if err := req.Decode(body); err != nil {
			return err
		}
	}
	run, err := req.run()
	if err != nil {
		return err
	}
	pin := trace.Pin{Kind: body.Kind, Ref: body.Ref, Reason: body.Reason, By: actorOf(req).String()}
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
	if err := pinsOf(req).Add(req.ctx, run.RunID, pin); err != nil {
		return err
	}
	return req.done(recordChange(req, h.audit, "pin", "traces/"+run.RunID))
}

func (h *pins) remove(req *request) error {
	run, err := req.run()
	if err != nil {
		return err
	}
	kind := trace.PinKind(req.value("kind"))
	if kind == "" {
		kind = trace.PinOperator
	}
	had := false
	if run.StartedAt != 0 {
		if had, err = pinsOf(req).Remove(req.ctx, run.RunID, kind, req.value("ref")); err != nil {
			return err
		}
	}
	if !had {
		return req.done(nil)
	}
	return req.done(recordChange(req, h.audit, "unpin", "traces/"+run.RunID))
}

// sources returns the runs that the cases of a dataset are made of.
func sources(spec *eval.Dataset) map[string]bool {
	out := map[string]bool{}
	for i := range spec.Fixtures {
		if id := spec.Fixtures[i].SourceRunID; id != "" {
			out[id] = true
		}
	}
	return out
}

// keepSources pins the runs that a dataset is made of now and was not before.
func keepSources(req *request, id string, before, now map[string]bool) error {
	for run := range now {
		if before[run] {
			continue
		}
		err := pinsOf(req).Add(req.ctx, run, trace.Pin{Kind: trace.PinDataset, Ref: id, By: actorOf(req).String()})
		if err != nil && !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, awaken.ErrInvalid) { // cases may name runs of other servers
			return err
		}
	}
	return nil
}

// releaseSources removes the pins of runs that a dataset was made of before and is not now.
func releaseSources(req *request, id string, before, now map[string]bool) error {
	for run := range before {
		if now[run] {
			continue
		}
		if _, err := pinsOf(req).Remove(req.ctx, run, trace.PinDataset, id); err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
	}
	return nil
}

// dropSources removes the pins of runs that a dataset was to be made of, after it could not be written, unless it is made of them.
func dropSources(req *request, a *archive.Archive, id string, wanted map[string]bool) error {
	if len(wanted) == 0 {
		return nil
	}
	now := map[string]bool{}
	switch d, err := a.Dataset(req.ctx, id); {
	case err == nil:
		now = sources(&d.Spec)
	case !errors.Is(err, awaken.ErrNotFound):
		return err
	}
	return releaseSources(req, id, wanted, now)
}
