package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/strict"
)

// explanation collects the mistakes of a document that was refused. A write ends at the first kind of mistake; here,
// what is wrong is left out, and the rest is checked too.
type explanation struct {
	key  Key
	kind *kind
	tree map[string]any // as written
	list []Problem
	more bool       // there are more than maxProblems
	gone [][]string // paths that were left out
}

// maxProblems is the maximum number of problems listed for a document. The rest of the document is not checked.
const maxProblems = 100

// explain returns the error of a refused write with all mistakes of its document. Other errors are returned as they are.
// Try validates a document as the write does; it is called only for namespaces whose documents open nothing.
func explain(ctx context.Context, key Key, spec json.RawMessage, err error, try func(ctx context.Context, spec json.RawMessage) error) error {
	k := kinds[key.Namespace]
	if k == nil || !errors.Is(err, awaken.ErrInvalid) {
		return err
	}
	if _, ok := errors.AsType[*InvalidError](err); ok {
		return err
	}
	e := &explanation{key: key, kind: k}
	if tree, parseErr := parse(spec); parseErr == nil {
		e.tree = tree
	}
	e.add(problemsOf(key, e.tree, err))
	_, compiled := errors.AsType[*awaken.ConfigError](err)
	if e.tree != nil && !compiled {
		e.checkRest(ctx, try)
	}
	if e.more {
		e.list = append(e.list, Problem{Code: "too_many_problems", Message: fmt.Sprintf("there are more mistakes than the %d that are listed", maxProblems), Severity: awaken.SeverityError})
	}
	return &InvalidError{err, e.list}
}

// add adds mistakes, unless one at the same place is known, up to maxProblems.
func (e *explanation) add(list []Problem) {
	for _, p := range list {
		if slices.ContainsFunc(e.list, func(old Problem) bool { return old.Path == p.Path && (p.Path != "" || old.Message == p.Message) }) {
			continue
		}
		if e.more = e.more || len(e.list) == maxProblems; e.more {
			return
		}
		e.list = append(e.list, p)
	}
}

// checkRest compares the document with its schema, then checks what is left of it, then compiles what is left of that.
func (e *explanation) checkRest(ctx context.Context, try func(ctx context.Context, spec json.RawMessage) error) {
	rest := clone(e.tree).(map[string]any)
	if e.kind.update != nil && e.kind.update(rest) != nil {
		return
	}
	if e.add(e.violations(rest)); e.more {
		return
	}
	rest = e.without(rest)
	if _, err := e.kind.read(clone(rest).(map[string]any)); err != nil {
		e.add(e.independent(problemsOf(e.key, e.tree, invalid(e.key, err))))
	}
	rest = e.without(rest)
	if !slices.Contains([]Namespace{Agents, Models, Pools, Skills}, e.key.Namespace) {
		return // compiling would start or call a server that was not asked for
	}
	if broken, ok := errors.AsType[*awaken.ConfigError](try(ctx, encode(rest))); ok {
		e.add(e.independent(problemsIn(e.key, e.tree, broken.Problems)))
	}
}

// violations returns how a document differs from the schema of its namespace. Of many unknown fields of an object it returns more than are
// listed, but not all.
func (e *explanation) violations(tree map[string]any) []Problem {
	raw := Schema(e.key.Namespace)
	s, err := schema.Compile(raw)
	if err != nil {
		return nil
	}
	root, err := parse(raw)
	if err != nil {
		return nil
	}
	var out []Problem
	for _, err := range leaves(s.Check(encode(tree))) {
		v, ok := errors.AsType[*schema.Violation](err)
		switch {
		case !ok:
		case v.Form != nil:
			out = append(out, Problem{Path: pointer(v.Form), Code: "invalid_value", Message: place(v.Form) + " matches none of the forms in the schema", Severity: awaken.SeverityError})
		case len(v.Unknown) > 0:
			known, names := namesIn(root, v.Path), slices.Sorted(slices.Values(v.Unknown))
			for _, name := range names[:min(len(names), maxProblems+1)] {
				p := Problem{Path: pointer(append(slices.Clip(v.Path), name)), Code: "unknown_field", Severity: awaken.SeverityError,
					Message: strict.Unknown(name, known).Error(), Suggestion: strict.Nearest(name, known)}
				if hint, ok := e.kind.hints[name]; ok && len(v.Path) == 0 {
					p.Message, p.Suggestion = `unknown field "`+name+`", did you mean `+hint+`?`, strings.Trim(strings.SplitAfter(hint, `",`)[0], `",`)
				}
				out = append(out, p)
			}
		case len(v.Missing) > 0:
			for _, name := range v.Missing {
				path := append(slices.Clip(v.Path), name)
				out = append(out, Problem{Path: pointer(path), Code: "missing_field", Message: place(path) + " is missing", Severity: awaken.SeverityError})
			}
		default:
			code, reason := "invalid_value", v.Reason
			if strings.HasPrefix(reason, "got ") {
				code = "wrong_type"
			} else if IsSecret(e.key.Namespace, v.Path) {
				reason = "is not valid"
			}
			out = append(out, Problem{Path: pointer(v.Path), Code: code, Message: strings.TrimSpace(place(v.Path) + ": " + reason), Severity: awaken.SeverityError})
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) }) // the validator has no order
	return out
}

// namesIn returns the names of the fields that a schema describes for the object at a path.
func namesIn(root map[string]any, path []string) []string {
	at := root
	for _, name := range path {
		next, _ := at["properties"].(map[string]any)
		if s, ok := next[name].(map[string]any); ok {
			at = s
			continue
		}
		for _, in := range []string{"items", "additionalProperties"} {
			if s, ok := at[in].(map[string]any); ok {
				at = s
			}
		}
	}
	var out []string
	properties, _ := at["properties"].(map[string]any)
	for name, s := range properties {
		if s, _ := s.(map[string]any); s["readOnly"] != true {
			out = append(out, name)
		}
	}
	return out
}

// without returns a document without the fields that have a mistake. An entry of a list takes the list with it.
func (e *explanation) without(tree map[string]any) map[string]any {
	tree = clone(tree).(map[string]any)
	for _, p := range e.list {
		path := unpoint(p.Path)
		if len(path) == 0 || p.Resource != (Key{}) {
			continue
		}
		e.gone = append(e.gone, path)
		for i := range path {
			in, ok := lookup(tree, path[:i]).(map[string]any)
			if !ok {
				break
			}
			if _, list := in[path[i]].([]any); list || i == len(path)-1 {
				delete(in, path[i])
				break
			}
		}
	}
	tree["id"] = e.key.ID
	return tree
}

// independent returns the mistakes that are not due to what was left out.
func (e *explanation) independent(list []Problem) []Problem {
	return slices.DeleteFunc(list, func(p Problem) bool {
		path := unpoint(p.Path)
		return slices.ContainsFunc(e.gone, func(gone []string) bool {
			n := min(len(gone), len(path))
			return slices.Equal(gone[:n], path[:n])
		})
	})
}

// unpoint returns the path of a JSON Pointer.
func unpoint(pointer string) []string {
	if pointer == "" {
		return nil
	}
	path := strings.Split(pointer[1:], "/")
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	return path
}
