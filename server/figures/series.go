package figures

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/trace/rollup"
)

// series has the handler of figures about runs over time.
type series struct{ store rollup.Store }

// metrics are the metrics of a series, by name.
var metrics = map[string]metric{
	"runs":           {value: func(f *rollup.Figures) float64 { return float64(f.Count) }},
	"errors":         {value: func(f *rollup.Figures) float64 { return float64(f.Errors) }},
	"error_rate":     {of: func(f *rollup.Figures) int64 { return f.Count }, value: func(f *rollup.Figures) float64 { return float64(f.Errors) / float64(f.Count) }},
	"tokens":         {value: func(f *rollup.Figures) float64 { return float64(f.Usage.TotalTokens) }},
	"input_tokens":   {value: func(f *rollup.Figures) float64 { return float64(f.Usage.PromptTokens) }},
	"output_tokens":  {value: func(f *rollup.Figures) float64 { return float64(f.Usage.CompletionTokens) }},
	"cost_usd":       {value: func(f *rollup.Figures) float64 { return f.Cost.USD() }},
	"latency_avg_ms": {of: timed, value: func(f *rollup.Figures) float64 { return float64(f.DurationMS) / float64(f.Timed) }},
	"latency_p50_ms": quantile(0.5),
	"latency_p95_ms": quantile(0.95),
	"latency_p99_ms": quantile(0.99),
}

// metric is a function of figures.
type metric struct {
	value     func(f *rollup.Figures) float64
	of        func(f *rollup.Figures) int64 // how many the value is of; without any there is no value. Nil if there always is one
	durations bool
}

func timed(f *rollup.Figures) int64 { return f.Timed }

func quantile(q float64) metric {
	return metric{of: timed, durations: true, value: func(f *rollup.Figures) float64 { return f.Durations.Quantile(q) }}
}

// get returns the value, or nil if there is none.
func (m *metric) get(f *rollup.Figures) *float64 {
	if m.of != nil && m.of(f) == 0 {
		return nil
	}
	v := m.value(f)
	return &v
}

// steps are the lengths of a step, by name.
var steps = map[string]time.Duration{"hour": time.Hour, "6h": 6 * time.Hour, "day": rollup.Day, "week": 7 * rollup.Day}

const (
	maxPoints  = 1100           // of a series: as many days as are kept
	maxHours   = 8 * rollup.Day // for steps of less than a day, of which every value has many rows
	maxKeys    = 200            // series of a response
	seriesTime = 24 * time.Hour
)

func (h *series) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/stats/series", Needs: permit.ReadUsage, Scope: protocol.Operators, Handle: server.Handle(h.get),
			Summary: "Get figures about runs that have ended, over time, on all replicas",
			Query: []protocol.Param{
				server.Param("metric", "runs|errors|error_rate|tokens|input_tokens|output_tokens|cost_usd|latency_avg_ms|latency_p50_ms|latency_p95_ms|latency_p99_ms", "figure to return; default runs"),
				byParam, sinceParam, untilParam,
				server.Param("step", "hour|6h|day|week", "the time that a value is of; by default it follows from the range"),
				server.Param("limit", "integer", "maximum number of series, 1 to 200; default 20; the smallest ones are summed as other")},
			Replies: map[int]any{200: seriesBody{}}},
	}
}

var (
	byParam    = server.Param("by", "total|agent|model|tool|user|version", "dimension to group by; model counts requests and tool counts calls; default total")
	sinceParam = server.Param("since", "string", "the beginning, in RFC 3339; it is rounded down to an hour or a day; default a day before until")
	untilParam = server.Param("until", "string", "the end, in RFC 3339; default now")
)

// seriesBody has values for each step.
type seriesBody struct {
	Metric string      `json:"metric"`
	By     string      `json:"by"`
	Since  int64       `json:"since"`   // Unix ms
	Until  int64       `json:"until"`   // Unix ms
	StepMS int64       `json:"step_ms"` // milliseconds
	Times  []int64     `json:"times"`   // the beginnings of the steps, Unix ms
	Series []oneSeries `json:"series"`  // the greatest first
}

// oneSeries has the values of one key, one for each step. A value is null if it is of nothing.
type oneSeries struct {
	Key    string     `json:"key"`
	Other  bool       `json:"other,omitempty"` // it is of all keys that are not shown
	Total  *float64   `json:"total"`           // of the whole time
	Values []*float64 `json:"values"`
}

// span returns the time that a request asks about, and its step.
func span(req *server.Request, store rollup.Store) (q rollup.Query, err error) {
	if store == nil {
		return q, protocol.NotFound("figures", "of this server")
	}
	since, err := server.TimeOf("since", req.Value("since"))
	if err != nil {
		return q, err
	}
	until, err := server.TimeOf("until", req.Value("until"))
	if err != nil {
		return q, err
	}
	if until.IsZero() {
		until = time.Now()
	}
	if since.IsZero() {
		since = until.Add(-seriesTime)
	}
	if !since.Before(until) || since.Unix() < 0 || until.Year() > 9999 {
		return q, protocol.BadRequest("since is %s and until is %s, want a beginning after 1970 and a later end", since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
	}
	step, long := steps[req.Value("step")], until.Sub(since)
	switch {
	case step > 0:
	case long <= 2*rollup.Day:
		step = time.Hour
	case long <= maxHours:
		step = 6 * time.Hour
	default:
		step = rollup.Day
	}
	unit := int64(time.Hour / time.Second)
	if step%rollup.Day == 0 {
		unit = int64(rollup.Day / time.Second)
	}
	q = rollup.Query{Tenant: req.TenantName(), By: rollup.Dimension(cmp.Or(req.Value("by"), string(rollup.Total))), Since: since.Unix() - since.Unix()%unit, Until: until.Unix(), Step: step}
	if until.Nanosecond() > 0 {
		q.Until++
	}
	return q, nil
}

func (h *series) get(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	q, err := span(req, h.store)
	if err != nil {
		return err
	}
	name := cmp.Or(req.Value("metric"), "runs")
	m := metrics[name]
	q.Durations = m.durations
	step := int64(q.Step / time.Second)
	points := (q.Until - q.Since + step - 1) / step
	if time.Duration(q.Until-q.Since)*time.Second > maxHours+rollup.Day && q.Step < rollup.Day {
		return protocol.BadRequest("step is %s and since and until are more than 8 days apart, want step=day or week, or a shorter time", req.Value("step"))
	}
	if points > maxPoints {
		return protocol.BadRequest("from since to until there are %d steps, want at most %d: ask for a shorter time or a longer step", points, maxPoints)
	}
	rows, err := h.store.Figures(req.Context(), q)
	if err != nil {
		return err
	}
	out := seriesBody{Metric: name, By: string(q.By), Since: q.Since * 1000, Until: q.Until * 1000, StepMS: q.Step.Milliseconds(), Times: []int64{}}
	for i := range points {
		out.Times = append(out.Times, (q.Since+i*step)*1000)
	}
	out.Series = seriesOf(&m, rows, req.Number("limit", 20, 1, maxKeys), func(at int64) int { return int((at - q.Since) / step) }, int(points))
	return req.Reply(200, out)
}

// keyFigures are the figures of a key, in total and by step.
type keyFigures struct {
	key   string
	other bool
	total rollup.Figures
	steps map[int]*rollup.Figures
}

func (k *keyFigures) add(i int, f *rollup.Figures) {
	if k.steps[i] == nil {
		k.steps[i] = new(rollup.Figures)
	}
	k.steps[i].Add(f)
	k.total.Add(f)
}

// seriesOf returns the series of a metric, those with the greatest total first. What exceeds limit is added up as one.
func seriesOf(m *metric, rows []rollup.Row, limit int, index func(at int64) int, points int) []oneSeries {
	byKey := map[string]*keyFigures{}
	var all []*keyFigures
	for i := range rows {
		r := &rows[i]
		k := byKey[r.Value]
		if k == nil {
			k = &keyFigures{key: r.Value, steps: map[int]*rollup.Figures{}}
			byKey[r.Value], all = k, append(all, k)
		}
		k.add(index(r.At), &r.Figures)
	}
	slices.SortFunc(all, func(a, b *keyFigures) int {
		return cmp.Or(cmp.Compare(orZero(m.get(&b.total)), orZero(m.get(&a.total))), strings.Compare(a.key, b.key))
	})
	if len(all) > limit {
		rest := &keyFigures{other: true, steps: map[int]*rollup.Figures{}}
		for _, k := range all[limit-1:] {
			for i, f := range k.steps {
				rest.add(i, f)
			}
		}
		all = append(all[:limit-1:limit-1], rest)
	}
	out := []oneSeries{}
	for _, k := range all {
		s := oneSeries{Key: k.key, Other: k.other, Total: m.get(&k.total), Values: make([]*float64, points)}
		for i := range s.Values {
			f := k.steps[i]
			if f == nil {
				f = new(rollup.Figures)
			}
			s.Values[i] = m.get(f)
		}
		out = append(out, s)
	}
	return out
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// usageItem is the usage of an agent or, if another dimension was asked for, of its key.
type usageItem struct {
	awaken.UsageTotal
	Key string `json:"key,omitempty"`
}

// maxOver is how long, in seconds, a time may be that fits in a step: 200 years.
const maxOver = 200 * 366 * 24 * 3600

// over replies with the usage of runs that ended in a time, from the figures that are kept of them.
func (h *usage) over(req *server.Request) error {
	if req.Value("thread_id") != "" {
		return protocol.BadRequest("thread_id is set, but figures over time are not kept by thread; want since, until and by without it")
	}
	q, err := span(req, h.figures)
	if err != nil {
		return err
	}
	if !req.Values().Has("by") {
		q.By = rollup.Agent
	}
	if agent := req.Value("agent_id"); agent != "" {
		if q.By != rollup.Agent {
			return protocol.BadRequest("agent_id is %q and by is %q, want by=agent: the figures of an agent are not kept by another dimension", agent, q.By)
		}
		q.Value = &agent
	}
	owner, err := req.Owner()
	if err != nil {
		return err
	}
	if owner != nil {
		if req.Values().Has("by") && q.By != rollup.User || q.Value != nil {
			return protocol.BadRequest("the figures of a user are not kept by another dimension, want by=user without agent_id")
		}
		q.By, q.Value = rollup.User, owner
	}
	q.Until = min(q.Until, q.Since+maxOver)
	q.Step = time.Duration(q.Until-q.Since+1) * time.Second // one
	q.Step = (q.Step + rollup.Day - 1) / rollup.Day * rollup.Day
	rows, err := h.figures.Figures(req.Context(), q)
	if err != nil {
		return err
	}
	out := usageBody{Items: []usageItem{}}
	var all rollup.Figures
	slices.SortFunc(rows, func(a, b rollup.Row) int { return strings.Compare(a.Value, b.Value) })
	for i := range rows {
		r := &rows[i]
		item := usageItem{UsageTotal: awaken.UsageTotal{Runs: int(r.Count), Usage: r.Usage, CostUSD: r.Cost.USD()}, Key: r.Value}
		if q.By == rollup.Agent {
			item.AgentID = r.Value
		}
		out.Items = append(out.Items, item)
		all.Add(&r.Figures)
	}
	out.Runs, out.Usage, out.CostUSD = int(all.Count), all.Usage, all.Cost.USD()
	return req.Reply(200, out)
}
