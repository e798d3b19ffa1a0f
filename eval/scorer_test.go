package eval_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/eval"
)

func parseScorer(t *testing.T, text string) eval.Scorer {
	t.Helper()
	d, err := eval.ParseDataset([]byte(`{"fixtures":[{"id":"a","user_input":"x","expect":{"scorers":[` + text + `]}}]}`))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d.Fixtures[0].Expect.Scorers[0]
}

func TestScorer_SaysWhetherARunPassesAndWhy(t *testing.T) {
	t.Parallel()
	usd := 0.02
	o := &eval.Observation{FinalText: "It costs 1,250.5 dollars.", InputTokens: 40, OutputTokens: 2, Steps: 3, DurationMS: 900, CostUSD: &usd,
		Calls: []eval.Call{{Name: "find", Arguments: json.RawMessage(`{"id":7,"deep":{"a":1}}`)}, {Name: "pay", Arguments: json.RawMessage(`{"id":7}`)}}}
	doc := &eval.Observation{FinalText: "```json\n{\"items\":[{\"price\":3,\"the name\":\"x\"}]}\n```"}
	leak := &eval.Observation{FinalText: "fine", Calls: []eval.Call{{Name: "post", Arguments: json.RawMessage(`{"text":"AKIAIOSFODNN7EXAMPLE"}`)}}}
	id := &eval.Observation{FinalText: `{"id":9007199254740993,"one":1.0,"none":null}`, Calls: []eval.Call{{Name: "get", Arguments: json.RawMessage(`{"id":9007199254740993}`)}}}
	twice := &eval.Observation{Calls: []eval.Call{{Name: "pay", Arguments: json.RawMessage(`{"id":7}`)}, {Name: "pay", Arguments: json.RawMessage(`{}`)}}}
	functions := map[string]eval.ScoreFunc{
		"long": func(_ *eval.Fixture, o *eval.Observation) (eval.Score, error) {
			return eval.Score{Score: 0.7, Passed: len(o.FinalText) > 5}, nil
		},
		"broken": func(*eval.Fixture, *eval.Observation) (eval.Score, error) {
			return eval.Score{}, errors.New("no such file")
		},
	}
	for _, tt := range []struct {
		scorer string
		of     *eval.Observation
		score  float64
		reason string // "" if it passes
	}{
		{`{"kind":"exact","text":" it COSTS 1,250.5 dollars.","ignore_case":true}`, o, 1, ""},
		{`{"kind":"exact","text":"It costs"}`, o, 0, `want "It costs"`},
		{`{"kind":"contains","text":"dollars"}`, o, 1, ""},
		{`{"kind":"contains","text":"dollars","not":true}`, o, 0, "should not have"},
		{`{"kind":"regex","pattern":"^It costs [0-9,.]+ dollars"}`, o, 1, ""},
		{`{"kind":"regex","pattern":"euro"}`, o, 0, "should match euro"},
		{`{"kind":"json_schema","schema":{"type":"object","required":["items"]}}`, doc, 1, ""},
		{`{"kind":"json_schema","schema":{"type":"object","required":["total"]}}`, doc, 0, "does not fit the schema"},
		{`{"kind":"json_schema","schema":{"type":"object"}}`, o, 0, "which is not JSON"},
		{`{"kind":"json_path","path":"$.items[0].price","equals":3}`, doc, 1, ""},
		{`{"kind":"json_path","path":"$.items[0][\"the name\"]","equals":"x"}`, doc, 1, ""},
		{`{"kind":"json_path","path":"items[0].price","equals":"3"}`, doc, 0, "at items[0].price is 3, want \"3\""},
		{`{"kind":"json_path","path":"$.items[1]"}`, doc, 0, "nothing at $.items[1]"},
		{`{"kind":"numeric","number":1250,"tolerance":0.5}`, o, 1, ""},
		{`{"kind":"numeric","number":1250}`, o, 0, "the number is 1250.5, want 1250 within 0"},
		{`{"kind":"numeric","number":3,"path":"$.items[0].price"}`, doc, 1, ""},
		{`{"kind":"numeric","number":3}`, leak, 0, "has no number"},
		{`{"kind":"tool_calls","calls":[{"name":"find","args_subset":{"deep":{"a":1}}},{"name":"pay"}]}`, o, 1, ""},
		{`{"kind":"tool_calls","calls":[{"name":"pay"},{"name":"find"}]}`, o, 0, "made 0 of 2 calls; it made find, pay"},
		{`{"kind":"tool_calls","order":"any","calls":[{"name":"pay"},{"name":"find"}]}`, o, 1, ""},
		{`{"kind":"tool_calls","order":"any","calls":[{"name":"pay"}]}`, o, 1, "made 1 further calls"},
		{`{"kind":"tool_calls","order":"includes","calls":[{"name":"pay"}]}`, o, 1, ""},
		{`{"kind":"tool_calls","order":"includes","calls":[{"name":"pay"},{"name":"pay"}]}`, o, 0.5, "made 1 of 2 calls"},
		// A call counts for the one that asks for more, whatever the order.
		{`{"kind":"tool_calls","order":"any","calls":[{"name":"pay"},{"name":"pay","args_subset":{"id":7}}]}`, twice, 1, ""},
		{`{"kind":"tool_calls","order":"includes","calls":[{"name":"pay","args_subset":null},{"name":"pay","args_subset":{"id":7}},{"name":"pay","args_subset":{"id":8}}]}`, twice, 1.0 / 3 * 2, "made 2 of 3 calls"},
		// An id has more digits than a float64.
		{`{"kind":"json_path","path":"$.id","equals":9007199254740993}`, id, 1, ""},
		{`{"kind":"json_path","path":"$.id","equals":9007199254740992}`, id, 0, "at $.id is 9007199254740993, want 9007199254740992"},
		{`{"kind":"json_path","path":"$.one","equals":1}`, id, 1, ""},
		{`{"kind":"json_path","path":"$.one","equals":{}}`, id, 0, "want {}"},
		{`{"kind":"json_path","path":"$.none","equals":null}`, id, 1, ""},
		{`{"kind":"json_path","path":"$","equals":{"one":1}}`, id, 0, "want {"},
		{`{"kind":"tool_calls","calls":[{"name":"get","args_subset":{"id":9007199254740992}}]}`, id, 0, "made 0 of 1 calls"},
		{`{"kind":"numeric","number":3}`, &eval.Observation{FinalText: "The point is (3,4)."}, 1, ""},
		{`{"kind":"numeric","number":1234567}`, &eval.Observation{FinalText: "Of 1,234,567 people"}, 1, ""},
		{`{"kind":"numeric","number":1234}`, &eval.Observation{FinalText: "In 1234, at last"}, 1, ""},
		{`{"kind":"no_tool"}`, doc, 1, ""},
		{`{"kind":"no_tool"}`, o, 0, "made 2 calls"},
		{`{"kind":"cost","max":0.02}`, o, 1, ""},
		{`{"kind":"cost","max":0.01}`, o, 0, "cost 0.02 US dollars, want at most 0.01"},
		{`{"kind":"latency","max":100}`, o, 0, "took 900 ms"},
		{`{"kind":"tokens","max":41}`, o, 0, "took 42 tokens"},
		{`{"kind":"steps","max":3}`, o, 1, ""},
		{`{"kind":"safety","rules":["secrets","(?i)password"]}`, o, 1, ""},
		{`{"kind":"safety","rules":["secrets"]}`, leak, 0, "a call of post contains a secret"},
		{`{"kind":"safety","rules":["dollars"]}`, o, 0, "the answer matches dollars"},
		{`{"kind":"func","name":"long"}`, o, 0.7, ""},
		{`{"kind":"func","name":"long"}`, leak, 0.7, "the function says so"},
		{`{"kind":"func","name":"broken"}`, o, 0, "no such file"},
		{`{"kind":"func","name":"none"}`, o, 0, `this program has no function "none"`},
	} {
		s := parseScorer(t, tt.scorer)
		got := s.Score(&eval.Fixture{}, tt.of, functions)
		if got.Score != tt.score || got.Passed != (tt.reason == "") || !strings.Contains(got.Reason, tt.reason) {
			t.Errorf("%s: %+v, want %g and %q", tt.scorer, got, tt.score, tt.reason)
		}
	}
}

func TestScorer_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	for scorer, want := range map[string]string{
		`{"kind":"guess"}`:                                         `kind is "guess"; want one of`,
		`{"kind":"exact"}`:                                         "text is missing",
		`{"kind":"regex","pattern":"("}`:                           `pattern is "("`,
		`{"kind":"json_schema","schema":{"type":"thing"}}`:         "schema is not valid",
		`{"kind":"json_path","path":"a..b"}`:                       `path is "a..b"`,
		`{"kind":"numeric","number":1,"tolerance":-1}`:             "tolerance is -1",
		`{"kind":"tool_calls","calls":[{"name":""}]}`:              "calls[0].name is empty",
		`{"kind":"tool_calls","calls":[{"name":"a"}],"order":"x"}`: `order is "x"`,
		`{"kind":"tool_calls","calls":[` + strings.Repeat(`{"name":"a"},`, 100) + `{"name":"a"}]}`: "calls has 101; want at most 100",
		`{"kind":"cost"}`:                 "max is missing",
		`{"kind":"safety","rules":["("]}`: `rules[0] is "("`,
		`{"kind":"func"}`:                 "name is missing",
	} {
		_, err := eval.ParseDataset([]byte(`{"fixtures":[{"id":"a","user_input":"x","expect":{"scorers":[` + scorer + `]}}]}`))
		if err == nil || !strings.Contains(err.Error(), "fixtures[0].expect.scorers[0]."+want) {
			t.Errorf("%s: %v, want %s", scorer, err, want)
		}
	}
}

func TestNewReport_AScorerThatFailsFailsTheCase(t *testing.T) {
	t.Parallel()
	f := &eval.Fixture{ID: "a", Expect: eval.Expectation{Scorers: []eval.Scorer{parseScorer(t, `{"kind":"no_tool"}`), parseScorer(t, `{"kind":"exact","name":"polite","text":"Hello"}`)}}}
	r := eval.NewReport(f, &eval.Observation{FinalText: "Hi"})
	if r.Passed || len(r.Scores) != 2 || !r.Scores[0].Passed || len(r.Failures) != 1 || r.Failures[0].Kind != eval.ScorerFailed || r.Failures[0].Scorer != "polite" {
		t.Errorf("%+v", r)
	}
}
