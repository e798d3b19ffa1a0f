package evals

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/eval/job"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/state/profile"
)

// Limits bounds evaluations. A field that is 0 has its default, except for Revisions.
type Limits struct {
	SyncCells         int // cells of a run that a request waits for; default 100
	AsyncCells        int // cells of any other run; default 20,000
	Concurrency       int // cells of a run at a time; default 5
	OnlineCells       int // cells of an online evaluation; default 10
	OnlineConcurrency int // cells of an online evaluation at a time; default 5
	Samples           int // samples of a cell; default 20
	Revisions         int // revisions that a judge may ask for
	Imports           int // runs that an import takes, unless the request says otherwise; default 50
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		limit *int
		def   int
	}{{&l.SyncCells, 100}, {&l.AsyncCells, 20_000}, {&l.Concurrency, 5}, {&l.OnlineCells, 10}, {&l.OnlineConcurrency, 5}, {&l.Samples, 20}, {&l.Imports, 50}} {
		if *f.limit <= 0 {
			*f.limit = f.def
		}
	}
	return l
}

// evaluations has the handlers of runs over datasets.
type evaluations struct {
	runner   *runner.Runner
	limits   Limits
	registry func() *registry.Registry
	control  *config.Manager // nil if there is none
	streams  *server.Streams
	newID    func() string
	jobs     *job.Jobs
}

func newEvaluations(cfg *Config, k *server.Kernel) *evaluations {
	h := &evaluations{runner: &runner.Runner{Open: cfg.Open}, limits: cfg.Limits.withDefaults(), registry: k.Registry, control: k.Control, streams: k.Streams, newID: k.NewID}
	h.jobs = job.New(k.Serving, job.Config{NewID: k.NewID, Runner: h.runner, Plan: h.again, Logger: k.Logger, Lease: cfg.Lease,
		Values: func(tenant string) profile.Store { return server.RuntimeOf(k.Mailbox.Tenant(tenant)).Profile() },
		Purse: func(tenant string) *job.Purse {
			return &job.Purse{Budget: server.BudgetOf(k.Mailbox.Tenant(tenant)), Limit: cfg.TenantUSD}
		}})
	return h
}

// again makes the plan of a run that began before, with the version of the registry that it began with.
func (h *evaluations) again(ctx context.Context, header *archive.Header, cases []eval.Fixture) (*runner.Plan, error) {
	var body evalRunBody
	if err := json.Unmarshal(header.Request, &body); err != nil {
		return nil, err
	}
	versions := body.Versions
	if len(versions) == 0 {
		versions = []string{header.ResolutionID}
	}
	var regs []*registry.Registry
	for _, id := range versions {
		reg := h.registry()
		if h.control != nil && id != reg.ID() {
			var err error
			if reg, err = h.control.Pinned(ctx, id); err != nil {
				return nil, err
			}
		}
		regs = append(regs, reg)
	}
	plan, err := body.plan(regs, cases, header.ExecutionMode == liveMode)
	if err == nil {
		plan.Limits.Concurrency = h.limits.Concurrency
	}
	return plan, err
}

func (h *evaluations) routes() []protocol.Route {
	const all, one = "/v1/eval/runs", "/v1/eval/runs/{id}"
	baseline := server.Param("baseline", "string", "a run to compare with; default the baseline_run_id that the run began with")
	reference := server.Param("reference", "integer", "the variant to compare with, by its number in statistics, from 0: of the baseline, or of the run itself without one; default the variant of the same name in the baseline, or 0")
	return []protocol.Route{
		{Method: "GET", Path: all, Needs: permit.ReadEvals, Handle: server.Handle(h.list),
			Summary: "List the runs over datasets, newest first", Replies: map[int]any{200: evalRunList{}},
			Query: []protocol.Param{server.Param("dataset_id", "string", "only runs over this dataset"), server.Param("since_secs", "integer", "only runs that started at this time or later, Unix seconds"),
				server.Param("until_secs", "integer", "only runs that started before this time, Unix seconds"), server.Param("cursor", "string", "next_cursor of the previous page, with the same filters"), server.Param("limit", "integer", "maximum number of runs, 1 to 1000; default 100")}},
		{Method: "POST", Path: all, Needs: permit.RunEvals, Handle: server.HandleBody(h.start), Body: evalRunBody{}, Stream: true,
			Headers: []protocol.Param{server.Param("Prefer", "string", "respond-async: reply immediately with status 202; the run continues, even after a restart")},
			Summary: "Run a dataset", Replies: map[int]any{200: evalRunReply{}, 202: evalRunReply{}}, Failures: []int{404}},
		{Method: "POST", Path: all + "/estimate", Needs: permit.RunEvals, Handle: server.HandleBody(h.estimate), Body: evalRunBody{},
			Summary: "Estimate what a run over a dataset takes, and show the limits it would have, without starting it", Replies: map[int]any{200: evalEstimate{}}, Failures: []int{404}},
		{Method: "GET", Path: one, Needs: permit.ReadEvals, Handle: server.Handle(h.get), Query: []protocol.Param{baseline, reference, server.Param("aggregate", "samples", "add up the samples of each cell")},
			Summary: "Get a run over a dataset", Replies: map[int]any{200: evalRunReply{}}},
		{Method: "DELETE", Path: one, Needs: permit.RunEvals, Handle: server.Handle(h.delete),
			Summary: "Delete a run over a dataset that has ended", Replies: map[int]any{204: nil}, Failures: []int{409}},
		{Method: "POST", Path: one + "/cancel", Needs: permit.RunEvals, Handle: server.Handle(h.cancel),
			Summary: "Cancel a run over a dataset", Replies: map[int]any{200: evalRunReply{}}},
		{Method: "POST", Path: one + "/resume", Needs: permit.RunEvals, Handle: server.HandleBody(h.resume), Body: resumeBody{},
			Summary: "Retry the cells in doubt of a run over a dataset", Replies: map[int]any{202: evalRunReply{}}, Failures: []int{404, 409}},
		{Method: "GET", Path: one + "/events", Needs: permit.ReadEvals, Handle: server.Handle(h.follow), Stream: true, Events: "the progress of the run after each change, until it has ended: done, total, passed, failed and status",
			Summary: "Stream the progress of a run over a dataset", Replies: map[int]any{200: nil}},
		{Method: "POST", Path: "/v1/eval/compare", Needs: permit.ReadEvals, Handle: server.HandleBody(h.compare), Body: reportsBody{},
			Summary: "Compute the statistics of reports, and compare them with a baseline", Replies: map[int]any{200: evalFigures{}}},
		{Method: "POST", Path: "/v1/eval/online", Needs: permit.RunEvals, Handle: server.HandleBody(h.online), Body: onlineBody{}, Stream: true,
			Summary: "Ask several models the same", Replies: map[int]any{200: onlineReply{}}, Failures: []int{404}},
	}
}

type evalRunList struct {
	Runs       []evalRunSummary `json:"runs"`
	HasMore    bool             `json:"has_more"`
	NextCursor string           `json:"next_cursor,omitempty"`
}

type evalRunSummary struct {
	ID              string         `json:"id"`
	DatasetID       string         `json:"dataset_id"`
	DatasetRevision int64          `json:"dataset_revision"`
	ExecutionMode   string         `json:"execution_mode"`
	StartedAtSecs   int64          `json:"started_at_secs"`
	EndedAtSecs     int64          `json:"ended_at_secs"` // 0 until it has ended
	ItemCount       int            `json:"item_count"`
	PassedCount     int            `json:"passed_count"`
	FailedCount     int            `json:"failed_count"`
	Status          archive.Status `json:"status"`
	CellCount       int            `json:"cell_count"`
	InDoubtCount    int            `json:"in_doubt_count,omitempty"` // cells that may have been run, and have no report
}

func (h *evaluations) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	from, err := req.Behind("evr_", server.FiltersOf(req, []string{req.Value("dataset_id"), req.Value("since_secs"), req.Value("until_secs")}))
	if err != nil {
		return err
	}
	since, until := req.Number("since_secs", 0, 0, math.MaxInt), req.Number("until_secs", math.MaxInt, 0, math.MaxInt)
	limit := req.Number("limit", 100, 1, 1000)
	out := evalRunList{Runs: []evalRunSummary{}}
	for r, err := range a.Runs(req.Context(), from.At) {
		if err != nil {
			return err
		}
		at := int(r.StartedAtSecs)
		if id := req.Value("dataset_id"); id != "" && id != r.DatasetID || at < since || at >= until {
			continue
		}
		if len(out.Runs) == limit {
			from.At = out.Runs[limit-1].ID
			out.HasMore, out.NextCursor = true, from.Next("evr_")
			break
		}
		out.Runs = append(out.Runs, evalRunSummary{ID: r.ID, DatasetID: r.DatasetID, DatasetRevision: r.DatasetRevision, ExecutionMode: r.ExecutionMode, StartedAtSecs: r.StartedAtSecs,
			EndedAtSecs: r.EndedAtSecs, ItemCount: r.Passed + r.Failed, PassedCount: r.Passed, FailedCount: r.Failed, Status: r.Status, CellCount: r.CellCount, InDoubtCount: r.InDoubtCount})
	}
	return req.Reply(200, out)
}

type evalRunBody struct {
	DatasetID     string `json:"dataset_id,omitempty"`
	BaselineRunID string `json:"baseline_run_id,omitempty"`
	// RepeatOf is a run that is repeated: with its cases, models, agents, variants, samples, judge and limits. Only baseline_run_id, in_doubt and traces may be given
	// besides.
	RepeatOf string `json:"repeat_of,omitempty"`
	Mode     string `json:"mode,omitempty"` // scripted, or live, which is the default with models
	// Version is the version of the configuration with the agent: its number, live, or draft for the live version with all drafts; default
	// live. Versions are several of them, to compare.
	Version  string   `json:"version,omitempty"`
	Versions []string `json:"versions,omitempty"`
	// InDoubt selects how to handle cells in doubt, which a lost process was executing and may have paid for: report, which is the
	// default, leaves them out and lists them; retry runs them again.
	InDoubt string `json:"in_doubt,omitempty"`
	// Traces says whether the traces of cells are kept, under trace_run_id of their items; default true for runs of up to 100 cells.
	Traces *bool `json:"traces,omitempty"`
	evalAgent
}

// Execution modes.
const (
	scriptedMode = "scripted"
	liveMode     = "live"
)

// mode returns the execution mode, or what contradicts it.
func (b *evalRunBody) mode() (string, error) {
	mode := b.Mode
	switch {
	case mode == "" && b.Models != nil:
		mode = liveMode
	case mode == "":
		mode = scriptedMode
	}
	switch mode {
	case liveMode:
		return mode, nil
	case scriptedMode:
	default:
		return "", protocol.BadRequest("mode is %q; want %s or %s", mode, scriptedMode, liveMode)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"models", b.Models != nil}, {"samples", b.Samples != nil}, {"agent_id", b.AgentID != ""}, {"agent_overrides", b.AgentOverrides != nil}, {"version", b.Version != ""},
		{"agents", b.Agents != nil}, {"versions", b.Versions != nil}, {"variants", b.Variants != nil},
		{"max_walltime_secs", b.MaxWalltime != nil}, {"max_total_tokens", b.MaxTokens != nil}, {"max_cost_usd", b.MaxCostUSD != nil}, {"judge", b.Judge != nil}} {
		if f.set {
			return "", protocol.BadRequest("%s is set, but the mode is %s; want mode %s", f.name, scriptedMode, liveMode)
		}
	}
	return mode, nil
}

// start runs a dataset.
func (h *evaluations) start(req *server.Request, body *evalRunBody) error {
	async := prefersAsync(req.HTTP())
	p, err := h.prepare(req, body)
	if err != nil {
		return err
	}
	plan := p.plan
	if most := h.limits.SyncCells; !async && plan.Len() > most {
		return protocol.BadRequest("the run has %d cells; want at most %d, or the header Prefer: respond-async", plan.Len(), most)
	}
	if most := h.limits.AsyncCells; plan.Len() > most {
		return protocol.BadRequest("the run has %d cells; want at most %d", plan.Len(), most)
	}
	run := &p.run
	run.ID = h.newID()
	if err := h.identify(req.Context(), run, body, p.regs[0]); err != nil {
		return err
	}
	var baseline *archive.Run
	if body.BaselineRunID != "" {
		if baseline, err = baselineOf(req.Context(), p.archive, body.BaselineRunID, run); err != nil {
			return err
		}
		run.BaselineRunID = baseline.ID
	}
	if p.mode == liveMode {
		if _, err := h.fit(req.Context(), p, body, async); err != nil {
			return err
		}
	}
	return h.launch(req, p.archive, run, body, p.regs[0].ID(), plan, plan.Fixtures, async, func(done *archive.Run) error {
		out := replyOf(done, baseline, -1, body.Samples != nil)
		out.Request = body
		return req.Reply(200, out)
	})
}

// launch begins a run, and waits for it unless the client does not want to. Ended replies with the run that has ended.
func (h *evaluations) launch(req *server.Request, a *archive.Archive, run *archive.Run, request any, resolutionID string, plan *runner.Plan, cases []eval.Fixture, async bool, ended func(*archive.Run) error) error {
	raw, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if plan.Limits.Concurrency == 0 {
		plan.Limits.Concurrency = h.limits.Concurrency
	}
	if err := server.RecordChange(req, h.control, "run", "eval-runs/"+run.ID); err != nil {
		return err
	}
	j, err := h.jobs.Begin(req.Context(), a, req.Tenant().Name(), &archive.Header{Run: *run, Request: raw, ResolutionID: resolutionID}, cases)
	if err != nil {
		return err
	}
	if async {
		h.jobs.Spawn(j, plan)
		req.Writer().Header().Set("Location", "/v1/eval/runs/"+run.ID)
		req.Writer().Header().Set("Preference-Applied", "respond-async")
		shown := j.Header().Run
		return req.Reply(http.StatusAccepted, replyOf(&shown, nil, 0, false))
	}
	ctx, cancel := h.streams.WhileServing(req)
	defer cancel()
	err = h.jobs.Run(ctx, j, plan)
	switch {
	case err != nil && h.jobs.Stopped():
		return server.Unavailable("the server stops; the run continues, and GET /v1/eval/runs/" + run.ID + " has it")
	case errors.Is(err, job.ErrCancelled): // the reply shows it
	case err != nil && ctx.Err() != nil:
		return server.Revoked(ctx, nil) // the client is gone
	case err != nil:
		return err
	}
	done, err := a.Run(ctx, run.ID)
	if err != nil {
		return err
	}
	return ended(done)
}

// prefersAsync reports whether a request has Prefer: respond-async.
func prefersAsync(r *http.Request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for p := range strings.SplitSeq(line, ",") {
			if name, _, _ := strings.Cut(strings.TrimSpace(p), ";"); strings.EqualFold(strings.TrimSpace(name), "respond-async") {
				return true
			}
		}
	}
	return false
}

func (h *evaluations) delete(req *server.Request) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	header, err := a.Header(req.Context(), req.Path("id"))
	if err != nil {
		return err
	}
	if header.Status == archive.Running {
		return server.Fail(http.StatusConflict, "running", "eval run %q is running; cancel it first", header.ID)
	}
	if len(header.EvidenceOf) > 0 {
		return server.Fail(http.StatusConflict, "evidence", "eval run %q is evidence for a publication by the gates of agents %q and cannot be deleted", header.ID, header.EvidenceOf)
	}
	if err := a.Remove(req.Context(), header.ID); err != nil {
		return err
	}
	return req.Done(server.RecordChange(req, h.control, "delete", "eval-runs/"+header.ID))
}

func (h *evaluations) cancel(req *server.Request) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	id := req.Path("id")
	if err := h.jobs.Cancel(req.Context(), a, id); err != nil {
		return err
	}
	if err := server.RecordChange(req, h.control, "cancel", "eval-runs/"+id); err != nil {
		return err
	}
	run, err := a.Run(req.Context(), id)
	if err != nil {
		return err
	}
	return req.Reply(200, replyOf(run, nil, 0, false))
}

type resumeBody struct {
	InDoubt string `json:"in_doubt"` // retry
}

// resume runs cells again that are in doubt.
func (h *evaluations) resume(req *server.Request, body *resumeBody) error {
	if body.InDoubt != job.RetryInDoubt {
		return protocol.BadRequest("in_doubt is %q; want %s: the cells may be paid for twice", body.InDoubt, job.RetryInDoubt)
	}
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	id := req.Path("id")
	if err := h.jobs.Retry(req.Context(), a, req.Tenant().Name(), id); err != nil {
		return retryFailure(err)
	}
	if err := server.RecordChange(req, h.control, "resume", "eval-runs/"+id); err != nil {
		return err
	}
	run, err := a.Run(req.Context(), id)
	if err != nil {
		return err
	}
	req.Writer().Header().Set("Location", "/v1/eval/runs/"+id)
	return req.Reply(http.StatusAccepted, replyOf(run, nil, 0, false))
}

// retryFailure returns what the client sees of an error of Retry.
func retryFailure(err error) error {
	if e, ok := errors.AsType[*job.NotDoneError](err); ok {
		return server.Fail(http.StatusConflict, "not_done", "%s", e)
	}
	if e, ok := errors.AsType[*job.NoDoubtError](err); ok {
		return protocol.BadRequest("%s", e)
	}
	return err
}

// progress is how far a run over a dataset is.
type progress struct {
	Done   int            `json:"done"`
	Total  int            `json:"total"`
	Passed int            `json:"passed"`
	Failed int            `json:"failed"`
	Status archive.Status `json:"status"`
	// InDoubt is how many cells may have been run, and have no report.
	InDoubt int `json:"in_doubt,omitempty"`
}

// followPause is how often the progress of a run is looked at.
const followPause = 500 * time.Millisecond

// follow streams the progress of a run until it has ended.
func (h *evaluations) follow(req *server.Request) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	id := req.Path("id")
	header, err := a.Header(req.Context(), id)
	if err != nil || h.streams.HeadersOnly(req) {
		return err
	}
	ctx, cancel := h.streams.WhileServing(req)
	defer cancel()
	out := h.streams.Start(req)
	var shown *progress
	beat := time.Now()
	for n := 1; ; n++ {
		now := progress{Done: header.Passed + header.Failed, Total: header.CellCount, Passed: header.Passed, Failed: header.Failed, Status: header.Status, InDoubt: header.InDoubtCount}
		if shown == nil || *shown != now {
			data, err := json.Marshal(now)
			if err != nil {
				return err
			}
			if out.Frame(strconv.Itoa(n), "progress", data) != nil || out.Flush() != nil {
				return nil // the client is gone
			}
			shown, beat = &now, time.Now()
		}
		if header.Status != archive.Running {
			return nil
		}
		if every := h.streams.Heartbeat(); every > 0 && time.Since(beat) > every {
			if out.Comment("") != nil || out.Flush() != nil {
				return nil
			}
			beat = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
		if header, err = a.Header(ctx, id); err != nil {
			return nil // the client asks again
		}
	}
}
