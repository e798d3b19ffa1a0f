// Package specfile reads the files in which people define agents, in YAML or JSON.
//
// A file holds one agent, or lists:
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
// Mistakes are of type *[document.Error].
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

// File is what a file defines.
type File struct {
	Name      string // as errors call it
	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Providers []awaken.ProviderSpec
}

// Read reads a file of the given name from r. The name says what format it is in;
// see [Parse].
func Read(name string, r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, document.MaxBytes+1))
	if err != nil {
		return nil, document.In(name, err)
	}
	return Parse(name, data)
}

// Parse reads a file. A name that ends in .json is JSON, one in .yaml or .yml is
// YAML; of any other it is found out. Parse checks the form of what the file
// defines, not whether it fits together: that needs a registry.
func Parse(name string, data []byte) (*File, error) {
	root, err := document.Parse(name, data)
	if err != nil {
		return nil, document.In(name, err)
	}
	f, err := decode(root)
	if err != nil {
		return nil, document.In(name, err)
	}
	f.Name = name
	return f, nil
}

var lists = []string{"agents", "models", "providers"}

func decode(root *document.Node) (*File, error) {
	if root.Kind != document.Object {
		return nil, document.At(root.Line, "got %s, want one agent or an object with %s", root.Kind, strings.Join(lists, ", "))
	}
	f := &File{}
	if !slices.ContainsFunc(root.Keys, func(k document.Key) bool { return slices.Contains(lists, k.Name) }) {
		spec := new(awaken.AgentSpec)
		if err := decodeInto(root, "", spec); err != nil {
			return nil, err
		}
		f.Agents = append(f.Agents, spec)
		return f, checkID(root, "", spec.ID)
	}
	for i, k := range root.Keys {
		list := root.Items[i]
		if !slices.Contains(lists, k.Name) {
			return nil, document.At(k.Line, "unknown field %q, want %s", k.Name, strings.Join(lists, ", "))
		}
		if list.IsNull() {
			continue
		}
		if list.Kind != document.Array {
			return nil, document.At(k.Line, "field %q is %s, want an array", k.Name, list.Kind)
		}
		for j, item := range list.Items {
			where := fmt.Sprintf("%s[%d]", k.Name, j)
			if item.Kind != document.Object {
				return nil, document.At(item.Line, "%s is %s, want an object", where, item.Kind)
			}
			var id string
			var err error
			switch k.Name {
			case "agents":
				spec := new(awaken.AgentSpec)
				err = decodeInto(item, where, spec)
				f.Agents, id = append(f.Agents, spec), spec.ID
			case "models":
				var m awaken.ModelSpec
				err = decodeInto(item, where, &m)
				f.Models, id = append(f.Models, m), m.ID
			case "providers":
				var p awaken.ProviderSpec
				err = decodeInto(item, where, &p)
				f.Providers, id = append(f.Providers, p), p.ID
			}
			if err == nil {
				err = checkID(item, where, id)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if len(f.Agents) == 0 {
		return nil, errors.New("agents is missing or empty: there is nothing to run")
	}
	return f, nil
}

func checkID(n *document.Node, where, id string) error {
	if strings.TrimSpace(id) == "" {
		return document.At(n.Line, "%sid is missing or empty", dotted(where))
	}
	return nil
}

func dotted(where string) string {
	if where == "" {
		return ""
	}
	return where + "."
}

func colon(where string) string {
	if where == "" {
		return ""
	}
	return where + ": "
}

// decodeInto decodes n, which is where in the file, into v.
func decodeInto(n *document.Node, where string, v json.Unmarshaler) error {
	for _, k := range n.Keys {
		// The json package would take ID for id.
		if !plainName.MatchString(k.Name) {
			return document.At(k.Line, "%sunknown field %q", colon(where), k.Name)
		}
	}
	err := n.Decode(v)
	if err == nil {
		return nil
	}
	line := 0
	if e, ok := errors.AsType[*document.Error](err); ok {
		line, err = e.Line, e.Err
	}
	if line == 0 && where != "" {
		line = n.Line // of the element
	}
	for _, stutter := range []string{"agent: ", "model: ", "provider: "} {
		if text, ok := strings.CutPrefix(err.Error(), stutter); ok {
			err = errors.New(text)
		}
	}
	return document.At(line, "%s%w", colon(where), err)
}

var plainName = regexp.MustCompile(`^[a-z0-9_]+$`)
