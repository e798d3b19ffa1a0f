package genui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/genui"
	"github.com/awaken-go/awaken/state/builtin"
)

// start returns an agent with the section, whose model plays turns.
func start(t *testing.T, section string, turns ...llmtest.Turn) *awakentest.Harness {
	t.Helper()
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{genui.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{genui.Name: json.RawMessage(section)}
	}
	return awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{genui.New()}}, turns...)
}

// results returns the results of the calls of a thread, as the model sees them.
func results(h *awakentest.Harness, threadID string) (out []string) {
	for _, m := range h.Messages(threadID) {
		if m.ToolCallID != "" {
			out = append(out, m.Text())
		}
	}
	return out
}

// told returns the system texts of the first request.
func told(h *awakentest.Harness) string { return h.Requests()[0].System }

const form = `{"messages":[{"surfaceUpdate":{"surfaceId":"order","components":[` +
	`{"id":"card","component":{"Card":{"child":"send"}}},` +
	`{"id":"send","component":{"Button":{"child":"label","action":{"name":"submit","context":[{"key":"n","value":{"path":"/n"}}]}}}},` +
	`{"id":"label","component":{"Text":{"text":{"literalString":"Send"}}}}]}},` +
	`{"dataModelUpdate":{"surfaceId":"order","contents":[{"key":"n","valueNumber":1}]}},{"beginRendering":{"surfaceId":"order","root":"card"}}]}`

// Every field of the section has its effect.
func TestSection(t *testing.T) {
	t.Parallel()
	two := `{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"a","component":{"Card":{"child":"b"}}},{"id":"b","component":{"Divider":{}}}]}}`
	var docs []string
	for _, tt := range []struct{ name, section, args, told, result string }{
		{"by default", ``, form, "The catalogue is " + genui.StandardCatalog, `{"rendered":true,"count":3}`},
		{"the catalogue", `{"catalog_id":"mine"}`, `{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"a","component":{"Metric":{}}}]}}`, "The catalogue is mine", `{"rendered":true,"count":1}`},
		{"the components of the catalogue", ``, `{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"a","component":{"Metric":{}}}]}}`, "MultipleChoice{selections", `which the catalogue does not have`},
		{"examples", `{"examples":"Draw a cat."}`, form, "---BEGIN A2UI EXAMPLES---\nDraw a cat.\n---END A2UI EXAMPLES---", `"count":3`},
		{"instructions", `{"instructions":"Only draw cats."}`, form, "Only draw cats.", `"count":3`},
		{"the version", `{"a2ui_version":"v0.9"}`, form, "The catalogId is " + genui.BasicCatalog, `"count":3`},
		{"no formats", `{"formats":[]}`, form, "", `not found`},
		{"an answer in JSON Render", `{"formats":["a2ui"],"answer":"json-render"}`, form, "Answer with an interface and nothing else: lines of JSON Patch", `"count":3`},
		{"an answer in OpenUI", `{"answer":"openui-lang"}`, form, "Answer with an interface in OpenUI Lang", `"count":3`},
		{"JSON Render", `{"formats":["a2ui","json-render"],"json_render_agent":""}`, form, "calling render_json_ui with spec", `"count":3`},
		{"OpenUI", `{"formats":["a2ui","openui-lang"],"openui_agent":""}`, form, "calling render_openui_ui with code", `"count":3`},
		{"components", `{"max_components":1}`, two, "", `want at most 1 components in a call`},
		{"depth", `{"max_depth":1}`, two, "", `want at most 1 levels`},
		{"bytes", `{"max_bytes":1024}`, `{"deleteSurface":{"surfaceId":"` + strings.Repeat("s", 1024) + `"}}`, "", `want at most 1024`},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, tt.section, llmtest.Use(genui.RenderA2UI, tt.args), llmtest.Say("ok"))
			rec := h.Say("go")
			if got := results(h, rec.Result.ThreadID)[0]; !strings.Contains(got, tt.result) {
				t.Errorf("the result is %s, want %s", got, tt.result)
			}
			if got := told(h); !strings.Contains(got, tt.told) {
				t.Errorf("the model was told\n%s\nwant %s", got, tt.told)
			}
			if tt.name == "instructions" && strings.Contains(told(h), "surfaceUpdate") {
				t.Error("the instructions do not replace the plugin's")
			}
		})
	}
	sectiontest.Covers[genui.Config](t, docs...)
}

// A section with mistakes is refused, and the error names all of them.
func TestSection_Mistakes(t *testing.T) {
	t.Parallel()
	c := genui.Config{A2UIVersion: "v7", MaxDepth: 300, Formats: []string{"html"}, Answer: "a2ui"}
	err := c.Validate()
	for _, want := range []string{`a2ui_version is "v7", want v0.8 or v0.9`, `formats[0] is "html", want one of a2ui, json-render, openui-lang`, `answer is "a2ui", want json-render, openui-lang or nothing`, "max_components is 0, want 1 to 10000", "max_depth is 300, want 1 to 256", "max_bytes is 0, want 1024 to 4194304"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// The instructions come with every inference, and the call becomes an activity that has the messages.
func TestRenderA2UI(t *testing.T) {
	t.Parallel()
	h := start(t, "", llmtest.Use(genui.RenderA2UI, `{"surfaceId":"s","root":"card"}`), llmtest.Use(genui.RenderA2UI, form), llmtest.Say("ok"))
	rec := h.Say("go")
	for i, req := range h.Requests() {
		if !strings.Contains(req.System, "calling render_a2ui") {
			t.Errorf("request %d has no instructions", i)
		}
	}
	shown := awakentest.All[*awaken.ActivitySnapshot](rec.Entries)
	if len(shown) != 2 || shown[0].ActivityType != genui.A2UIActivity || string(shown[0].Content) != `{"messages":[{"beginRendering":{"root":"card","surfaceId":"s"}}]}` {
		t.Fatalf("the activities are %+v", shown)
	}
	var content struct{ Messages []map[string]any }
	if err := json.Unmarshal(shown[1].Content, &content); err != nil || len(content.Messages) != 3 || content.Messages[2]["beginRendering"] == nil {
		t.Errorf("the second activity is %s, %v", shown[1].Content, err)
	}
}

// What a call drew is state of the thread: the surfaces, and the actions that their components offer.
func TestRenderA2UI_Surfaces(t *testing.T) {
	t.Parallel()
	h := start(t, "",
		llmtest.Use(genui.RenderA2UI, form),
		llmtest.Use(genui.RenderA2UI, `{"messages":[{"version":"v0.9","createSurface":{"surfaceId":"two","catalogId":"`+genui.BasicCatalog+`"}},
			{"version":"v0.9","updateComponents":{"surfaceId":"two","components":[{"id":"root","component":"Button","child":"gone","action":{"event":{"name":"pick"}}}]}}]}`),
		llmtest.Use(genui.RenderA2UI, `{"version":"v0.9","createSurface":{"surfaceId":"two","catalogId":"x"}}`),
		llmtest.Use(genui.RenderA2UI, `{"surfaceUpdate":{"surfaceId":"order","components":[{"id":"send","component":{"Divider":{}}},{"id":"other","component":{"Button":{"child":"label","action":{"name":"cancel"}}}}]}}`),
		llmtest.Use(genui.RenderA2UI, `{"deleteSurface":{"surfaceId":"two"}}`),
		llmtest.Say("ok"))
	rec := h.Say("go")
	got := results(h, rec.Result.ThreadID)
	if want := `{"rendered":true,"count":2,"missing":["gone"]}`; got[1] != want {
		t.Errorf("the second result is %s, want %s", got[1], want)
	}
	if !strings.Contains(got[2], `/createSurface/surfaceId: is "two", which exists`) {
		t.Errorf("the third result is %s", got[2])
	}
	raw, err := h.Store.ThreadState(t.Context(), rec.Result.ThreadID)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"order":{"format":"a2ui","version":"v0.8","catalog_id":"` + genui.StandardCatalog + `","actions":{"other":["cancel"]},"drawn":1}}`; string(raw[builtin.Surfaces.Name()]) != want {
		t.Errorf("the surfaces are %s, want %s", raw[builtin.Surfaces.Name()], want)
	}
}

// A thread remembers 64 surfaces, and forgets the oldest first.
func TestRenderA2UI_ForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var messages []string
	for i := range 66 {
		messages = append(messages, fmt.Sprintf(`{"surfaceUpdate":{"surfaceId":"s%d","components":[{"id":"a","component":{"Divider":{}}}]}}`, i))
	}
	h := start(t, "", llmtest.Use(genui.RenderA2UI, `{"messages":[`+strings.Join(messages, ",")+`]}`), llmtest.Say("ok"))
	rec := h.Say("go")
	raw, err := h.Store.ThreadState(t.Context(), rec.Result.ThreadID)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]builtin.Surface
	if err := json.Unmarshal(raw[builtin.Surfaces.Name()], &all); err != nil || len(all) != 64 {
		t.Fatalf("%d surfaces, %v", len(all), err)
	}
	if _, ok := all["s0"]; ok {
		t.Error("the oldest surface is remembered")
	}
}

// An agent whose sub-agent does not exist is refused.
func TestSection_UnknownAgent(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{"json_render_agent": `json_render_agent is "x", want an agent that exists`, "openui_agent": `openui_agent is "x", want an agent that exists`} {
		_, err := engine.New(engine.Config{Plugins: []awaken.Plugin{genui.New()}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript()}, Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{genui.Name},
				Sections: map[string]json.RawMessage{genui.Name: json.RawMessage(`{"` + field + `":"x"}`)}}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
