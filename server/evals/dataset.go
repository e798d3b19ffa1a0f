package evals

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/eval/curate"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/trace"
)

// datasets has the handlers of the datasets of a tenant.
type datasets struct {
	newID func() string
	most  int             // runs that are imported, unless the request says otherwise
	audit *config.Manager // nil keeps no audit log
}

func (h *datasets) routes() []protocol.Route {
	const all, one = "/v1/eval/datasets", "/v1/eval/datasets/{id}"
	return []protocol.Route{
		{Method: "GET", Path: all, Needs: permit.ReadEvals, Handle: server.Handle(h.list), Query: server.ConfigPage,
			Summary: "List the datasets, by id", Replies: map[int]any{200: datasetList{}}},
		{Method: "POST", Path: all, Needs: permit.WriteDatasets, Handle: server.HandleBody(h.create), Body: newDataset{}, Query: []protocol.Param{server.Param("id", "string", "the id, if the body has none")},
			Summary: "Create a dataset", Replies: map[int]any{201: datasetView{}}, Failures: []int{409}},
		{Method: "GET", Path: one, Needs: permit.ReadEvals, Handle: server.Handle(h.get),
			Summary: "Get a dataset", Replies: map[int]any{200: datasetView{}}},
		{Method: "PUT", Path: one, Needs: permit.WriteDatasets, Handle: server.HandleBody(h.put), Body: putDataset{},
			Summary: "Replace a dataset", Replies: map[int]any{200: datasetView{}}, Failures: []int{409}},
		{Method: "DELETE", Path: one, Needs: permit.WriteDatasets, Handle: server.Handle(h.delete), Query: []protocol.Param{server.Param("expected_revision", "integer", "delete only this revision")},
			Summary: "Delete a dataset", Replies: map[int]any{204: nil}, Failures: []int{409}},
		{Method: "POST", Path: one + "/fixtures", Needs: permit.WriteDatasets, Handle: server.HandleBody(h.addFixture), Body: newFixture{},
			Summary: "Add a fixture to a dataset", Replies: map[int]any{201: datasetView{}}, Failures: []int{409}},
		{Method: "POST", Path: one + "/items", Needs: permit.WriteDatasets, Handle: server.HandleBody(h.addItem), Body: newItem{},
			Summary: "Add a recorded run to a dataset as a fixture", Replies: map[int]any{201: datasetView{}}, Failures: []int{409}},
		{Method: "POST", Path: one + "/import-traces", Needs: permit.WriteDatasets, Handle: server.HandleBody(h.importTraces), Body: tracesImport{},
			Summary: "Add recent runs to a dataset, each as a fixture", Replies: map[int]any{200: importedTraces{}}, Failures: []int{409}},
		{Method: "POST", Path: one + "/import-dialogue", Needs: permit.WriteDatasets, Handle: server.HandleBody(h.importDialogue), Body: dialogueImport{},
			Summary: "Add several runs to a dataset as one fixture, each as a turn", Replies: map[int]any{200: importedDialogue{}}, Failures: []int{409}},
	}
}

// archiveOf returns the datasets and eval runs of the tenant of a request.
func archiveOf(req *server.Request) (*archive.Archive, error) {
	values, err := server.ProfileOf(req)
	if err != nil {
		return nil, err
	}
	return archive.New(values), nil
}

type datasetList struct {
	Datasets []datasetSummary `json:"datasets"`
	HasMore  bool             `json:"has_more"`
}

type datasetSummary struct {
	ID           string `json:"id"`
	Description  string `json:"description"` // the first 1,000 bytes
	FixtureCount int    `json:"fixture_count"`
	Revision     int64  `json:"revision"`
	UpdatedAt    int64  `json:"updated_at"` // Unix ms
}

type datasetView struct {
	ID string `json:"id"`
	archive.Dataset
}

func (h *datasets) list(req *server.Request) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	offset, limit := req.Number("offset", 0, 0, math.MaxInt32), req.Number("limit", 100, 1, 1000)
	out := datasetList{Datasets: []datasetSummary{}}
	for d, err := range a.Datasets(req.Context()) {
		if err != nil {
			return err
		}
		if offset--; offset >= 0 {
			continue
		}
		if len(out.Datasets) == limit {
			out.HasMore = true
			break
		}
		out.Datasets = append(out.Datasets, datasetSummary{d.ID, d.Description, d.Fixtures, d.Meta.Revision, d.Meta.UpdatedAt})
	}
	return req.Reply(200, out)
}

type newDataset struct {
	ID   string       `json:"id,omitempty"` // generated if absent
	Spec eval.Dataset `json:"spec"`
}

func (h *datasets) create(req *server.Request, body *newDataset) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	id, err := protocol.Either("id", body.ID, req.Value("id"))
	if err != nil {
		return err
	}
	if id == "" {
		id = h.newID()
	}
	if err := checkDatasetID(id); err != nil {
		return err
	}
	if err := checkDataset(&body.Spec); err != nil {
		return err
	}
	if err := keepSources(req, id, nil, sources(&body.Spec)); err != nil {
		return err
	}
	d, err := a.Create(req.Context(), id, &body.Spec, server.ActorOf(req).String())
	if err != nil {
		return errors.Join(err, dropSources(req, a, id, sources(&body.Spec)))
	}
	return h.changed(req, "create", http.StatusCreated, id, d)
}

// changed records that a dataset was changed, and replies with it.
func (h *datasets) changed(req *server.Request, action string, status int, id string, d *archive.Dataset) error {
	if err := server.RecordChange(req, h.audit, action, "eval-datasets/"+id); err != nil {
		return err
	}
	return req.Reply(status, datasetView{id, *d})
}

// adhoc is the dataset of runs that have none.
const adhoc = "_adhoc"

// checkDatasetID refuses ids that a path or an owner of the profile could be taken for.
func checkDatasetID(id string) error {
	if id == adhoc || len(id) > 128 || strings.ContainsAny(id, "/:\\ ") || strings.HasPrefix(id, ".") {
		return protocol.BadRequest("id is %.80q; want up to 128 bytes without slashes, colons and spaces, and not %q", id, adhoc)
	}
	return protocol.CheckID("id", id)
}

func checkDataset(spec *eval.Dataset) error {
	if err := spec.Validate(); err != nil {
		return protocol.BadRequest("spec.%s", server.Plain(err.Error()))
	}
	return nil
}

func (h *datasets) get(req *server.Request) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	d, err := a.Dataset(req.Context(), req.Path("id"))
	if err != nil {
		return err
	}
	return req.Reply(200, datasetView{req.Path("id"), *d})
}

type putDataset struct {
	ExpectedRevision *int64       `json:"expected_revision"`
	Spec             eval.Dataset `json:"spec"`
}

func (h *datasets) put(req *server.Request, body *putDataset) error {
	if err := checkDataset(&body.Spec); err != nil {
		return err
	}
	return h.change(req, http.StatusOK, body.ExpectedRevision, true, func(spec *eval.Dataset) error { *spec = body.Spec; return nil })
}

// change changes the dataset of a request that has the expected revision.
func (h *datasets) change(req *server.Request, status int, expected *int64, required bool, change func(*eval.Dataset) error) error {
	d, err := h.apply(req, expected, required, change)
	if err != nil {
		return err
	}
	return h.changed(req, "update", status, req.Path("id"), d)
}

func (h *datasets) apply(req *server.Request, expected *int64, required bool, change func(*eval.Dataset) error) (*archive.Dataset, error) {
	a, err := archiveOf(req)
	if err != nil {
		return nil, err
	}
	revision := int64(-1)
	switch {
	case expected != nil && *expected < 0:
		return nil, protocol.BadRequest("expected_revision is %d; want the revision of the dataset", *expected)
	case expected != nil:
		revision = *expected
	case required:
		return nil, protocol.BadRequest("expected_revision is missing; want the revision of the dataset")
	}
	id := req.Path("id")
	var before, now map[string]bool
	d, err := a.Change(req.Context(), id, revision, server.ActorOf(req).String(), func(spec *eval.Dataset) error {
		before = sources(spec)
		if err := change(spec); err != nil {
			if errors.Is(err, archive.ErrUnchanged) {
				now = before
			}
			return err
		}
		if err := checkDataset(spec); err != nil {
			return err
		}
		now = sources(spec)
		return keepSources(req, id, before, now) // before the dataset refers to them
	})
	if err != nil {
		return nil, errors.Join(err, dropSources(req, a, id, now))
	}
	return d, releaseSources(req, id, before, now)
}

func (h *datasets) delete(req *server.Request) error {
	a, err := archiveOf(req)
	if err != nil {
		return err
	}
	revision := int64(-1)
	if s := req.Value("expected_revision"); s != "" {
		if revision, err = strconv.ParseInt(s, 10, 64); err != nil || revision < 0 {
			return protocol.BadRequest("expected_revision is %q; want the revision of the dataset", s)
		}
	}
	d, err := a.Delete(req.Context(), req.Path("id"), revision)
	if err != nil {
		return err
	}
	if err := releaseSources(req, req.Path("id"), sources(&d.Spec), nil); err != nil {
		return err
	}
	return req.Done(server.RecordChange(req, h.audit, "delete", "eval-datasets/"+req.Path("id")))
}

type newFixture struct {
	Fixture          eval.Fixture `json:"fixture"`
	ExpectedRevision *int64       `json:"expected_revision"`
}

func (h *datasets) addFixture(req *server.Request, body *newFixture) error {
	return h.change(req, http.StatusCreated, body.ExpectedRevision, true, func(spec *eval.Dataset) error {
		spec.Fixtures = append(spec.Fixtures, body.Fixture)
		return nil
	})
}

// curation says how runs become fixtures.
type curation struct {
	AllowUnused bool              `json:"allow_unused_provider_script,omitempty"`
	ScriptMode  curate.Mode       `json:"provider_script_mode,omitempty"` // optional, require or skip
	Expected    *eval.Expectation `json:"expected,omitempty"`
	Expect      *eval.Expectation `json:"expect,omitempty"` // another name of expected
}

func (c *curation) options() (o curate.Options, err error) {
	switch c.ScriptMode {
	case "", curate.Optional, curate.Require, curate.Skip:
	default:
		return o, protocol.BadRequest("provider_script_mode is %q; want optional, require or skip", c.ScriptMode)
	}
	if c.Expected != nil && c.Expect != nil {
		return o, protocol.BadRequest("expected and expect are both set; want one of them")
	}
	o = curate.Options{AllowUnused: c.AllowUnused, Mode: c.ScriptMode}
	for _, e := range []*eval.Expectation{c.Expected, c.Expect} {
		if e == nil {
			continue
		}
		if data, err := json.Marshal(e); err != nil || string(data) == "{}" {
			return o, protocol.BadRequest("expected is empty; want the expectations of the run, or no field")
		}
		o.Expect = *e
	}
	return o, nil
}

// recording reads a run of the tenant.
func recording(req *server.Request, runID string) (*trace.Recording, error) {
	if err := protocol.CheckID("run_id", runID); err != nil {
		return nil, err
	}
	source, ok := req.Tenant().Store.(trace.Source)
	if !ok {
		return nil, server.Unavailable("the store of this server keeps no events")
	}
	rec, err := (&trace.Recorder{Source: source, Alone: true}).Record(req.Context(), runID)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, protocol.NotFound("run", runID)
	}
	return rec, err
}

type newItem struct {
	FromRunID        string `json:"from_run_id"`
	UserInput        string `json:"user_input,omitempty"`
	FixtureID        string `json:"fixture_id,omitempty"`
	Description      string `json:"description,omitempty"`
	ExpectedRevision *int64 `json:"expected_revision,omitempty"`
	curation
}

func (h *datasets) addItem(req *server.Request, body *newItem) error {
	if body.FromRunID == "" {
		return protocol.BadRequest("from_run_id is missing; want the id of a run")
	}
	o, err := body.options()
	if err != nil {
		return err
	}
	o.ID, o.UserInput, o.Description = body.FixtureID, body.UserInput, body.Description
	rec, err := recording(req, body.FromRunID)
	if err != nil {
		return err
	}
	f, err := curate.Fixture(rec, o)
	if err != nil {
		return badFixture(err)
	}
	return h.change(req, http.StatusCreated, body.ExpectedRevision, false, func(spec *eval.Dataset) error {
		spec.Fixtures = append(spec.Fixtures, *f)
		return nil
	})
}

// badFixture answers that a fixture that was made of a run is not valid with status 400.
func badFixture(err error) error { return protocol.BadRequest("%s", server.Plain(err.Error())) }

type tracesImport struct {
	ExpectedRevision *int64 `json:"expected_revision"`
	AgentID          string `json:"agent_id,omitempty"`
	SinceSecs        *int64 `json:"since_secs,omitempty"` // Unix seconds
	MaxCount         *int   `json:"max_count,omitempty"`
	SkipUncuratable  bool   `json:"skip_uncuratable,omitempty"`
	curation
}

type importedTraces struct {
	ImportedCount   int   `json:"imported_count"`
	SkippedCount    int   `json:"skipped_count"`
	DatasetRevision int64 `json:"dataset_revision"`
}

const (
	maxImport = 1000
	maxSecs   = 253_402_300_799 // the end of the year 9999
)

func (h *datasets) importTraces(req *server.Request, body *tracesImport) error {
	o, err := body.options()
	if err != nil {
		return err
	}
	most := h.most
	if body.MaxCount != nil {
		if most = *body.MaxCount; most < 1 || most > maxImport {
			return protocol.BadRequest("max_count is %d; want 1 to %d", most, maxImport)
		}
	}
	q := awaken.RunQuery{AgentID: body.AgentID, Status: awaken.RunDone, Root: true, Limit: most}
	if s := body.SinceSecs; s != nil {
		if *s < 0 || *s > maxSecs {
			return protocol.BadRequest("since_secs is %d; want 0 to %d", *s, int64(maxSecs))
		}
		q.Since = *s * 1000
	}
	runs, err := req.Tenant().Store.ListRuns(req.Context(), q)
	if err != nil {
		return err
	}
	var made []eval.Fixture
	out := importedTraces{}
	for _, run := range runs {
		rec, err := recording(req, run.RunID)
		if err != nil {
			return err
		}
		f, err := curate.Fixture(rec, o)
		switch {
		case errors.Is(err, curate.ErrUncuratable) && body.SkipUncuratable:
			out.SkippedCount++
		case err != nil:
			return badFixture(err)
		default:
			made = append(made, *f)
		}
	}
	d, err := h.apply(req, body.ExpectedRevision, true, func(spec *eval.Dataset) error {
		known := map[string]bool{}
		for i := range spec.Fixtures {
			known[spec.Fixtures[i].ID] = true
		}
		for _, f := range made {
			if known[f.ID] { // it was imported before
				out.SkippedCount++
				continue
			}
			out.ImportedCount++
			spec.Fixtures = append(spec.Fixtures, f)
		}
		if out.ImportedCount == 0 {
			return archive.ErrUnchanged
		}
		return nil
	})
	if err != nil {
		return err
	}
	if out.DatasetRevision = d.Meta.Revision; out.ImportedCount > 0 {
		if err := server.RecordChange(req, h.audit, "update", "eval-datasets/"+req.Path("id")); err != nil {
			return err
		}
	}
	return req.Reply(200, out)
}

type dialogueImport struct {
	ExpectedRevision *int64   `json:"expected_revision"`
	RunIDs           []string `json:"run_ids"`
	FixtureID        string   `json:"fixture_id,omitempty"`
	Description      string   `json:"description,omitempty"`
	curation
}

type importedDialogue struct {
	FixtureID       string `json:"fixture_id"`
	DatasetRevision int64  `json:"dataset_revision"`
}

func (h *datasets) importDialogue(req *server.Request, body *dialogueImport) error {
	o, err := body.options()
	if err != nil {
		return err
	}
	if n := len(body.RunIDs); n == 0 || n > 100 {
		return protocol.BadRequest("run_ids has %d ids; want 1 to 100", n)
	}
	o.ID, o.Description = body.FixtureID, body.Description
	var recs []*trace.Recording
	for _, id := range body.RunIDs {
		rec, err := recording(req, id)
		if err != nil {
			return err
		}
		recs = append(recs, rec)
	}
	f, err := curate.Dialogue(recs, o)
	if err != nil {
		return badFixture(err)
	}
	d, err := h.apply(req, body.ExpectedRevision, true, func(spec *eval.Dataset) error {
		spec.Fixtures = append(spec.Fixtures, *f)
		return nil
	})
	if err != nil {
		return err
	}
	if err := server.RecordChange(req, h.audit, "update", "eval-datasets/"+req.Path("id")); err != nil {
		return err
	}
	return req.Reply(200, importedDialogue{f.ID, d.Meta.Revision})
}

// datasetPins returns the pins of the tenant of a request.
func datasetPins(req *server.Request) trace.Pins {
	return trace.Pins{Store: server.ThreadsOf(req.Tenant())}
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
func keepSources(req *server.Request, id string, before, now map[string]bool) error {
	for run := range now {
		if before[run] {
			continue
		}
		err := datasetPins(req).Add(req.Context(), run, trace.Pin{Kind: trace.PinDataset, Ref: id, By: server.ActorOf(req).String()})
		if err != nil && !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, awaken.ErrInvalid) { // cases may name runs of other servers
			return err
		}
	}
	return nil
}

// releaseSources removes the pins of runs that a dataset was made of before and is not now.
func releaseSources(req *server.Request, id string, before, now map[string]bool) error {
	for run := range before {
		if now[run] {
			continue
		}
		if _, err := datasetPins(req).Remove(req.Context(), run, trace.PinDataset, id); err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
	}
	return nil
}

// dropSources removes the pins of runs that a dataset was to be made of, after it could not be written, unless it is made of them.
func dropSources(req *server.Request, a *archive.Archive, id string, wanted map[string]bool) error {
	if len(wanted) == 0 {
		return nil
	}
	now := map[string]bool{}
	switch d, err := a.Dataset(req.Context(), id); {
	case err == nil:
		now = sources(&d.Spec)
	case !errors.Is(err, awaken.ErrNotFound):
		return err
	}
	return releaseSources(req, id, wanted, now)
}
