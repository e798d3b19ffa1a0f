package skills_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/skills"
)

// rig runs one agent with the skills of a folder.
type rig struct {
	*awakentest.Harness
	t    *testing.T
	lib  *skills.Library
	made []string // calls of the agent's tools
}

// setup is what a rig is made of.
type setup struct {
	folder  string // "" means testdata/skills
	section string
	plugins []awaken.Plugin // beside those of skills
	ids     []string        // of these plugins
	config  func(*engine.Config)
	options skills.Options
	tools   []string
}

func newRig(t *testing.T, s setup, turns ...llmtest.Turn) *rig {
	t.Helper()
	if s.folder == "" {
		s.folder = "testdata/skills"
	}
	r := &rig{t: t, lib: s.options.Library}
	if r.lib == nil {
		var err error
		if r.lib, err = skills.Open(skills.Folder(s.folder)); err != nil {
			t.Fatal(err)
		}
	}
	s.options.Library = r.lib
	plugins, err := skills.New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: append([]string{skills.DiscoveryID, skills.InstructionsID}, s.ids...), Sections: map[string]json.RawMessage{}}
	if s.section != "" {
		spec.Sections[skills.SectionName] = json.RawMessage(s.section)
	}
	cfg := engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: append(plugins, s.plugins...),
		Models: []awaken.ModelSpec{{ID: "strong", ProviderID: awakentest.Scripted, UpstreamModel: "strong-1"}}}
	for _, id := range append([]string{"save_note", "other"}, s.tools...) {
		type args struct {
			Text string `json:"text,omitempty"`
		}
		cfg.Tools = append(cfg.Tools, awaken.NewTool(awaken.ToolSpec{ID: id, Description: id}, func(_ context.Context, c *awaken.ToolCall, in args) (string, error) {
			r.made = append(r.made, c.Tool+" "+in.Text)
			return "done", nil
		}))
	}
	if s.config != nil {
		s.config(&cfg)
	}
	r.Harness = awakentest.New(t, cfg, turns...)
	return r
}

// results returns the texts of the results in the last request that the model got.
func (r *rig) results() string {
	r.t.Helper()
	reqs := r.Requests()
	if len(reqs) == 0 {
		r.t.Fatal("the model was not asked")
	}
	return request(reqs[len(reqs)-1])
}

// request returns all that a request says, as text.
func request(c *llmtest.Captured) string {
	data, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\u003c`, "<", `\u003e`, ">", `\\`, `\`).Replace(string(data))
}

// write makes a folder of skills from files.
func write(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func md(name, more, body string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n" + more + "---\n" + body + "\n"
}

func use(skill string, more ...string) llmtest.Turn {
	return llmtest.Use("skill", `{"skill":"`+skill+`"`+strings.Join(more, "")+`}`)
}
