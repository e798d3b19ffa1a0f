package config

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

func newTestCompiler(t *testing.T, change func(*Options)) *compiler {
	t.Helper()
	o := &Options{}
	if change != nil {
		change(o)
	}
	as := &accounts{open: func(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) { return named(spec.ID), nil }}
	c, err := newCompiler(o, as, newServers(o.MCP))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// written returns documents as a plan has them, given what a client writes.
func written(t *testing.T, docs ...string) map[Key]*document {
	t.Helper()
	out := map[Key]*document{}
	for i := 0; i < len(docs); i += 2 {
		tree, err := parse([]byte(docs[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		key := Key{Namespace(docs[i]), text(tree, "id")}
		sealed, err := seal(key, []byte(docs[i+1]), nil)
		if err != nil {
			t.Fatal(err)
		}
		out[key] = newDocument(key, sealed.Doc, 1)
	}
	return out
}

func TestCompiler_SharesUnchangedPartsWithItsBase(t *testing.T) {
	c := newTestCompiler(t, nil)
	one, err := c.compile(t.Context(), candidate{base: c.bare, number: 1, secrets: &secrets{}, changes: written(t,
		"providers", `{"id":"p","adapter":"x"}`, "models", `{"id":"m","provider_id":"p","upstream_model":"up"}`, "agents", `{"id":"a","model_id":"m"}`)})
	if err != nil {
		t.Fatal(err)
	}
	two, err := c.compile(t.Context(), candidate{base: one, number: 2, secrets: &secrets{}, changes: written(t, "agents", `{"id":"b","model_id":"m"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if two.providers["p"] != one.providers["p"] || two.reg.Agent("a") != one.reg.Agent("a") {
		t.Error("the provider and the agent were made again")
	}
	if two.reg.ID() != "2" || one.reg.Agent("b") != nil || two.reg.Agent("b") == nil || len(c.bare.reg.AgentIDs()) != 0 {
		t.Error("a version has the agents of another")
	}
}

func TestCompiler_RejectsOrSkipsBrokenDocuments(t *testing.T) {
	c := newTestCompiler(t, nil)
	// The agent is broken because its model is, which in turn lacks its provider.
	changes := written(t, "models", `{"id":"m","provider_id":"p","upstream_model":"up"}`, "agents", `{"id":"a","model_id":"m"}`, "skills", `{"id":"s","name":"n","description":"d","instructions_md":"i"}`)
	_, err := c.compile(t.Context(), candidate{base: c.bare, number: 1, changes: changes, secrets: &secrets{}})
	broken, ok := errors.AsType[*awaken.ConfigError](err)
	if !ok || !slices.ContainsFunc(broken.Problems, func(d awaken.Diagnostic) bool {
		return d.Code == "model_missing_provider" && d.DependsOn == "providers/p"
	}) {
		t.Fatalf("the error is %v, want that the provider is missing", err)
	}
	v, err := c.compile(t.Context(), candidate{base: c.bare, number: 1, changes: changes, secrets: &secrets{}, tolerant: true})
	if err != nil {
		t.Fatal(err)
	}
	if v.lost[Key{Models, "m"}] == nil || v.docs[Key{Skills, "s"}] == nil || len(v.all()) != 3 || len(v.problems) == 0 {
		t.Errorf("lost are %v and live %v, with the problems %v", sortedKeys(v.lost), sortedKeys(v.docs), v.problems)
	}
	// A repaired document is no longer lost.
	mended, err := c.compile(t.Context(), candidate{base: v, number: 2, secrets: &secrets{}, changes: overlay(changes, written(t, "providers", `{"id":"p","adapter":"x"}`))})
	if err != nil || len(mended.lost) != 0 || mended.reg.Agent("a") == nil || !mended.reg.HasModel("m") {
		t.Errorf("the next version is %+v (%v), want all of it", mended, err)
	}
}

func TestCompiler_AcceptsReferencesToCode(t *testing.T) {
	c := newTestCompiler(t, func(o *Options) { o.Code.Providers = map[string]llm.Model{"own": named("own")} })
	if _, err := c.compile(t.Context(), candidate{base: c.bare, number: 1, secrets: &secrets{}, changes: written(t, "models", `{"id":"m","provider_id":"own","upstream_model":"up"}`)}); err != nil {
		t.Error(err)
	}
}

func TestCompiler_ClosesConnectionsOfRejectedCandidates(t *testing.T) {
	x := &exchange{}
	c := newTestCompiler(t, func(o *Options) { o.MCP = x })
	_, err := c.compile(t.Context(), candidate{base: c.bare, number: 1, secrets: &secrets{}, changes: written(t,
		"mcp-servers", `{"id":"files","transport":"stdio","command":"c"}`, "models", `{"id":"m","provider_id":"p","upstream_model":"up"}`)})
	if err == nil || len(x.lines) != 1 || !x.lines[0].closed || len(c.servers.open) != 0 {
		t.Errorf("the error is %v, %d connections were made and %d are open", err, len(x.lines), len(c.servers.open))
	}
}

func TestCompiler_CompletesModelsAndOffersSkills(t *testing.T) {
	var completed, offered []string
	c := newTestCompiler(t, func(o *Options) {
		o.Model = func(_ context.Context, spec *awaken.ModelSpec, provider llm.Model) {
			completed = append(completed, spec.ID+" of "+string(provider.(named)))
		}
		o.Skills = func(skills []*SkillSpec) ([]awaken.Plugin, error) {
			for _, s := range skills {
				offered = append(offered, s.ID)
			}
			return nil, errors.New("no plugin")
		}
	})
	changes := written(t, "providers", `{"id":"p","adapter":"x"}`, "models", `{"id":"m","provider_id":"p","upstream_model":"up"}`,
		"skills", `{"id":"s","name":"n","description":"d","instructions_md":"i"}`)
	if _, err := c.compile(t.Context(), candidate{base: c.bare, number: 1, changes: changes, secrets: &secrets{}}); err == nil {
		t.Error("skills that cannot be offered are no error")
	}
	v, err := c.compile(t.Context(), candidate{base: c.bare, number: 1, changes: changes, secrets: &secrets{}, tolerant: true})
	if err != nil || !slices.ContainsFunc(v.problems, func(d awaken.Diagnostic) bool { return d.Code == "skills_failed" }) {
		t.Errorf("the problems are %v (%v), want that skills cannot be offered", v.problems, err)
	}
	if !slices.Equal(offered, []string{"s", "s"}) || !slices.Equal(completed, []string{"m of p", "m of p"}) {
		t.Errorf("offered are %q and completed %q", offered, completed)
	}
}
