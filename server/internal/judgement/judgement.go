// Package judgement reads the judgements of runs for the wings that show them.
package judgement

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/trace"
)

// Request is a request for a list of judgements: a server's.
type Request interface {
	TenantName() string
	Value(names ...string) string
	Number(name string, def, low, high int) int
	Times() (since, until int64, err error)
}

// score returns a parameter that is a score, or nil.
func score(req Request, name string) (*float64, error) {
	text := req.Value(name)
	if text == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return nil, protocol.BadRequest("%s is %q, want 0 to 1", name, text)
	}
	return &v, nil
}

// Query parses the filters of a list of judgements.
func Query(req Request) (q live.Query, err error) {
	q = live.Query{Tenant: req.TenantName(), AgentID: req.Value("agent_id"), Version: req.Value("version"),
		Limit: req.Number("limit", 50, 1, 200)}
	if q.MinScore, err = score(req, "min_score"); err != nil {
		return q, err
	}
	if q.MaxScore, err = score(req, "max_score"); err != nil {
		return q, err
	}
	q.Since, q.Until, err = req.Times()
	return q, err
}

// After has a query begin behind a place, the text of a [live.Place], unless that is "". It reports whether the text is one.
func After(place string, q *live.Query) bool {
	if place == "" {
		return true
	}
	q.After = new(live.Place)
	return json.Unmarshal([]byte(place), q.After) == nil
}

// Of returns what is said about runs, by their ids.
func Of(ctx context.Context, store live.Store, tenant string, runIDs ...string) (map[string]*live.Judgement, error) {
	out := map[string]*live.Judgement{}
	if store == nil || len(runIDs) == 0 {
		return out, nil
	}
	list, err := store.Judgements(ctx, live.Query{Tenant: tenant, RunIDs: runIDs})
	for _, j := range list {
		out[j.RunID] = j
	}
	return out, err
}

// Evaluations returns the scores of a run as events of its trace.
func Evaluations(j *live.Judgement) (out []trace.Evaluation) {
	if j.Status != live.Done {
		return nil
	}
	for _, s := range j.Scores {
		out = append(out, trace.Evaluation{Name: s.Scorer, Score: s.Score, Passed: s.Passed, Explanation: s.Reason, At: j.JudgedAt})
	}
	if v := j.Judge; v != nil {
		out = append(out, trace.Evaluation{Name: "judge", Score: v.Score, Passed: v.Score >= jury.Low, Explanation: v.Reasoning,
			Model: v.ModelID, Revision: v.Revision, At: j.JudgedAt})
	}
	return out
}
