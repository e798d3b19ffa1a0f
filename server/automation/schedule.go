package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/schedule/fire"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// schedules has the handlers of the schedules of a tenant.
type schedules struct {
	store  schedule.Store
	worker *fire.Worker
	audit  *config.Manager // nil keeps no audit log
	newID  func() string
}

func newSchedules(cfg *Config, k *server.Kernel) (*schedules, error) {
	worker, err := fire.New(fire.Config{Store: cfg.Schedules, Runs: scheduled{launcher{k.Mailbox, k.TrustClients}}, Logger: k.Logger})
	if err != nil {
		return nil, err
	}
	return &schedules{store: cfg.Schedules, worker: worker, audit: k.Control, newID: k.NewID}, nil
}

// scheduled starts the runs of schedules.
type scheduled struct{ launcher }

// timeWord is the placeholder in messages for the scheduled time.
const timeWord = "{{scheduled_time}}"

// Start implements [fire.Runs].
func (r scheduled) Start(ctx context.Context, s *schedule.Schedule) (string, error) {
	t, err := templateOf(s.Spec.Run)
	if err != nil {
		return "", fmt.Errorf("%w: %w", fire.ErrRefused, err)
	}
	p := s.State.Pending
	receipt, err := r.start(ctx, &launch{tenant: s.Tenant, template: t, runID: p.RunID, threadID: p.ThreadID, by: "schedule " + s.ID, mode: "scheduled", fill: func(msgs []*llm.Message) {
		for _, m := range msgs {
			for i := range m.Content {
				m.Content[i].Text = strings.ReplaceAll(m.Content[i].Text, timeWord, p.At.Format(time.RFC3339))
			}
		}
	}})
	if errors.Is(err, errRefused) {
		return "", fmt.Errorf("%w%s", fire.ErrRefused, strings.TrimPrefix(err.Error(), errRefused.Error()))
	}
	if err != nil {
		return "", err
	}
	return receipt.ThreadID, nil
}

// Active implements [fire.Runs].
func (r scheduled) Active(ctx context.Context, tenant, runID string) (bool, error) {
	return r.active(ctx, tenant, runID)
}

// Cancel implements [fire.Runs].
func (r scheduled) Cancel(ctx context.Context, tenant, runID string) error {
	return r.cancel(ctx, tenant, runID)
}

func (h *schedules) routes() []protocol.Route {
	const all, one = "/v1/schedules", "/v1/schedules/{schedule_id}"
	page := []protocol.Param{server.Param("cursor", "string", "next_cursor of the previous page"), server.Param("limit", "integer", "maximum number of items, 1 to 200; default 50")}
	return []protocol.Route{
		{Method: "GET", Path: all, Needs: permit.ReadAutomation, Handle: server.Handle(h.list), Query: page,
			Summary: "List the schedules, by id", Replies: map[int]any{200: scheduleList{}}},
		{Method: "POST", Path: all, Needs: permit.WriteAutomation, Handle: server.HandleBody(h.create), Body: newSchedule{},
			Summary: "Create a schedule", Replies: map[int]any{201: scheduleView{}}, Failures: []int{409}},
		{Method: "POST", Path: all + "/preview", Needs: permit.ReadAutomation, Handle: server.HandleBody(h.preview), Body: timesBody{},
			Summary: "List the next times of an expression", Replies: map[int]any{200: timesList{}}},
		{Method: "GET", Path: one, Needs: permit.ReadAutomation, Handle: server.Handle(h.get),
			Summary: "Get a schedule", Replies: map[int]any{200: scheduleView{}}},
		{Method: "PUT", Path: one, Needs: permit.WriteAutomation, Handle: server.HandleBody(h.put), Body: putSchedule{},
			Summary: "Replace a schedule", Replies: map[int]any{200: scheduleView{}}, Failures: []int{409}},
		{Method: "DELETE", Path: one, Needs: permit.WriteAutomation, Handle: server.Handle(h.delete),
			Summary: "Delete a schedule and its log; its runs stay", Replies: map[int]any{204: nil}},
		{Method: "POST", Path: one + "/pause", Needs: permit.WriteAutomation, Handle: server.Handle(func(req *server.Request) error { return h.pause(req, true) }),
			Summary: "Pause a schedule: it skips its times until it is resumed", Replies: map[int]any{200: scheduleView{}}, Failures: []int{409}},
		{Method: "POST", Path: one + "/resume", Needs: permit.WriteAutomation, Handle: server.Handle(func(req *server.Request) error { return h.pause(req, false) }),
			Summary: "Resume a paused schedule", Replies: map[int]any{200: scheduleView{}}, Failures: []int{409}},
		{Method: "POST", Path: one + "/run", Needs: permit.WriteAutomation, Handle: server.Handle(h.run),
			Summary: "Start a run of a schedule now", Replies: map[int]any{200: schedule.Firing{}}, Failures: []int{409}},
		{Method: "GET", Path: one + "/firings", Needs: permit.ReadAutomation, Handle: server.Handle(h.firings), Query: page,
			Summary: "List the firings of a schedule, latest first", Replies: map[int]any{200: firingList{}}},
	}
}

// scheduleView is a schedule as clients see it.
type scheduleView struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"` // increases with changes by clients, not with starts
	schedule.Spec
	Status string `json:"status"` // active, paused or ended
	// NextAt is the next time, without its delay.
	NextAt   *time.Time        `json:"next_at,omitempty"`
	Upcoming []time.Time       `json:"upcoming"`          // the next five times
	Pending  *schedule.Pending `json:"pending,omitempty"` // a start that was decided and has not been recorded
	LastRun  string            `json:"last_run_id,omitempty"`
	// Last is the outcome of the latest time, and LastAt that time.
	Last   schedule.Outcome `json:"last_outcome,omitempty"`
	LastAt *time.Time       `json:"last_at,omitempty"`
	Counts firingCounts     `json:"counts"`
}

// firingCounts counts the outcomes of the times of a schedule.
type firingCounts struct {
	Started int64 `json:"started"`
	Missed  int64 `json:"missed"`
	Skipped int64 `json:"skipped"`
	Refused int64 `json:"refused"`
}

func viewOf(s *schedule.Schedule) scheduleView {
	v := scheduleView{ID: s.ID, Revision: s.State.Edits, Spec: s.Spec, Status: "active", Upcoming: s.Upcoming(5), Pending: s.State.Pending, LastRun: s.State.LastRun,
		Counts: firingCounts{s.State.Started, s.State.Missed, s.State.Skipped, s.State.Refused}}
	switch {
	case s.Ended():
		v.Status = "ended"
	case s.Spec.Paused:
		v.Status = "paused"
	}
	if v.Last = s.State.Last; v.Last != "" {
		v.LastAt = &s.State.LastAt
	}
	if len(v.Upcoming) > 0 {
		v.NextAt = &v.Upcoming[0]
	} else {
		v.Upcoming = []time.Time{}
	}
	return v
}

type scheduleList struct {
	Items      []scheduleView `json:"items"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

const scheduleCursor = "s."

func (h *schedules) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	filters := server.FiltersOf(req, nil)
	from, err := req.Behind(scheduleCursor, filters)
	if err != nil {
		return err
	}
	limit := req.Number("limit", 50, 1, 200)
	found, err := h.store.List(req.Context(), req.Tenant().Name(), from.At, limit+1)
	if err != nil {
		return err
	}
	out := scheduleList{Items: []scheduleView{}}
	for i, s := range found {
		if i == limit {
			out.NextCursor = server.CursorText(scheduleCursor, server.Keyset{At: found[i-1].ID, Of: filters})
			break
		}
		out.Items = append(out.Items, viewOf(s))
	}
	return req.Reply(200, out)
}

type newSchedule struct {
	ID string `json:"id,omitempty"` // generated if absent
	schedule.Spec
}

// maxSchedules is how many schedules a tenant may have.
const maxSchedules = 1000

func (h *schedules) create(req *server.Request, body *newSchedule) error {
	s := &schedule.Schedule{Tenant: req.Tenant().Name(), ID: body.ID, Spec: body.Spec}
	if s.ID == "" {
		s.ID = h.newID()
	}
	if err := protocol.CheckID("id", s.ID); err != nil {
		return err
	}
	if err := h.arm(req, s); err != nil {
		return err
	}
	if found, err := h.store.List(req.Context(), s.Tenant, "", maxSchedules); err != nil {
		return err
	} else if len(found) == maxSchedules {
		return server.Fail(http.StatusConflict, "too_many_schedules", "the tenant has %d schedules, the maximum; delete one first", maxSchedules)
	}
	s.State.Edits = 1
	if made, err := h.store.Swap(req.Context(), s); err != nil {
		return err
	} else if !made {
		return server.Fail(http.StatusConflict, "conflict", "schedule %q already exists", s.ID)
	}
	return h.changed(req, "create", http.StatusCreated, s)
}

// arm checks a schedule and determines its next time.
func (h *schedules) arm(req *server.Request, s *schedule.Schedule) error {
	if err := s.Arm(time.Now()); err != nil {
		return protocol.BadRequest("%s", err)
	}
	t, err := templateOf(s.Spec.Run)
	if err != nil {
		return protocol.BadRequest("%s", server.Plain(err.Error()))
	}
	return t.check(req)
}

// changed records that a schedule was changed, and replies with it.
func (h *schedules) changed(req *server.Request, action string, status int, s *schedule.Schedule) error {
	s.Revision++
	if err := server.RecordChange(req, h.audit, action, "schedules/"+s.ID); err != nil {
		return err
	}
	return req.Reply(status, viewOf(s))
}

// of returns the schedule of a request.
func (h *schedules) of(req *server.Request) (*schedule.Schedule, error) {
	s, err := h.store.Get(req.Context(), req.Tenant().Name(), req.Path("schedule_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		err = protocol.NotFound("schedule", req.Path("schedule_id"))
	}
	return s, err
}

func (h *schedules) get(req *server.Request) error {
	s, err := h.of(req)
	if err != nil {
		return err
	}
	return req.Reply(200, viewOf(s))
}

type putSchedule struct {
	// ExpectedRevision, if set, must be the current revision.
	ExpectedRevision *int64 `json:"expected_revision,omitempty"`
	schedule.Spec
}

func (h *schedules) put(req *server.Request, body *putSchedule) error {
	return h.change(req, "update", func(s *schedule.Schedule) error {
		if err := expect("schedule", s.ID, s.State.Edits, body.ExpectedRevision); err != nil {
			return err
		}
		s.Spec = body.Spec
		return h.arm(req, s)
	})
}

// expect fails if a document does not have the revision that a client wants to replace, unless it is nil.
func expect(kind, id string, revision int64, want *int64) error {
	if want == nil || *want == revision {
		return nil
	}
	return server.Fail(http.StatusConflict, "conflict", "%s %q: its revision is %d, not %d", kind, id, revision, *want)
}

// change changes the schedule of a request. A start that happens meanwhile is not a conflict.
func (h *schedules) change(req *server.Request, action string, change func(s *schedule.Schedule) error) error {
	for range 10 {
		s, err := h.of(req)
		if err != nil {
			return err
		}
		if err := change(s); err != nil {
			return err
		}
		s.State.Edits++
		if done, err := h.store.Swap(req.Context(), s); err != nil {
			return err
		} else if done {
			return h.changed(req, action, http.StatusOK, s)
		}
	}
	return server.Fail(http.StatusConflict, "conflict", "schedule %q is being changed", req.Path("schedule_id"))
}

func (h *schedules) pause(req *server.Request, paused bool) error {
	action := "resume"
	if paused {
		action = "pause"
	}
	return h.change(req, action, func(s *schedule.Schedule) error {
		if s.Spec.Paused == paused {
			return nil
		}
		s.Spec.Paused = paused
		if err := s.Arm(time.Now()); err != nil { // it was accepted by an earlier release
			return protocol.BadRequest("%s", err)
		}
		return nil
	})
}

func (h *schedules) delete(req *server.Request) error {
	id := req.Path("schedule_id")
	if existed, err := h.store.Drop(req.Context(), req.Tenant().Name(), id); err != nil {
		return err
	} else if !existed {
		return protocol.NotFound("schedule", id)
	}
	return req.Done(server.RecordChange(req, h.audit, "delete", "schedules/"+id))
}

func (h *schedules) run(req *server.Request) error {
	f, err := h.worker.Now(req.Context(), req.Tenant().Name(), req.Path("schedule_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		return protocol.NotFound("schedule", req.Path("schedule_id"))
	}
	if err != nil {
		return err
	}
	if err := server.RecordChange(req, h.audit, "run", "schedules/"+req.Path("schedule_id")); err != nil {
		return err
	}
	return req.Reply(200, f)
}

type firingList struct {
	Items      []schedule.Firing `json:"items"`
	NextCursor string            `json:"next_cursor,omitempty"`
}

func (h *schedules) firings(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	s, err := h.of(req)
	if err != nil {
		return err
	}
	filters := server.FiltersOf(req, s.ID)
	from, err := req.Behind(scheduleCursor, filters)
	if err != nil {
		return err
	}
	var before int64
	if from.At != "" {
		if before, err = strconv.ParseInt(from.At, 10, 64); err != nil || before < 1 {
			return server.ErrCursor
		}
	}
	limit := req.Number("limit", 50, 1, 200)
	found, err := h.store.Firings(req.Context(), s.Tenant, s.ID, before, limit+1)
	if err != nil {
		return err
	}
	out := firingList{Items: []schedule.Firing{}}
	if out.Items = append(out.Items, found[:min(limit, len(found))]...); len(found) > limit {
		out.NextCursor = server.CursorText(scheduleCursor, server.Keyset{At: strconv.FormatInt(found[limit-1].Number, 10), Of: filters})
	}
	return req.Reply(200, out)
}

type timesBody struct {
	Cron     string     `json:"cron"`
	TimeZone string     `json:"time_zone,omitempty"`
	EndsAt   *time.Time `json:"ends_at,omitempty"`
	From     *time.Time `json:"from,omitempty"` // default now
}

type timesList struct {
	Upcoming []time.Time `json:"upcoming"` // the next ten times, in the time zone
}

func (h *schedules) preview(req *server.Request, body *timesBody) error {
	s := &schedule.Schedule{Spec: schedule.Spec{Cron: body.Cron, TimeZone: body.TimeZone, EndsAt: body.EndsAt, Run: json.RawMessage(`{}`)}}
	from := time.Now()
	if body.From != nil {
		if from = body.From.UTC(); from.Year() < 1970 || from.Year() > 9999 {
			return protocol.BadRequest("from is %s; want a time from 1970 to 9999", body.From.Format(time.RFC3339))
		}
	}
	if err := s.Arm(from); err != nil {
		return protocol.BadRequest("%s", err)
	}
	return req.Reply(200, timesList{append([]time.Time{}, s.Upcoming(10)...)})
}
