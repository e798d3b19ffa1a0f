package evals

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

type evalRunReply struct {
	Run *archive.Run `json:"run"`
	evalFigures
	Aggregates []eval.Aggregate `json:"aggregates,omitempty"`
	Request    *evalRunBody     `json:"request,omitempty"` // how the run was started, with its limits
}

// evalFigures are the figures of items, alone or beside the figures of a baseline.
type evalFigures struct {
	Diff       []eval.Change     `json:"diff,omitempty"`
	Statistics []eval.Statistics `json:"statistics,omitempty"` // by variant, with intervals of 95 percent
	// Comparisons are paired tests by case: of each variant with the baseline, or with the first variant of the run.
	Comparisons []eval.Comparison `json:"comparisons,omitempty"`
}

// figuresOf returns the figures of items. If compare is set, they are compared with the figures of a baseline, otherwise among each other. Reference is the variant to
// compare with; less than 0 stands for the default.
func figuresOf(items, baseline []eval.Item, compare bool, reference int) (out evalFigures) {
	switch {
	case compare:
		if reference >= 0 {
			baseline = eval.Variant(baseline, reference)
		}
		out.Diff, out.Comparisons = eval.Diff(baseline, items), eval.Compare(baseline, items)
	default:
		out.Comparisons = eval.CompareVariants(items, max(0, reference))
	}
	if len(items) > 0 {
		out.Statistics = eval.Summarise(items)
	}
	return out
}

// replyOf returns a run with what follows from its items.
func replyOf(run *archive.Run, baseline *archive.Run, reference int, aggregate bool) evalRunReply {
	out := evalRunReply{Run: run}
	if run.Items == nil {
		run.Items = []eval.Item{}
	}
	if baseline != nil {
		out.evalFigures = figuresOf(run.Items, baseline.Items, true, reference)
	} else {
		out.evalFigures = figuresOf(run.Items, nil, false, reference)
	}
	if aggregate {
		out.Aggregates = eval.Aggregates(run.Items)
	}
	return out
}

// reportsBody has reports to compare, such as those in files of the command line.
type reportsBody struct {
	Items    []eval.Item  `json:"items"`
	Baseline *[]eval.Item `json:"baseline,omitempty"`
}

// compare returns the figures of reports.
func (h *evaluations) compare(req *server.Request, body *reportsBody) error {
	before := []eval.Item{}
	if body.Baseline != nil {
		before = *body.Baseline
	}
	for _, l := range []struct {
		name  string
		items []eval.Item
	}{{"items", body.Items}, {"baseline", before}} {
		for i := range l.items {
			if l.items[i].Report == nil {
				return protocol.BadRequest("%s[%d].report is missing; want the report of a case", l.name, i)
			}
		}
	}
	return req.Reply(200, figuresOf(body.Items, before, body.Baseline != nil, -1))
}

// baselineOf returns a run that another one can be compared with.
func baselineOf(ctx context.Context, a *archive.Archive, id string, run *archive.Run) (*archive.Run, error) {
	b, err := a.Run(ctx, id)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, server.Fail(http.StatusNotFound, "not_found", "baseline %q: not found; want the id of an eval run over the same dataset", id)
	}
	if err != nil {
		return nil, err
	}
	differs := func(what string, is, want any) error {
		return protocol.BadRequest("baseline %q has %s %v; want %v, as the run has", id, what, is, want)
	}
	switch {
	case b.DatasetID == adhoc || run.DatasetID == adhoc:
		return nil, protocol.BadRequest("baseline %q or the run has no dataset; want two runs over the same dataset", id)
	case b.DatasetID != run.DatasetID:
		return nil, differs("dataset_id", strconv.Quote(b.DatasetID), strconv.Quote(run.DatasetID))
	case b.DatasetRevision != run.DatasetRevision:
		return nil, differs("dataset_revision", b.DatasetRevision, run.DatasetRevision)
	case b.ExecutionMode != run.ExecutionMode:
		return nil, differs("execution_mode", b.ExecutionMode, run.ExecutionMode)
	case b.Samples != run.Samples:
		return nil, differs("samples", b.Samples, run.Samples)
	case b.Status != archive.Done:
		return nil, protocol.BadRequest("baseline %q is %s; want a completed run", id, b.Status)
	}
	return b, nil
}

func (h *evaluations) get(req *server.Request) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	header, err := a.Header(req.Context(), req.Path("id"))
	if err != nil {
		return err
	}
	run, err := a.Run(req.Context(), header.ID)
	if err != nil {
		return err
	}
	baseline, err := comparedWith(req, a, run)
	if err != nil {
		return err
	}
	reference := req.Number("reference", -1, 0, math.MaxInt32)
	among := run
	if baseline != nil {
		among = baseline
	}
	if n := len(eval.Summarise(among.Items)); reference >= max(1, n) {
		return protocol.BadRequest("reference is %d, but eval run %q has %d variants; want a number from 0", reference, among.ID, n)
	}
	out := replyOf(run, baseline, reference, req.Value("aggregate") == "samples")
	out.Request = new(evalRunBody)
	if err := json.Unmarshal(header.Request, out.Request); err != nil {
		return err
	}
	return req.Reply(200, out)
}

// comparedWith returns the run that a request compares a run with: the one it names, or the one that the run began with, if it still exists. It is nil if
// there is none.
func comparedWith(req *server.Request, a *archive.Archive, run *archive.Run) (*archive.Run, error) {
	if id := req.Value("baseline"); id != "" {
		return baselineOf(req.Context(), a, id, run)
	}
	if run.BaselineRunID == "" {
		return nil, nil
	}
	b, err := a.Run(req.Context(), run.BaselineRunID)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	return b, err
}
