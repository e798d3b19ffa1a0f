// Package specfile reads files that define agents and other documents, in YAML or JSON, and
// writes them as YAML.
//
// A file that [Read] reads holds one agent, or lists:
//
//	agents:
//	  - id: helper
//	    model_id: default
//	    system_prompt: You are helpful.
//	models:
//	  - {id: default, provider_id: scripted, upstream_model: demo}
//	providers:
//	  - {id: scripted, adapter: scripted}
//
// [Documents] reads the documents of the control plane. Mistakes are of type *[document.Error].
package specfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/document"
)

// File is the content of a file.
type File struct {
	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Providers []awaken.ProviderSpec
}

// Read reads a file from r. The name determines the format; see [Parse].
func Read(name string, r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, document.MaxBytes+1))
	if err != nil {
		return nil, document.In(name, err)
	}
	return Parse(name, data)
}

// Parse parses a file. A name that ends in .json means JSON, and .yaml or .yml YAML; for any
// other name it detects the format. Parse checks each definition, but not whether they fit
// together: that needs a registry.
func Parse(name string, data []byte) (*File, error) {
	f := &File{}
	root, err := document.Parse(name, data)
	if err == nil {
		err = f.decode(root)
	}
	if err != nil {
		return nil, document.In(name, err)
	}
	return f, nil
}

var lists = []string{"agents", "models", "providers"}

func isList(name string) bool { return slices.Contains(lists, name) }

func (f *File) decode(root *document.Node) error {
	want := strings.Join(lists, ", ")
	if root.Kind != document.Object {
		return document.At(root.Line, "got %s, want one agent or an object with %s", root.Kind, want)
	}
	if !slices.ContainsFunc(root.Keys, func(k document.Key) bool { return isList(k.Name) }) {
		return f.add("agents", "", root)
	}
	if err := elements(root, isList, want, f.add); err != nil {
		return err
	}
	if len(f.Agents) == 0 {
		return errors.New("agents is missing or empty: there is nothing to run")
	}
	return nil
}

// add decodes the list element at where.
func (f *File) add(list, where string, n *document.Node) error {
	switch list {
	case "models":
		var m awaken.ModelSpec
		err := decodeInto(n, where, &m, &m.ID)
		f.Models = append(f.Models, m)
		return err
	case "providers":
		var p awaken.ProviderSpec
		err := decodeInto(n, where, &p, &p.ID)
		f.Providers = append(f.Providers, p)
		return err
	}
	spec := new(awaken.AgentSpec)
	f.Agents = append(f.Agents, spec)
	return decodeInto(n, where, spec, &spec.ID)
}

// elements calls fn for every element of the lists in root, with the name of its list and its
// place, such as agents[0]. Known reports whether a list is allowed; want names those that are.
func elements(root *document.Node, known func(list string) bool, want string, fn func(list, where string, n *document.Node) error) error {
	for i, k := range root.Keys {
		list := root.Items[i]
		switch {
		case !known(k.Name):
			return document.At(k.Line, "unknown field %q, want %s", k.Name, want)
		case list.IsNull():
			continue
		case list.Kind != document.Array:
			return document.At(k.Line, "field %q is %s, want an array", k.Name, list.Kind)
		}
		for j, n := range list.Items {
			where := fmt.Sprintf("%s[%d]", k.Name, j)
			if n.Kind != document.Object {
				return document.At(n.Line, "%s is %s, want an object", where, n.Kind)
			}
			if err := fn(k.Name, where, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkID(n *document.Node, where, id string) error {
	if strings.TrimSpace(id) == "" {
		return document.At(n.Line, "%sid is missing or empty", before(where, "."))
	}
	return nil
}

// before returns where followed by separator, or "" if where is empty.
func before(where, separator string) string {
	if where == "" {
		return ""
	}
	return where + separator
}

// decodeInto decodes the node at where into v and checks its id.
func decodeInto(n *document.Node, where string, v json.Unmarshaler, id *string) error {
	for _, k := range n.Keys {
		// The json package would accept ID as id.
		if !plainName.MatchString(k.Name) {
			return document.At(k.Line, "%sunknown field %q", before(where, ": "), k.Name)
		}
	}
	err := n.Decode(v)
	if err == nil {
		return checkID(n, where, *id)
	}
	line := 0
	if e, ok := errors.AsType[*document.Error](err); ok {
		line, err = e.Line, e.Err
	}
	if line == 0 && where != "" {
		line = n.Line // the line of the element
	}
	for _, stutter := range []string{"agent: ", "model: ", "provider: "} {
		if text, ok := strings.CutPrefix(err.Error(), stutter); ok {
			err = errors.New(text)
		}
	}
	return document.At(line, "%s%w", before(where, ": "), err)
}

var plainName = regexp.MustCompile(`^[a-z0-9_]+$`)
