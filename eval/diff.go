package eval

import (
	"slices"
)

// Item is the report of one case in a run over a dataset.
type Item struct {
	FixtureID   string  `json:"fixture_id"`
	Cell        *Cell   `json:"cell,omitempty"`
	Report      *Report `json:"report"`
	TraceRunID  string  `json:"trace_run_id,omitempty"`
	SampleIndex *int    `json:"sample_index,omitempty"`
}

// Cell is the variant with which a case was run. Only the fields that vary between cells are set.
type Cell struct {
	ModelID string `json:"model_id,omitempty"`
	AgentID string `json:"agent_id,omitempty"`
	Version string `json:"version,omitempty"` // of the configuration
	Variant string `json:"variant,omitempty"` // of prompt and parameters
}

// String returns the agent, its variant and version, and the model of the cell.
func (c *Cell) String() string {
	text := c.AgentID
	add := func(between, more string) {
		if more != "" && text != "" {
			text += between
		}
		text += more
	}
	add(" as ", c.Variant)
	if c.Version != "" {
		add(" of ", "version "+c.Version)
	}
	add(" on ", c.ModelID)
	return text
}

// ref returns a copy, or nil if no field is set.
func (c Cell) ref() *Cell {
	if c == (Cell{}) {
		return nil
	}
	return &c
}

// place identifies a case, its variant and its sample.
type place struct {
	fixture string
	cell    Cell
	sample  int
}

// in returns the same case and sample with another variant.
func (p place) in(c Cell) place {
	p.cell = c
	return p
}

// place returns the place of an item. A sample without a number is the first.
func (i *Item) place() place {
	p := place{fixture: i.FixtureID}
	if i.Cell != nil {
		p.cell = *i.Cell
	}
	if i.SampleIndex != nil {
		p.sample = *i.SampleIndex
	}
	return p
}

// Change is the change of a case between a baseline and a new run.
type Change struct {
	Kind        ChangeKind    `json:"kind"`
	FixtureID   string        `json:"fixture_id"`
	Cell        *Cell         `json:"cell,omitempty"`
	SampleIndex *int          `json:"sample_index,omitempty"`
	NewFailures []FailureKind `json:"new_failures,omitempty"` // of a regression, and of a case that still fails, in another way
	Fields      []string      `json:"fields,omitempty"`       // of a drift: the fields of the report that differ
	Passed      *bool         `json:"passed,omitempty"`       // of a case that the baseline does not have
}

// ChangeKind names a change.
type ChangeKind string

// The kinds of changes.
const (
	Unchanged      ChangeKind = "unchanged"
	Regression     ChangeKind = "regression"
	Fixed          ChangeKind = "fixed"
	StillFailing   ChangeKind = "still_failing"
	Drift          ChangeKind = "drift"
	MissingFromNew ChangeKind = "missing_from_new"
	NewlyAdded     ChangeKind = "newly_added"
)

// Blocking reports whether the change should stop a release: a regression, a case that is missing, a drift, or a new case that fails.
func (c *Change) Blocking() bool {
	switch c.Kind {
	case Regression, MissingFromNew, Drift:
		return true
	case NewlyAdded:
		return !*c.Passed
	}
	return false
}

// Diff compares a run with a baseline, case by case, with the variants that [Compare] compares: first the cases of the baseline in its order, then
// the new cases in theirs.
func Diff(baseline, latest []Item) []Change {
	after := make(map[place]*Item, len(latest))
	for i := range latest {
		after[latest[i].place()] = &latest[i]
	}
	of, with := matches(baseline, latest), map[Cell][]Cell{} // with: by variant of the baseline
	for _, v := range variantsOf(latest) {
		if old, ok := of[v.cell]; ok {
			with[old] = append(with[old], v.cell)
		}
	}
	changes := make([]Change, 0, len(latest))
	for i := range baseline {
		old := &baseline[i]
		at := old.place()
		if len(with[at.cell]) == 0 {
			changes = append(changes, change(MissingFromNew, old, nil))
		}
		for _, cell := range with[at.cell] {
			now := after[at.in(cell)]
			delete(after, at.in(cell))
			c := compare(old, now)
			c.Cell = cell.ref()
			changes = append(changes, c)
		}
	}
	for i := range latest {
		if now := &latest[i]; after[now.place()] == now {
			changes = append(changes, change(NewlyAdded, now, func(c *Change) { c.Passed = &now.Report.Passed }))
		}
	}
	return changes
}

func compare(old, now *Item) Change {
	if now == nil {
		return change(MissingFromNew, old, nil)
	}
	a, b := old.Report, now.Report
	switch {
	case a.Passed && !b.Passed:
		return change(Regression, now, func(c *Change) { c.NewFailures = kinds(b.Failures, nil) })
	case !a.Passed && b.Passed:
		return change(Fixed, now, nil)
	case !a.Passed:
		return change(StillFailing, now, func(c *Change) { c.NewFailures = kinds(b.Failures, a.Failures) })
	}
	if old.Live() || now.Live() {
		return change(Unchanged, now, nil)
	}
	if fields := drift(a, b); len(fields) > 0 {
		return change(Drift, now, func(c *Change) { c.Fields = fields })
	}
	return change(Unchanged, now, nil)
}

// Live reports whether a model answered instead of a script. A model words the same answer in several ways, which is no drift. Reports of earlier
// versions do not say it, but name the model.
func (i *Item) Live() bool { return i.Report.Live || i.Cell != nil && i.Cell.ModelID != "" }

func change(kind ChangeKind, of *Item, fill func(*Change)) Change {
	c := Change{Kind: kind, FixtureID: of.FixtureID, Cell: of.Cell, SampleIndex: of.SampleIndex}
	if fill != nil {
		fill(&c)
	}
	return c
}

// kinds returns the kinds of failures that are not among before, each once, in their order.
func kinds(failures, before []Failure) []FailureKind {
	var out []FailureKind
	for _, f := range failures {
		known := slices.ContainsFunc(before, func(b Failure) bool { return b.Kind == f.Kind })
		if !known && !slices.Contains(out, f.Kind) {
			out = append(out, f.Kind)
		}
	}
	return out
}

// drift returns the fields in which two reports that passed differ and that a script determines.
func drift(a, b *Report) []string {
	var fields []string
	add := func(name string, same bool) {
		if !same {
			fields = append(fields, name)
		}
	}
	add("final_text", a.FinalText == b.FinalText)
	add("inference_count", a.InferenceCount == b.InferenceCount)
	add("tool_count", a.ToolCount == b.ToolCount)
	add("tool_failures", a.ToolFailures == b.ToolFailures)
	add("total_tokens", a.TotalTokens == b.TotalTokens)
	add("error_type", a.ErrorType == b.ErrorType)
	return fields
}

// Aggregate sums up the samples of one case and variant.
type Aggregate struct {
	FixtureID string  `json:"fixture_id"`
	Cell      *Cell   `json:"cell,omitempty"`
	Samples   int     `json:"samples"`
	Passed    int     `json:"passed"`
	PassRate  float64 `json:"pass_rate"`
	PassAtK   bool    `json:"pass_at_k"`  // a sample passed
	PassPowK  bool    `json:"pass_pow_k"` // every sample passed
}

// Aggregates adds up the samples of every case and variant, in the order of their first sample.
func Aggregates(items []Item) []Aggregate {
	at := map[place]int{}
	var out []Aggregate
	for i := range items {
		p := items[i].place()
		p.sample = 0
		n, ok := at[p]
		if !ok {
			n = len(out)
			at[p] = n
			out = append(out, Aggregate{FixtureID: items[i].FixtureID, Cell: items[i].Cell})
		}
		out[n].Samples++
		if items[i].Report.Passed {
			out[n].Passed++
		}
	}
	for i := range out {
		a := &out[i]
		a.PassRate = float64(a.Passed) / float64(max(1, a.Samples))
		a.PassAtK, a.PassPowK = a.Passed > 0, a.Passed == a.Samples
	}
	return out
}
