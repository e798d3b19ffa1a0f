package genui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/genui"
	"github.com/awaken-go/awaken/state/builtin"
)

// orderLines builds a form, as a sub-agent writes it: with words, fences and every kind of operation.
const orderLines = "Here it is:\n```jsonl\n" + `{"op":"add","path":"/root","value":"card"}
{"op":"add","path":"/elements/card","value":{"type":"Card","props":{"title":"Ordr"},"children":["send"]}}
{"op":"replace","path":"/elements/card/props/title","value":"Order"}
{"op":"add","path":"/elements/tmp","value":{"type":"Button","props":{"label":"Send"},"on":{"press":{"action":"submit","params":{"n":{"$state":"/n"}}}}}}
{"op":"move","from":"/elements/tmp","path":"/elements/send"}
{"op":"copy","from":"/elements/send","path":"/elements/other"}
{"op":"add","path":"/elements/card/children/-","value":"other"}
{"op":"add","path":"/elements/card/children/0","value":"gone"}
{"op":"remove","path":"/elements/card/children/0"}
{"op":"test","path":"/elements/card/type","value":"Card"}
{"op":"add","path":"/state/form/n","value":1}
` + "```\n"

const orderSpec = `{"elements":{"card":{"children":["send","other"],"props":{"title":"Order"},"type":"Card"},` +
	`"other":{"children":[],"on":{"press":{"action":"submit","params":{"n":{"$state":"/n"}}}},"props":{"label":"Send"},"type":"Button"},` +
	`"send":{"children":[],"on":{"press":{"action":"submit","params":{"n":{"$state":"/n"}}}},"props":{"label":"Send"},"type":"Button"}},"root":"card","state":{"form":{"n":1}}}`

// Lines of operations, a flat spec and a tree become the same kind of spec.
func TestCompileJSONRender(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, want string
		count      int
	}{
		"lines":  {orderLines, orderSpec, 3},
		"spec":   {orderSpec, orderSpec, 3},
		"fenced": {"```json\n" + orderSpec + "\n```", orderSpec, 3},
		"a tree": {`{"type":"Card","props":{"title":"A"},"state":{"n":1},"children":[{"type":"Text","props":{"text":"b"}},{"type":"Stack","children":[{"type":"Text"}]}]}`,
			`{"elements":{"e1":{"children":[],"props":{"text":"b"},"type":"Text"},"e2":{"children":["e3"],"props":{},"type":"Stack"},"e3":{"children":[],"props":{},"type":"Text"},"root":{"children":["e1","e2"],"props":{"title":"A"},"type":"Card"}},"root":"root","state":{"n":1}}`, 4},
		"one element": {`{"type":"Card"}`, `{"elements":{"root":{"children":[],"props":{},"type":"Card"}},"root":"root"}`, 1},
		"one line":    {`{"op":"add","path":"","value":{}}` + "\n" + `{"type":"Card"}`, "", 0},
	} {
		got, err := genui.CompileJSONRender(tt.text, limits)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: made %s", name, got.Spec)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(got.Spec) != tt.want || got.Count != tt.count {
			t.Errorf("%s: %d elements\n%s\nwant %d\n%s", name, got.Count, got.Spec, tt.count, tt.want)
		}
	}
}

// A mistake is reported with its position, what was found and what is accepted.
func TestCompileJSONRender_Refuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"no root":                {`{"elements":{"a":{"type":"Text"}}}`, `/root: is missing, want a text`},
		"a root that is missing": {`{"root":"b","elements":{"a":{"type":"Text"}}}`, `/root: is "b", which is no element, want one of the elements: a`},
		"words":                  {`I cannot draw.`, `/root: is empty, want a text that is not empty`},
		"no type":                {`{"root":"a","elements":{"a":{"props":{}}}}`, `/elements/a/type: is missing, want a text`},
		"no element":             {`{"root":"a","elements":{"a":"Card"}}`, `/elements/a: is "Card", want an element with type and props`},
		"a child that is none":   {`{"root":"a","elements":{"a":{"type":"Card","children":["b"]}}}`, `/elements/a/children/0: is "b", which is no element, want the key of an element`},
		"a slot":                 {`{"root":"a","elements":{"a":{"type":"Card","slots":{"top":"b"}}}}`, `/elements/a/slots/top: is "b", want an array of keys of elements`},
		"an unknown field":       {`{"root":"a","elements":{"a":{"type":"Card","action":1}}}`, `/elements/a/action: is unknown, want one of children, on, props, repeat, slots, type, visible, watch`},
		"an action":              {`{"root":"a","elements":{"a":{"type":"Card","on":{"press":[{"params":{}}]}}}}`, `/elements/a/on/press/0/action: is missing, want a text`},
		"itself":                 {`{"root":"a","elements":{"a":{"type":"Card","children":["a"]}}}`, `/elements/a: element "a" contains itself, want elements that do not contain themselves`},
		"an operation":           {"\n" + `{"op":"set","path":"/root","value":1}`, `2:1: op is "set", want add, replace, remove, move, copy or test, want an operation that applies`},
		"a broken line":          {`{"op":"add","path":"/ro`, `1:1: is no JSON: unexpected end of JSON input, want an operation such as`},
		"a test that fails":      {`{"op":"test","path":"/root","value":"x"}`, `1:1: test of /root fails`},
		"a value that is gone":   {`{"op":"remove","path":"/elements/x"}`, `1:1: "x" does not exist`},
		"no value":               {`{"op":"add","path":"/root"}`, `1:1: add of /root has no value`},
		"an index":               {`{"op":"add","path":"/elements/a","value":{"children":[]}}` + "\n" + `{"op":"add","path":"/elements/a/children/7","value":"b"}`, `2:1: index is "7", want 0 to 0`},
		"no from":                {`{"op":"move","path":"/root"}`, `1:1: from is "", want a path below the document`},
		"copies of copies":       {`{"op":"add","path":"/elements/a","value":1}` + strings.Repeat("\n"+`{"op":"copy","from":"/elements","path":"/elements/b"}`+"\n"+`{"op":"copy","from":"/elements","path":"/elements/c"}`, 50), `bytes, want at most 65536`},
		"a parent":               {`{"op":"add","path":"/root/a","value":1}`, `1:1: the parent of "a" has no members`},
	} {
		_, err := genui.CompileJSONRender(tt.text, limits)
		var p *genui.Problem
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &p) {
			t.Errorf("%s: the error is\n%v\nwant\n%s", name, err, tt.want)
		}
	}
	many := func(n int, f func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, f(i))
		}
		return `{"root":"e0","elements":{` + strings.Join(all, ",") + `}}`
	}
	for want, spec := range map[string]string{
		`/elements: has 51, want at most 50 elements`: many(51, func(i int) string { return fmt.Sprintf(`"e%d":{"type":"Text"}`, i) }),
		`has 9 levels of elements, want at most 8 levels`: many(9, func(i int) string {
			return fmt.Sprintf(`"e%d":{"type":"Card","children":[%s]}`, i, map[bool]string{true: fmt.Sprintf(`"e%d"`, i+1)}[i < 8])
		}),
		`want at most 65536`:               `{"root":"` + strings.Repeat("x", 64<<10) + `"}`,
		`is nested more than 64 levels`:    `{"root":"a","state":` + strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70) + `}`,
		`at most 64 levels deep`:           `{"op":"add","path":"` + strings.Repeat("/a", 65) + `","value":1}`,
		`makes a document of more than 64`: `{"op":"add","path":"` + strings.Repeat("/a", 60) + `","value":` + strings.Repeat("[", 10) + strings.Repeat("]", 10) + `}`,
	} {
		if _, err := genui.CompileJSONRender(spec, limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// The operations that a compiler returns are strict: applied one after the other to an empty interface, they
// make the interface that it makes.
func TestCompiler_Line(t *testing.T) {
	t.Parallel()
	c := genui.NewCompiler(limits)
	shown := map[string]any{"root": "", "elements": map[string]any{}}
	for line := range strings.Lines(orderLines) {
		for _, op := range c.Line(line) {
			follow(t, shown, op)
		}
	}
	made, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(shown)
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal(made.Spec, &b) != nil {
		t.Fatal("no JSON")
	}
	for _, e := range b.(map[string]any)["elements"].(map[string]any) { // Finish adds what renderers want
		if e := e.(map[string]any); len(e["children"].([]any)) == 0 {
			delete(e, "children")
		}
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("a page shows\n%s\nwant\n%s", got, made.Spec)
	}
}

// follow applies a strict operation on a member of the document or of its elements.
func follow(t *testing.T, doc map[string]any, op awaken.PatchOp) {
	t.Helper()
	tokens := strings.Split(strings.TrimPrefix(op.Path, "/"), "/")
	holder := doc
	if len(tokens) == 2 {
		holder = doc[tokens[0]].(map[string]any)
	}
	name := tokens[len(tokens)-1]
	switch op.Op {
	case "add":
		var v any
		if err := json.Unmarshal(op.Value, &v); err != nil {
			t.Fatal(err)
		}
		holder[name] = v
	case "remove":
		if _, ok := holder[name]; !ok {
			t.Fatalf("%s removes what is not there", op.Path)
		}
		delete(holder, name)
	default:
		t.Fatalf("op %s", op.Op)
	}
}

// Whatever a model writes, compiling ends with a spec that parses to itself, or with problems.
func FuzzCompileJSONRender(f *testing.F) {
	f.Add(orderLines)
	f.Add(orderSpec)
	f.Add(`{"type":"Card","children":[{"type":"Text"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := genui.CompileJSONRender(text, limits)
		if err != nil {
			var p *genui.Problem
			if !errors.As(err, &p) {
				t.Fatalf("the error has no position: %v", err)
			}
			return
		}
		again, err := genui.ParseJSONRender(got.Spec, genui.Limits{Components: 50, Depth: 8, Bytes: 1 << 20})
		if err != nil || string(again.Spec) != string(got.Spec) {
			t.Fatalf("the spec is not its own: %v\n%s", err, got.Spec)
		}
	})
}

// pair returns an agent whose tools draw by a sub-agent that plays turns after the parent's first.
func pair(t *testing.T, section string, turns ...llmtest.Turn) *awakentest.Harness {
	t.Helper()
	answer := genui.FormatJSONRender
	if strings.Contains(section, genui.FormatOpenUI) {
		answer = genui.FormatOpenUI
	}
	return awakentest.New(t, engine.Config{Plugins: []awaken.Plugin{genui.New()}, Agents: []*awaken.AgentSpec{
		{ID: engine.DefaultAgentID, PluginIDs: []string{genui.Name}, Sections: map[string]json.RawMessage{genui.Name: json.RawMessage(section)}},
		{ID: "artist", PluginIDs: []string{genui.Name}, Sections: map[string]json.RawMessage{genui.Name: json.RawMessage(`{"formats":[],"answer":"` + answer + `"}`)}},
	}}, turns...)
}

// A sub-agent draws: its text is the output of the call, and the activity grows by its lines.
func TestRenderJSON_SubAgent(t *testing.T) {
	t.Parallel()
	h := pair(t, `{"formats":["json-render"],"json_render_agent":"artist"}`,
		llmtest.Use(genui.RenderJSON, `{"prompt":"an order","surface_id":"order"}`), llmtest.Turn{Text: strings.SplitAfter(orderLines, "}")}, llmtest.Say("ok"))
	rec := h.Say("go")
	if got := results(h, rec.Result.ThreadID)[0]; got != `{"rendered":true,"count":3,"surface_id":"order","spec":`+orderSpec+`}` {
		t.Errorf("the result is %s", got)
	}
	var streamed strings.Builder
	for _, d := range awakentest.All[*awaken.ToolCallStreamDelta](rec.Entries) {
		streamed.WriteString(d.Delta)
	}
	if streamed.String() != orderLines {
		t.Errorf("the output of the call is %q", streamed.String())
	}
	shown := awakentest.All[*awaken.ActivitySnapshot](rec.Entries)
	if first, last := shown[0], shown[len(shown)-1]; first.ActivityType != genui.JSONRenderActivity || string(first.Content) != `{"root":"","elements":{}}` || string(last.Content) != orderSpec {
		t.Errorf("the activity begins with %s and ends with %s", first.Content, last.Content)
	}
	if n := len(awakentest.All[*awaken.ActivityDelta](rec.Entries)); n < 9 {
		t.Errorf("the activity grew %d times", n)
	}
	if req := h.Requests()[1]; !strings.Contains(req.System, "lines of JSON Patch operations") {
		t.Errorf("the sub-agent is told %s", req.System)
	}
	raw, err := h.Store.ThreadState(t.Context(), rec.Result.ThreadID)
	if want := `{"order":{"format":"json-render","actions":{"other":["submit"],"send":["submit"]},"drawn":1}}`; err != nil || string(raw[builtin.Surfaces.Name()]) != want {
		t.Errorf("the surfaces are %s, %v, want %s", raw[builtin.Surfaces.Name()], err, want)
	}
}

// What a sub-agent writes is checked as what a model passes; the error tells where it is wrong.
func TestRenderJSON_SubAgentFails(t *testing.T) {
	t.Parallel()
	h := pair(t, `{"formats":["json-render"],"json_render_agent":"artist"}`,
		llmtest.Use(genui.RenderJSON, `{"prompt":"an order"}`), llmtest.Say("No."), llmtest.Say("No!"), llmtest.Say("No?"),
		llmtest.Use(genui.RenderJSON, `{}`), llmtest.Use(genui.RenderJSON, `{"prompt":" "}`), llmtest.Say("ok"))
	got := results(h, h.Say("go").Result.ThreadID)
	for i, want := range []string{"/root: is empty", "spec and prompt are missing, want one of them", `prompt is " ", want a text that is not empty`} {
		if !strings.Contains(got[i], want) {
			t.Errorf("result %d is %s, want %s", i, got[i], want)
		}
	}
}

// An answer that cannot be drawn goes back to the model with the positions of its mistakes, twice; then it counts as it is.
func TestAnswer_IsChecked(t *testing.T) {
	t.Parallel()
	for format, tt := range map[string]struct{ wrong, right, told string }{
		genui.FormatJSONRender: {`{"op":"add","path":"/root","value":"card"}`, orderLines, `Your answer is not right: /root: is "card"`},
		genui.FormatOpenUI:     {"root = Card([header])", `root = Card([])`, `Your answer is not right: 1:14: header is not defined`},
	} {
		section := `{"formats":[],"answer":"` + format + `"}`
		h := start(t, section, llmtest.Say(tt.wrong), llmtest.Say(tt.right))
		rec := h.Say("go")
		if rec.Result.Response != tt.right || len(h.Requests()) != 2 {
			t.Fatalf("%s: the answer is %q after %d requests", format, rec.Result.Response, len(h.Requests()))
		}
		msgs := h.Messages(rec.Result.ThreadID)
		if got := msgs[2]; got.Visibility != llm.Internal || !strings.HasPrefix(got.Text(), tt.told) || !strings.HasSuffix(got.Text(), "Answer again, with the whole answer and nothing else.") {
			t.Errorf("%s: the model is told %q, want %q", format, got.Text(), tt.told)
		}
		h = start(t, section, llmtest.Say(tt.wrong), llmtest.Say("in"), llmtest.Say("words"))
		if rec := h.Say("go"); rec.Result.Response != "words" || rec.Result.Termination.Type != awaken.NaturalEnd {
			t.Errorf("%s: %+v", format, rec.Result)
		}
		rounds := 1
		h = awakentest.New(t, engine.Config{Plugins: []awaken.Plugin{genui.New()}, Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, MaxRounds: &rounds, PluginIDs: []string{genui.Name},
			Sections: map[string]json.RawMessage{genui.Name: json.RawMessage(section)}}}}, llmtest.Say(tt.wrong))
		if rec := h.Say("go"); rec.Result.Response != tt.wrong || rec.Result.Termination.Type != awaken.NaturalEnd {
			t.Errorf("%s: in the last round: %+v", format, rec.Result)
		}
		h = start(t, section, llmtest.Say(tt.right))
		if rec := h.Say("go"); rec.Result.Response != tt.right {
			t.Errorf("%s: %+v", format, rec.Result)
		}
	}
}

// A sub-agent that answers again begins the activity anew. The model does not read what was drawn, which the stored result has.
func TestRenderJSON_TheArtistAnswersAgain(t *testing.T) {
	t.Parallel()
	h := pair(t, `{"formats":["json-render"],"json_render_agent":"artist"}`,
		llmtest.Use(genui.RenderJSON, `{"prompt":"an order","surface_id":"order"}`), llmtest.Say(`{"op":"add","path":"/root","value":"nothing"}`+"\n"), llmtest.Say(orderLines), llmtest.Say("ok"))
	rec := h.Say("go")
	if got := results(h, rec.Result.ThreadID)[0]; got != `{"rendered":true,"count":3,"surface_id":"order","spec":`+orderSpec+`}` {
		t.Errorf("the result is %s", got)
	}
	began := 0
	for _, s := range awakentest.All[*awaken.ActivitySnapshot](rec.Entries) {
		if string(s.Content) == `{"root":"","elements":{}}` {
			began++
		}
	}
	if began != 2 {
		t.Errorf("the activity began %d times, want 2", began)
	}
	last := h.Requests()[3].Messages
	if got := last[len(last)-1].Text(); got != `{"rendered":true,"count":3,"surface_id":"order"}` {
		t.Errorf("the model reads %s", got)
	}
}
