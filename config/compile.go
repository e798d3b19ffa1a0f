package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// candidate is the input of a compilation.
type candidate struct {
	base    *compiled // the version that it is derived from
	number  int64
	since   int
	changes map[Key]*document // nil deletes
	secrets *secrets
	retool  []string // servers whose tools changed
	// tolerant implies lazy and leaves out what does not compile. Otherwise a problem that
	// the base does not have is an error.
	tolerant bool
	// lazy defers errors in agents until they are run.
	lazy bool
}

// compiler turns documents and code into versions that can run.
type compiler struct {
	code     code
	bare     *compiled // the version without any document
	accounts *accounts
	servers  *servers
	// complete is [Options].Model and offer is [Options].Skills. Both may be nil.
	complete func(ctx context.Context, spec *awaken.ModelSpec, provider llm.Model)
	offer    func(skills []*SkillSpec) ([]awaken.Plugin, error)
}

func newCompiler(o *Options, as *accounts, ss *servers) (*compiler, error) {
	own := o.Code
	own.ID, own.Builtin = "0", builtin.For
	reg, err := registry.New(own)
	if err != nil {
		return nil, err
	}
	return &compiler{code: newCode(&own), bare: &compiled{reg: reg, docs: map[Key]*document{}, providers: map[string]*provider{},
		servers: map[string]*server{}, tools: map[string][]string{}, skills: map[string]*SkillSpec{}}, accounts: as, servers: ss, complete: o.Model, offer: o.Skills}, nil
}

// compile makes a version that shares with its base whatever did not change. An error is an
// *awaken.ConfigError, unless the candidate is tolerant.
func (co *compiler) compile(ctx context.Context, c candidate) (*compiled, error) {
	var problems []awaken.Diagnostic
	lost := maps.Clone(c.base.lost)
	maps.DeleteFunc(lost, func(key Key, _ *document) bool { _, changed := c.changes[key]; return changed })
	for {
		next, err := co.tryCompile(ctx, c)
		broken, ok := errors.AsType[*awaken.ConfigError](err)
		if err == nil {
			next.problems, next.lost = append(next.problems, problems...), lost
		}
		if !c.tolerant || !ok {
			return next, err
		}
		// Leave out what is broken. That may break other documents.
		left, found := maps.Clone(c.changes), false
		for _, p := range broken.Problems {
			if key := keyOf(p); left[key] != nil {
				if lost == nil {
					lost = map[Key]*document{}
				}
				lost[key], left[key], found = left[key], nil, true
			}
			problems = append(problems, p)
		}
		if !found {
			return nil, err
		}
		c.changes = left
	}
}

func (co *compiler) tryCompile(ctx context.Context, c candidate) (*compiled, error) {
	docs := merged(c.base.docs, c.changes)
	next := &compiled{number: c.number, since: c.since, docs: docs,
		providers: c.base.providers, servers: c.base.servers, tools: c.base.tools, skills: c.base.skills}
	problems := co.checkReferences(docs, c)
	b := &builder{compiler: co, c: c, next: next, edit: registry.Edit{ID: strconv.FormatInt(c.number, 10), Lazy: c.tolerant || c.lazy,
		Providers: map[string]llm.Model{}, ToolDescriptions: map[string]string{}}}
	keys := sortedKeys(c.changes)
	for _, ns := range Namespaces {
		for _, key := range keys {
			if key.Namespace == ns {
				problems = append(problems, b.add(ctx, key, c.changes[key])...)
			}
		}
	}
	for _, id := range c.retool {
		b.addTools(id)
	}
	if b.serversCopied {
		b.edit.Away = b.away()
	}
	problems = append(problems, b.addSkills()...)
	var err error
	if len(problems) > 0 {
		err = &awaken.ConfigError{Problems: problems}
	} else {
		next.reg, err = c.base.reg.Derive(b.edit)
	}
	if err != nil {
		co.servers.close(b.opened)
		return nil, err
	}
	// Drop the base's problems of documents that changed: they are fixed or reported again.
	for _, p := range c.base.problems {
		key := keyOf(p)
		_, changed := c.changes[key]
		if !changed && !(key.Namespace == MCPServers && slices.Contains(c.retool, p.ID)) && !(key == allSkills && b.skillsCopied) {
			next.problems = append(next.problems, p)
		}
	}
	next.problems = append(next.problems, b.degraded...)
	return next, nil
}

func sortedKeys(docs map[Key]*document) []Key { return slices.SortedFunc(maps.Keys(docs), compareKeys) }

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(string(a.Namespace), string(b.Namespace)), strings.Compare(a.ID, b.ID))
}

func sortEntries(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int { return compareKeys(a.Key, b.Key) })
}

// dangling maps pairs of namespaces to the diagnostic code for a missing reference from one
// to the other. The registry checks references from agents to models and delegates.
var dangling = map[[2]Namespace]string{
	{Models, Providers}:  "model_missing_provider",
	{Pools, Models}:      "model_pool_missing_model",
	{Agents, A2AServers}: "agent_missing_a2a_server",
	{Skills, MCPServers}: "skill_missing_mcp_server",
}

// checkReferences returns the missing references of changed documents, and those to deleted
// documents.
func (co *compiler) checkReferences(docs map[Key]*document, c candidate) (out []awaken.Diagnostic) {
	check := func(doc *document) {
		for _, to := range doc.needs {
			if code := dangling[[2]Namespace{doc.Namespace, to.Namespace}]; code != "" && docs[to] == nil && !co.code[to] {
				p := problem(doc.Key, code, "refers to %s %q, which is not defined", to.Namespace, to.ID)
				p.DependsOn = to.String()
				out = append(out, p)
			}
		}
	}
	gone := false
	for key, doc := range c.changes {
		if doc != nil {
			check(doc)
		} else {
			gone = gone || c.base.docs[key] != nil
		}
	}
	if gone {
		for key, doc := range docs {
			if _, changed := c.changes[key]; !changed && slices.ContainsFunc(doc.needs, func(to Key) bool { d, ok := c.changes[to]; return ok && d == nil }) {
				check(doc)
			}
		}
	}
	slices.SortFunc(out, func(a, b awaken.Diagnostic) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// keyOf returns the document that a diagnostic is about.
func keyOf(d awaken.Diagnostic) Key { return Key{Namespace(d.Namespace), d.ID} }

// problem returns a diagnostic of severity error.
func problem(key Key, code, format string, args ...any) awaken.Diagnostic {
	return awaken.Diagnostic{Code: code, Severity: awaken.SeverityError, Namespace: string(key.Namespace), ID: key.ID, Message: fmt.Sprintf(format, args...)}
}

func warning(key Key, code, format string, args ...any) awaken.Diagnostic {
	d := problem(key, code, format, args...)
	d.Severity = awaken.Warning
	return d
}
