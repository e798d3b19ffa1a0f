package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads one YAML document. It goes through yaml's nodes instead of
// decoding into Go values, because only nodes have lines, keep 2024-01-01 a
// string, and can be counted before an alias is followed.
func parseYAML(data []byte) (*Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, ErrEmpty
		}
		return nil, yamlError(err)
	}
	var next yaml.Node
	if err := dec.Decode(&next); err == nil {
		return nil, At(next.Line, "has a second document")
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	c := yamlBuilder{done: map[*yaml.Node]*Node{}, open: map[*yaml.Node]bool{}}
	return c.convert(&doc, "", 0)
}

// yamlError takes the line out of the text of one of yaml's errors.
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if num, msg, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(num); err == nil {
				return At(line, "not YAML: %s", msg)
			}
		}
	}
	return fmt.Errorf("not YAML: %s", text)
}

type yamlBuilder struct {
	builder
	done map[*yaml.Node]*Node // what aliased nodes became
	open map[*yaml.Node]bool  // aliases that are being followed
}

// convert turns a yaml node into one of ours. Path is where it is in the document.
func (c *yamlBuilder) convert(n *yaml.Node, path string, depth int) (*Node, error) {
	if err := c.grow(1, depth, n.Line); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return c.convert(n.Content[0], path, depth)
	case yaml.AliasNode:
		return c.follow(n, path, depth)
	case yaml.MappingNode:
		return c.mapping(n, path, depth)
	case yaml.SequenceNode:
		if err := knownTag(n, "!!seq"); err != nil {
			return nil, err
		}
		out := &Node{Kind: Array, Line: n.Line}
		for i, item := range n.Content {
			v, err := c.convert(item, index(path, i), depth+1)
			if err != nil {
				return nil, err
			}
			if err := out.add(v); err != nil {
				return nil, err
			}
		}
		return out, nil
	case yaml.ScalarNode:
		raw, err := scalarJSON(n)
		return &Node{Kind: Scalar, Line: n.Line, Scalar: raw}, err
	}
	return nil, At(n.Line, "unexpected YAML")
}

func (c *yamlBuilder) follow(n *yaml.Node, path string, depth int) (*Node, error) {
	target := n.Alias
	if v := c.done[target]; v != nil {
		return v, nil
	}
	if c.open[target] {
		return nil, At(n.Line, "alias %q contains itself", n.Value)
	}
	c.open[target] = true
	defer delete(c.open, target)
	v, err := c.convert(target, path, depth)
	if err == nil {
		c.done[target] = v
	}
	return v, err
}

func (c *yamlBuilder) mapping(n *yaml.Node, path string, depth int) (*Node, error) {
	if err := knownTag(n, "!!map"); err != nil {
		return nil, err
	}
	out := &Node{Kind: Object, Line: n.Line}
	names := map[string]int{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" {
			return nil, At(n.Content[i].Line, "%s is not a string, put it in quotes", join(path, "key "+keyText(k)))
		}
		value, err := c.convert(v, join(path, k.Value), depth+1)
		if err != nil {
			return nil, err
		}
		if err := out.set(names, Key{k.Value, n.Content[i].Line}, value, path); err != nil {
			return nil, err
		}
	}
	for _, m := range merges {
		if err := c.merge(out, names, m, path, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds the fields of the mapping, or mappings, behind a << key that are not
// there yet.
func (c *yamlBuilder) merge(out *Node, names map[string]int, m *yaml.Node, path string, depth int) error {
	from, err := c.convert(m, join(path, "<<"), depth+1)
	if err != nil {
		return err
	}
	sources := []*Node{from}
	if from.Kind == Array {
		sources = from.Items
	}
	for _, s := range sources {
		if s.Kind != Object {
			return At(m.Line, "%s is %s, want a mapping or a list of mappings", join(path, "<<"), s.Kind)
		}
		if err := c.grow(len(s.Keys), depth, m.Line); err != nil {
			return err
		}
		for i, k := range s.Keys {
			if _, there := names[k.Name]; there {
				continue
			}
			if err := out.set(names, k, s.Items[i], path); err != nil {
				return err
			}
		}
	}
	return nil
}

func scalarJSON(n *yaml.Node) (json.RawMessage, error) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp", "!!merge":
		return json.Marshal(n.Value)
	case "!!null":
		return json.RawMessage("null"), nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, At(n.Line, "%q is not %s", n.Value, strings.TrimPrefix(n.ShortTag(), "!!"))
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, At(n.Line, "%s has no place in JSON", n.Value) // .inf and .nan
		}
		return raw, nil
	}
	return nil, knownTag(n)
}

// knownTag refuses tags that would mean something to another program.
func knownTag(n *yaml.Node, known ...string) error {
	if tag := n.ShortTag(); !slices.Contains(known, tag) {
		return At(n.Line, "tag %s is not supported", tag)
	}
	return nil
}

func keyText(k *yaml.Node) string {
	if k.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%.40q", k.Value)
	}
	return "that is a list or a mapping"
}
