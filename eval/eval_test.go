package eval

import (
	"encoding/json"
	"encoding/xml"
	"reflect"
	"strings"
	"testing"
)

const capital = `{"description":"Capitals","fixtures":[{"id":"france","user_input":"Capital of France?",
	"provider_script":[{"kind":"tool_call","id":"c1","name":"lookup","arguments":{"q":"France"}},{"kind":"chat_response","content":"Paris.","finish_reason":"EndTurn","tokens":3}],
	"expect":{"final_answer_contains":["Paris"],"required_tool_calls":[{"name":"lookup","args_subset":{"q":"France"},"count":{"op":"exactly","n":1}}]},
	"continued_turns":[{"user_input":"And of Spain?","provider_script":[{"kind":"error","error_type":"RateLimited"}]}]}]}`

// A dataset survives that it is read and written.
func TestDataset_RoundTrip(t *testing.T) {
	t.Parallel()
	d, err := ParseDataset([]byte(capital))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if json.Unmarshal([]byte(capital), &want) != nil || json.Unmarshal(data, &got) != nil || !reflect.DeepEqual(want, got) {
		t.Errorf("got %s, want %s", data, capital)
	}
	if turns := d.Fixtures[0].Turns(); len(turns) != 2 || turns[1].UserInput != "And of Spain?" || !d.Fixtures[0].Scripted() {
		t.Errorf("turns are %+v", turns)
	}
}

// A mock response of an old dataset is a script of one reply.
func TestFixture_MockResponses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mock MockResponse
		want Reply
	}{
		{MockResponse{Kind: "text", Text: "Paris."}, Reply{Kind: ChatResponse, Content: "Paris."}},
		{MockResponse{Kind: "error", ErrorType: "timeout", Message: "late"}, Reply{Kind: ReplyError, ErrorType: "timeout", Message: "late"}},
	} {
		f := Fixture{ID: "a", Exchange: Exchange{UserInput: "x"}, MockResponse: &tt.mock}
		if turns := f.Turns(); !f.Scripted() || len(turns) != 1 || !reflect.DeepEqual(turns[0].ProviderScript, []Reply{tt.want}) {
			t.Errorf("%+v: turns are %+v", tt.mock, turns)
		}
	}
}

// A dataset that cannot be run is refused, with the field, what it holds and what it takes.
func TestDataset_Refusals(t *testing.T) {
	t.Parallel()
	with := func(fixture string) string {
		return `{"fixtures":[{"id":"a","user_input":"x","expect":{}},` + fixture + `]}`
	}
	for _, tt := range []struct{ data, want string }{
		{`{"fixture":[]}`, `fixture`},
		{with(`{"id":"","user_input":"x","expect":{}}`), `fixtures[1].id is ""`},
		{with(`{"id":"a","user_input":"x","expect":{}}`), `fixtures[1].id is "a", the id of fixtures[0]`},
		{with(`{"id":"b","user_input":"","expect":{}}`), `fixtures[1].user_input is empty`},
		{with(`{"id":"b","user_input":"x","provider_script":[{"kind":"say"}],"expect":{}}`), `fixtures[1].provider_script[0].kind is "say"; want one of "chat_response", "tool_call", "error"`},
		{with(`{"id":"b","user_input":"x","provider_script":[{"kind":"tool_call"}],"expect":{}}`), `fixtures[1].provider_script[0].name is empty`},
		{with(`{"id":"b","user_input":"x","provider_script":[{"kind":"error","error_type":"oops"}],"expect":{}}`), `error_type is "oops"; want one of provider, rate_limited,`},
		{with(`{"id":"b","user_input":"x","provider_script":[{"kind":"chat_response","tokens":-1}],"expect":{}}`), `tokens is -1; want 0 or more`},
		{with(`{"id":"b","user_input":"x","mock_response":{"kind":"image"},"expect":{}}`), `mock_response.kind is "image"; want "text" or "error"`},
		{with(`{"id":"b","user_input":"x","mock_response":{"kind":"text"},"provider_script":[{"kind":"chat_response"}],"expect":{}}`), `both set`},
		{with(`{"id":"b","user_input":"x","mock_response":{"kind":"text"},"continued_turns":[{"user_input":"y"}],"expect":{}}`), `continued_turns[0].provider_script: want a script for every turn`},
		{with(`{"id":"b","user_input":"x","expect":{"tool_sequence_mode":"any"}}`), `expect.tool_sequence_mode is "any"; want "exact" or "ordered_subseq"`},
		{with(`{"id":"b","user_input":"x","expect":{"required_tool_calls":[{"name":""}]}}`), `expect.required_tool_calls[0].name is empty`},
		{with(`{"id":"b","user_input":"x","expect":{"required_tool_calls":[{"name":"t","count":{"op":"about","n":2}}]}}`), `expect.required_tool_calls[0].count is "about" 2`},
		{with(`{"id":"b","user_input":"x","expect":{"min_judge_score":1.5}}`), `expect.min_judge_score is 1.5; want 0 to 1`},
		{with(`{"id":"b","user_input":"x","expect":{"max_tokens_total":-1}}`), `expect.max_tokens_total is -1`},
		{with(`{"id":"b","user_input":"x","expect":{"max_duration_ms":-1}}`), `expect.max_duration_ms is -1`},
		{with(`{"id":"b","user_input":"x","expect":{"expected_error_type":"oops"}}`), `expect.expected_error_type is "oops"`},
	} {
		if _, err := ParseDataset([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %s", tt.data, err, tt.want)
		}
	}
}

// Every field of an expectation can fail a run, and passes one that does what it asks for.
func TestExpectation_EveryFieldCanFail(t *testing.T) {
	t.Parallel()
	good := Observation{
		FinalText: "Paris is the capital.", InputTokens: 50, OutputTokens: 10, DurationMS: 900, JudgeScore: ref(0.8),
		Calls: []Call{
			{Agent: "a", Name: "lookup", Arguments: json.RawMessage(`{"q":"France","deep":{"x":1,"y":[1,{"z":2}]}}`), Result: json.RawMessage(`{"name":"Paris"}`)},
			{Agent: "a", Name: "check", Arguments: json.RawMessage(`{}`), Result: json.RawMessage(`"ok"`)},
		},
	}
	with := func(change func(*Observation)) *Observation {
		o := good
		change(&o)
		return &o
	}
	for field, tt := range map[string]struct {
		expect string
		bad    *Observation
		want   FailureKind
	}{
		"FinalAnswerContains": {`{"final_answer_contains":["capital","Paris"]}`, with(func(o *Observation) { o.FinalText = "Paris" }), AnswerMissingPhrase},
		"FinalAnswerExcludes": {`{"final_answer_excludes":["sorry"]}`, with(func(o *Observation) { o.FinalText = "I am sorry" }), AnswerContainsExcludedPhrase},
		"ToolSequence":        {`{"tool_sequence":["lookup","check"]}`, with(func(o *Observation) { o.Calls = o.Calls[:1] }), ToolSequenceMismatch},
		"ToolSequenceMode":    {`{"tool_sequence":["check"],"tool_sequence_mode":"ordered_subseq"}`, with(func(o *Observation) { o.Calls = o.Calls[:1] }), ToolSequenceMismatch},
		"ForbiddenTools":      {`{"forbidden_tools":["delete"]}`, with(func(o *Observation) { o.Calls = []Call{{Name: "delete"}} }), ForbiddenToolUsed},
		"RequiredToolCalls": {`{"required_tool_calls":[{"name":"lookup","args_subset":{"deep":{"y":[1,{"z":2}]}},"result_subset":{"name":"Paris"},"count":{"op":"at_most","n":1}},{"name":"check"}]}`,
			with(func(o *Observation) { o.Calls = append(o.Calls[:1:1], o.Calls[0], o.Calls[1]) }), RequiredToolCallNotSatisfied},
		"MaxTokensTotal":    {`{"max_tokens_total":60}`, with(func(o *Observation) { o.OutputTokens = 11 }), TokenBudgetExceeded},
		"MaxDurationMS":     {`{"max_duration_ms":900}`, with(func(o *Observation) { o.DurationMS = 901 }), DurationExceeded},
		"MinJudgeScore":     {`{"min_judge_score":0.8}`, with(func(o *Observation) { o.JudgeScore = ref(0.79) }), JudgeBelowThreshold},
		"ExpectedErrorType": {`{"expected_error_type":"rate_limited"}`, with(func(o *Observation) { o.ErrorType = "timeout" }), ErrorTypeMismatch},
	} {
		var e Expectation
		if err := json.Unmarshal([]byte(tt.expect), &e); err != nil {
			t.Fatal(err)
		}
		fine := &good
		if field == "ExpectedErrorType" {
			fine = with(func(o *Observation) { o.ErrorType = "RateLimited" })
			if failures := e.Check(&good); len(failures) != 1 || failures[0].Kind != ExpectedErrorMissing {
				t.Errorf("%s: failures of a run without an error are %+v", field, failures)
			}
		}
		if failures := e.Check(fine); len(failures) != 0 {
			t.Errorf("%s: %s fails a good run: %+v", field, tt.expect, failures)
		}
		if failures := e.Check(tt.bad); len(failures) != 1 || failures[0].Kind != tt.want {
			t.Errorf("%s: failures of %s are %+v, want %s", field, tt.expect, failures, tt.want)
		}
	}
	if n := reflect.TypeFor[Expectation]().NumField(); n != 12 { // Scorers has its own tests, and Rubric checks nothing
		t.Errorf("Expectation has %d fields; give the new one a case above", n)
	}
}

// The JSON of a report is that of the original.
func TestReport_JSON(t *testing.T) {
	t.Parallel()
	f := Fixture{ID: "france", Expect: Expectation{FinalAnswerContains: []string{"Paris"}}}
	for _, tt := range []struct {
		o    Observation
		want string
	}{
		{Observation{FinalText: "Paris", Inferences: 2, InputTokens: 5, OutputTokens: 2, DurationMS: 12, Calls: []Call{{Agent: "a", Name: "lookup", Failed: true}}},
			`{"fixture_id":"france","passed":true,"failures":[],"final_text":"Paris","inference_count":2,"tool_count":1,"tool_failures":1,"total_input_tokens":5,"total_output_tokens":2,"total_tokens":7,"session_duration_ms":12,"tool_calls_by_agent":{"a":{"lookup":1}}}`},
		{Observation{FinalText: "Rome"},
			`{"fixture_id":"france","passed":false,"failures":[{"kind":"answer_missing_phrase","phrase":"Paris"}],"final_text":"Rome","inference_count":0,"tool_count":0,"tool_failures":0,"total_input_tokens":0,"total_output_tokens":0,"total_tokens":0,"session_duration_ms":0}`},
		{Observation{FinalText: "Paris", ErrorType: "timeout"},
			`{"fixture_id":"france","passed":false,"failures":[{"kind":"replay_runtime_failure","failure":{"kind":"runtime_error","message":"timeout"}}],"final_text":"Paris","inference_count":0,"tool_count":0,"tool_failures":0,"total_input_tokens":0,"total_output_tokens":0,"total_tokens":0,"session_duration_ms":0,"error_type":"timeout","runtime_failure":{"kind":"runtime_error","message":"timeout"}}`},
		{Observation{FinalText: "Paris", Runtime: &RuntimeFailure{Kind: ScriptExhausted}},
			`{"fixture_id":"france","passed":false,"failures":[{"kind":"replay_runtime_failure","failure":{"kind":"script_exhausted"}}],"final_text":"Paris","inference_count":0,"tool_count":0,"tool_failures":0,"total_input_tokens":0,"total_output_tokens":0,"total_tokens":0,"session_duration_ms":0,"runtime_failure":{"kind":"script_exhausted"}}`},
	} {
		if got, err := json.Marshal(NewReport(&f, &tt.o)); err != nil || string(got) != tt.want {
			t.Errorf("report is\n%s\nwant\n%s (%v)", got, tt.want, err)
		}
	}
}

// A diff names every case once, and stops a release for the changes that should.
func TestDiff_KindsOfChanges(t *testing.T) {
	t.Parallel()
	item := func(id string, passed bool, change func(*Report)) Item {
		r := &Report{FixtureID: id, Passed: passed}
		if !passed {
			r.Failures = []Failure{{Kind: AnswerMissingPhrase}}
		}
		if change != nil {
			change(r)
		}
		return Item{FixtureID: id, Report: r}
	}
	changes := Diff(
		[]Item{item("same", true, nil), item("worse", true, nil), item("better", false, nil), item("bad", false, nil), item("drifts", true, nil), item("gone", true, nil)},
		[]Item{item("new", false, nil), item("same", true, nil), item("worse", false, nil), item("better", true, nil),
			item("bad", false, func(r *Report) { r.Failures = append(r.Failures, Failure{Kind: ForbiddenToolUsed}) }),
			item("drifts", true, func(r *Report) { r.FinalText = "other" }), item("fine", true, nil)})
	got, err := json.Marshal(changes)
	want := `[{"kind":"unchanged","fixture_id":"same"},{"kind":"regression","fixture_id":"worse","new_failures":["answer_missing_phrase"]},` +
		`{"kind":"fixed","fixture_id":"better"},{"kind":"still_failing","fixture_id":"bad","new_failures":["forbidden_tool_used"]},` +
		`{"kind":"drift","fixture_id":"drifts","fields":["final_text"]},{"kind":"missing_from_new","fixture_id":"gone"},` +
		`{"kind":"newly_added","fixture_id":"new","passed":false},{"kind":"newly_added","fixture_id":"fine","passed":true}]`
	if err != nil || string(got) != want {
		t.Errorf("diff is\n%s\nwant\n%s", got, want)
	}
	var blocking []string
	for i := range changes {
		if changes[i].Blocking() {
			blocking = append(blocking, changes[i].FixtureID)
		}
	}
	if strings.Join(blocking, " ") != "worse drifts gone new" {
		t.Errorf("blocking are %v", blocking)
	}
}

// Samples of one case and model are compared with the same sample, and added up.
func TestAggregates_OfSamples(t *testing.T) {
	t.Parallel()
	var items []Item
	for _, model := range []string{"m1", "m2"} {
		for sample := range 4 {
			items = append(items, Item{FixtureID: "f", Cell: &Cell{ModelID: model}, SampleIndex: ref(sample), Report: &Report{Passed: model == "m1" || sample == 2}})
		}
	}
	got, _ := json.Marshal(Aggregates(items))
	if want := `[{"fixture_id":"f","cell":{"model_id":"m1"},"samples":4,"passed":4,"pass_rate":1,"pass_at_k":true,"pass_pow_k":true},` +
		`{"fixture_id":"f","cell":{"model_id":"m2"},"samples":4,"passed":1,"pass_rate":0.25,"pass_at_k":true,"pass_pow_k":false}]`; string(got) != want {
		t.Errorf("aggregates are\n%s\nwant\n%s", got, want)
	}
	for _, c := range Diff(items, items) {
		if c.Kind != Unchanged && c.Kind != StillFailing || len(c.NewFailures) > 0 {
			t.Errorf("a run differs from itself: %+v", c)
		}
	}
}

// What is accepted as a dataset can be written and read again, and can be expected of any run.
func FuzzDataset(f *testing.F) {
	f.Add([]byte(capital))
	f.Add([]byte(`{"fixtures":[{"id":"a","user_input":"x","mock_response":{"kind":"text","text":"y"},"expect":{"required_tool_calls":[{"name":"t","args_subset":[1,{"a":null}]}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseDataset(data)
		if err != nil {
			return
		}
		for i := range d.Fixtures {
			NewReport(&d.Fixtures[i], &Observation{Calls: []Call{{Name: "t", Arguments: data}}})
		}
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseDataset(out); err != nil {
			t.Errorf("%s was written as %s, which is refused: %v", data, out, err)
		}
	})
}

// Reports that are written can be read by programs that know fewer or more fields; others are refused by their line.
func TestReports_AreReadAndWritten(t *testing.T) {
	t.Parallel()
	items := []Item{{FixtureID: "a", Report: &Report{FixtureID: "a", Passed: true, Failures: []Failure{}}}, {FixtureID: "b", Report: &Report{FixtureID: "b", Failures: []Failure{{Kind: ForbiddenToolUsed, Tool: "rm"}}}}}
	var b strings.Builder
	if err := WriteReports(&b, items); err != nil {
		t.Fatal(err)
	}
	got, err := ReadReports(strings.NewReader("\n" + strings.Replace(b.String(), "{", `{"newer":1,`, 1)))
	if err != nil || !reflect.DeepEqual(got, items) {
		t.Errorf("got %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"{}": `line 1: fixture_id is missing`, "\n[]": `line 2: `, `{"fixture_id":"a","passed":true,"failures":[{"kind":"x"}]}`: `line 1: passed is true with 1 failures`,
		strings.Repeat("x", maxReport+1): `line 1: `,
	} {
		if _, err := ReadReports(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error is %v, want one with %s", text, err, want)
		}
	}
}

// Names of cases and models cannot break out of a table or a file of tests.
func TestFormats_EscapeNames(t *testing.T) {
	t.Parallel()
	name := "a|b<script>`x`\n&\x01"
	changes := Diff(nil, []Item{{FixtureID: name, Cell: &Cell{ModelID: "m"}, SampleIndex: ref(1), Report: &Report{FixtureID: name, Failures: []Failure{{Kind: ForbiddenToolUsed}}}}})
	var md, junit strings.Builder
	if err := WriteMarkdown(&md, changes); err != nil {
		t.Fatal(err)
	}
	if want := "**Blocked:** 1 new\n\n| Case | Change | |\n|---|---|---|\n| a\\|b&lt;script>\\`x\\` &\x01 with m, sample 1 | is new and fails | blocks |\n"; md.String() != want {
		t.Errorf("table is %q, want %q", md.String(), want)
	}
	if err := WriteJUnit(&junit, "suite", changes, nil); err != nil {
		t.Fatal(err)
	}
	var suite testSuite
	if err := xml.Unmarshal([]byte(junit.String()), &suite); err != nil || suite.Failures != 1 || suite.Cases[0].Failure == nil || !strings.HasPrefix(suite.Cases[0].Name, "a|b<script>`x`\n&") {
		t.Errorf("%s is read as %+v, %v", junit.String(), suite, err)
	}
}

func FuzzReports(f *testing.F) {
	f.Add("{\"fixture_id\":\"a\",\"passed\":true}\n{\"fixture_id\":\"b\",\"failures\":[{\"kind\":\"x\"}]}")
	f.Fuzz(func(t *testing.T, text string) {
		items, err := ReadReports(strings.NewReader(text))
		if err != nil {
			return
		}
		if changes := Diff(items, items); len(changes) != len(items) {
			t.Errorf("%d cases have %d changes", len(items), len(changes))
		}
		var b strings.Builder
		if err := WriteReports(&b, items); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadReports(strings.NewReader(b.String())); err != nil || len(again) != len(items) {
			t.Errorf("%q cannot be read again: %v", b.String(), err)
		}
	})
}
