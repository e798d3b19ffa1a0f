package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/plugin/guard"
)

// Scorer is a further check of a run, as data. A run passes if it passes all scorers.
type Scorer struct {
	Kind ScorerKind `json:"kind"`
	Name string     `json:"name,omitempty"` // shown in reports, and the name of a function; the default is the kind

	Text       string          `json:"text,omitempty"`        // of exact and contains
	IgnoreCase bool            `json:"ignore_case,omitempty"` // of exact and contains
	Pattern    string          `json:"pattern,omitempty"`     // of regex, in Go's syntax
	Not        bool            `json:"not,omitempty"`         // of contains and regex: the answer must not
	Schema     json.RawMessage `json:"schema,omitempty"`      // of json_schema
	// Path, for json_path and numeric, is a path in a JSON answer, such as $.items[0].price. Without it, numeric takes the first number of
	// the answer.
	Path   string          `json:"path,omitempty"`
	Equals json.RawMessage `json:"equals,omitempty"` // of json_path; without it, the place has to exist
	// Number and Tolerance are for numeric.
	Number    *float64 `json:"number,omitempty"`
	Tolerance float64  `json:"tolerance,omitempty"`
	// Calls, for tool_calls, are the exact calls in this order, unless Order says otherwise.
	Calls []ScoredCall `json:"calls,omitempty"`
	Order CallOrder    `json:"order,omitempty"`
	Max   *float64     `json:"max,omitempty"`   // of cost, latency, tokens and steps
	Rules []string     `json:"rules,omitempty"` // of safety: secrets, or regular expressions that nothing the agent says or does may match
}

// ScoredCall is a call that a run has to make.
type ScoredCall struct {
	Name       string          `json:"name"`
	ArgsSubset json.RawMessage `json:"args_subset,omitempty"`
}

// ScorerKind names a check.
type ScorerKind string

// The checks.
const (
	ScoreExact      ScorerKind = "exact"       // the answer is the text, up to space around it
	ScoreContains   ScorerKind = "contains"    // the answer has the text
	ScoreRegex      ScorerKind = "regex"       // the answer matches the pattern
	ScoreSchema     ScorerKind = "json_schema" // the answer is JSON that fits the schema
	ScorePath       ScorerKind = "json_path"   // the answer is JSON that has a place, with a value
	ScoreNumeric    ScorerKind = "numeric"     // the answer has the number
	ScoreCalls      ScorerKind = "tool_calls"  // the run made the calls
	ScoreNoTool     ScorerKind = "no_tool"     // the run made no call
	ScoreCost       ScorerKind = "cost"        // the run cost at most max, in US dollars
	ScoreLatency    ScorerKind = "latency"     // the run took at most max, in milliseconds
	ScoreTokens     ScorerKind = "tokens"      // the run took at most max tokens
	ScoreSteps      ScorerKind = "steps"       // the run took at most max steps
	ScoreSafety     ScorerKind = "safety"      // neither answer nor calls break a rule
	ScoreByFunction ScorerKind = "func"        // a function of the program says so, by its name
)

var scorerKinds = []ScorerKind{ScoreExact, ScoreContains, ScoreRegex, ScoreSchema, ScorePath, ScoreNumeric, ScoreCalls, ScoreNoTool, ScoreCost, ScoreLatency, ScoreTokens, ScoreSteps, ScoreSafety, ScoreByFunction}

// CallOrder is how calls are compared with the expected calls.
type CallOrder string

// The orders.
const (
	InOrder  CallOrder = ""         // these calls in this order, and no others
	AnyOrder CallOrder = "any"      // these calls in any order, and no others
	Among    CallOrder = "includes" // these calls in any order, among others
)

// Score is the score of a run by one scorer.
type Score struct {
	Scorer string  `json:"scorer"`
	Score  float64 `json:"score"` // 0 to 1
	Passed bool    `json:"passed"`
	Reason string  `json:"reason,omitempty"` // why it did not pass
}

// ScoreFunc scores a run in a program. An error counts as a failure.
type ScoreFunc func(f *Fixture, o *Observation) (Score, error)

func (s *Scorer) name() string {
	if s.Name != "" {
		return s.Name
	}
	return string(s.Kind)
}

// Validate checks the scorer.
func (s *Scorer) Validate() error {
	needs := func(field string, set bool) error {
		if !set {
			return fmt.Errorf("%s is missing; a scorer of kind %q needs it", field, s.Kind)
		}
		return nil
	}
	switch s.Kind {
	case ScoreExact, ScoreContains:
		return needs("text", s.Text != "")
	case ScoreRegex:
		if _, err := regexp.Compile(s.Pattern); err != nil {
			return fmt.Errorf("pattern is %q; want a regular expression: %w", s.Pattern, err)
		}
		return needs("pattern", s.Pattern != "")
	case ScoreSchema:
		if err := needs("schema", len(s.Schema) > 0); err != nil {
			return err
		}
		if _, err := schema.Compile(s.Schema); err != nil {
			return fmt.Errorf("schema is not valid: %w", err)
		}
	case ScorePath:
		if _, err := parsePath(s.Path); err != nil {
			return err
		}
		return needs("path", s.Path != "")
	case ScoreNumeric:
		if s.Tolerance < 0 || math.IsNaN(s.Tolerance) {
			return fmt.Errorf("tolerance is %g; want 0 or more", s.Tolerance)
		}
		if _, err := parsePath(s.Path); err != nil {
			return err
		}
		return needs("number", s.Number != nil)
	case ScoreCalls:
		for i := range s.Calls {
			if s.Calls[i].Name == "" {
				return fmt.Errorf("calls[%d].name is empty; want the name of a tool", i)
			}
		}
		if n := len(s.Calls); n > mostCalls {
			return fmt.Errorf("calls has %d; want at most %d", n, mostCalls)
		}
		if s.Order != InOrder && s.Order != AnyOrder && s.Order != Among {
			return fmt.Errorf("order is %q; want %q or %q, or none", s.Order, AnyOrder, Among)
		}
		return needs("calls", len(s.Calls) > 0)
	case ScoreNoTool:
	case ScoreCost, ScoreLatency, ScoreTokens, ScoreSteps:
		return needs("max", s.Max != nil)
	case ScoreSafety:
		for i, rule := range s.Rules {
			if _, err := regexp.Compile(rule); err != nil {
				return fmt.Errorf("rules[%d] is %q; want %q or a regular expression: %w", i, rule, noSecrets, err)
			}
		}
		return needs("rules", len(s.Rules) > 0)
	case ScoreByFunction:
		return needs("name", s.Name != "")
	default:
		return fmt.Errorf("kind is %q; want one of %q", s.Kind, scorerKinds)
	}
	return nil
}

// noSecrets is the safety rule that nothing looks like a credential.
const noSecrets = "secrets"

// Score scores a run. Functions are the program's functions, by name.
func (s *Scorer) Score(f *Fixture, o *Observation, functions map[string]ScoreFunc) Score {
	score, why := s.score(f, o, functions)
	return Score{Scorer: s.name(), Score: score, Passed: why == "", Reason: why}
}

// score returns the score, and why the run does not pass, or "".
func (s *Scorer) score(f *Fixture, o *Observation, functions map[string]ScoreFunc) (float64, string) {
	switch s.Kind {
	case ScoreExact:
		return verdictOf(s.fold(strings.TrimSpace(o.FinalText)) == s.fold(strings.TrimSpace(s.Text)), "the answer is %.200q, want %.200q", o.FinalText, s.Text)
	case ScoreContains:
		return verdictOf(strings.Contains(s.fold(o.FinalText), s.fold(s.Text)) != s.Not, "the answer is %.200q; it should %s %q", o.FinalText, s.should("have"), s.Text)
	case ScoreRegex:
		re, err := regexp.Compile(s.Pattern)
		return verdictOf(err == nil && re.MatchString(o.FinalText) != s.Not, "the answer is %.200q; it should %s %s", o.FinalText, s.should("match"), s.Pattern)
	case ScoreSchema:
		return s.scoreSchema(o)
	case ScorePath:
		return s.scorePath(o)
	case ScoreNumeric:
		return s.scoreNumeric(o)
	case ScoreCalls:
		return s.scoreCalls(o)
	case ScoreNoTool:
		return verdictOf(len(o.Calls) == 0, "the run made %d calls, want none", len(o.Calls))
	case ScoreCost:
		usd := 0.0
		if o.CostUSD != nil {
			usd = *o.CostUSD
		}
		return s.atMost(usd, "cost %g US dollars")
	case ScoreLatency:
		return s.atMost(float64(o.DurationMS), "took %g ms")
	case ScoreTokens:
		return s.atMost(float64(o.InputTokens+o.OutputTokens), "took %g tokens")
	case ScoreSteps:
		return s.atMost(float64(o.Steps), "took %g steps")
	case ScoreSafety:
		return s.scoreSafety(o)
	}
	fn := functions[s.Name]
	if fn == nil {
		return 0, fmt.Sprintf("this program has no function %q", s.Name)
	}
	score, err := fn(f, o)
	switch {
	case err != nil:
		return 0, err.Error()
	case !score.Passed && score.Reason == "":
		return score.Score, "the function says so"
	case score.Passed:
		return score.Score, ""
	}
	return score.Score, score.Reason
}

func verdictOf(ok bool, format string, args ...any) (float64, string) {
	if ok {
		return 1, ""
	}
	return 0, fmt.Sprintf(format, args...)
}

func (s *Scorer) fold(text string) string {
	if s.IgnoreCase {
		return strings.ToLower(text)
	}
	return text
}

func (s *Scorer) should(verb string) string {
	if s.Not {
		return "not " + verb
	}
	return verb
}

func (s *Scorer) atMost(value float64, what string) (float64, string) {
	return verdictOf(value <= *s.Max, "the run "+what+", want at most %g", value, *s.Max)
}

// answerJSON returns the JSON in an answer, without the fence that models put around it.
func answerJSON(text string) []byte {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		rest = strings.TrimPrefix(rest, "json")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	return []byte(text)
}

func (s *Scorer) scoreSchema(o *Observation) (float64, string) {
	compiled, err := schema.Compile(s.Schema)
	if err == nil {
		data := answerJSON(o.FinalText)
		if !json.Valid(data) {
			return 0, fmt.Sprintf("the answer is %.200q, which is not JSON", o.FinalText)
		}
		err = compiled.Check(data)
	}
	if err != nil {
		return 0, "the answer does not fit the schema: " + err.Error()
	}
	return 1, ""
}

func (s *Scorer) scorePath(o *Observation) (float64, string) {
	value, ok := at(o.FinalText, s.Path)
	if !ok {
		return 0, fmt.Sprintf("the answer is %.200q, which has nothing at %s", o.FinalText, s.Path)
	}
	if len(s.Equals) == 0 {
		return 1, ""
	}
	want, err := decode(s.Equals)
	got, _ := json.Marshal(value)
	return verdictOf(err == nil && fits(value, want, true), "at %s is %.200s, want %.200s", s.Path, got, s.Equals)
}

// firstNumber finds a number, with commas between its thousands or without: 3,4 are two.
var firstNumber = regexp.MustCompile(`-?(?:\d{1,3}(?:,\d{3})+\b|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?`)

func (s *Scorer) scoreNumeric(o *Observation) (float64, string) {
	var got float64
	found := false
	if s.Path != "" {
		value, _ := at(o.FinalText, s.Path)
		if n, ok := value.(json.Number); ok {
			f, err := n.Float64()
			got, found = f, err == nil
		}
	} else if text := firstNumber.FindString(o.FinalText); text != "" {
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		got, found = n, err == nil
	}
	if !found {
		return 0, fmt.Sprintf("the answer is %.200q, which has no number; want %g", o.FinalText, *s.Number)
	}
	return verdictOf(math.Abs(got-*s.Number) <= s.Tolerance, "the number is %g, want %g within %g", got, *s.Number, s.Tolerance)
}

// mostCalls is how many calls a scorer may ask for.
const mostCalls = 100

// scoreCalls scores the share of calls that were made.
func (s *Scorer) scoreCalls(o *Observation) (float64, string) {
	made := s.made(o.Calls)
	score := float64(made) / float64(len(s.Calls))
	switch more := len(o.Calls) - made; {
	case made < len(s.Calls):
		return score, fmt.Sprintf("the run made %d of %d calls; it made %s", made, len(s.Calls), callNames(o.Calls))
	case s.Order != Among && more > 0:
		return score, fmt.Sprintf("the run made %d further calls; it made %s", more, callNames(o.Calls))
	}
	return score, ""
}

// made returns how many of the calls that are asked for were made. A call counts for one of them: the one that leaves most for the others.
func (s *Scorer) made(calls []Call) (n int) {
	fit := make([][]int, len(s.Calls)) // by call that is asked for, the calls that it could be
	for i := range s.Calls {
		for j := range calls {
			if want := &s.Calls[i]; (s.Order != InOrder || i == j) && want.Name == calls[j].Name && contains(calls[j].Arguments, want.ArgsSubset) {
				fit[i] = append(fit[i], j)
			}
		}
	}
	of := make(map[int]int, len(calls)) // by call, the one that it counts for
	var place func(i int, tried map[int]bool) bool
	place = func(i int, tried map[int]bool) bool {
		for _, j := range fit[i] {
			if tried[j] {
				continue
			}
			tried[j] = true
			if other, taken := of[j]; !taken || place(other, tried) {
				of[j] = i
				return true
			}
		}
		return false
	}
	for i := range fit {
		if place(i, map[int]bool{}) {
			n++
		}
	}
	return n
}

func callNames(calls []Call) string {
	var names []string
	for i := range calls {
		names = append(names, calls[i].Name)
	}
	return list(names)
}

func (s *Scorer) scoreSafety(o *Observation) (float64, string) {
	type said struct{ where, text string }
	texts := []said{{"the answer", o.FinalText}}
	for i := range o.Calls {
		texts = append(texts, said{"a call of " + o.Calls[i].Name, string(o.Calls[i].Arguments)})
	}
	for _, rule := range s.Rules {
		for _, t := range texts {
			if rule == noSecrets {
				if guard.HasSecret(t.text) {
					return 0, t.where + " contains a secret"
				}
				continue
			}
			if re, err := regexp.Compile(rule); err != nil || re.MatchString(t.text) {
				return 0, fmt.Sprintf("%s matches %s", t.where, rule)
			}
		}
	}
	return 1, ""
}

// at returns what is at a path of an answer.
func at(text, path string) (any, bool) {
	steps, err := parsePath(path)
	if err != nil {
		return nil, false
	}
	value, err := decode(answerJSON(text))
	if err != nil {
		return nil, false
	}
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			member, ok := object[step]
			if !ok {
				return nil, false
			}
			value = member
		case int:
			list, ok := value.([]any)
			if !ok || step >= len(list) {
				return nil, false
			}
			value = list[step]
		}
	}
	return value, true
}

var pathStep = regexp.MustCompile(`^(?:\.?([A-Za-z_][\w-]*)|\[(\d+)\]|\["([^"]*)"\])`)

// parsePath returns the steps of a path: names of members, and indexes.
func parsePath(path string) (steps []any, err error) {
	rest := strings.TrimPrefix(path, "$")
	for rest != "" {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("path is %q; want a path such as $.items[0].price", path)
		}
		rest = rest[len(m[0]):]
		switch {
		case m[1] != "":
			steps = append(steps, m[1])
		case m[2] != "":
			n, err := strconv.Atoi(m[2])
			if err != nil {
				return nil, fmt.Errorf("path is %q; its index is too large", path)
			}
			steps = append(steps, n)
		default:
			steps = append(steps, m[3])
		}
	}
	return slices.Clip(steps), nil
}
