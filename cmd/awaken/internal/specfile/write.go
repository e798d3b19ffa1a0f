package specfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/awaken-go/awaken/config"
)

// WriteDocument writes a document as YAML.
func WriteDocument(w io.Writer, d config.Document) error {
	n, err := yamlNode(d)
	if err != nil {
		return err
	}
	return writeYAML(w, n)
}

// WriteLists writes documents as YAML, in lists by namespace.
func WriteLists(w io.Writer, docs []config.Document) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, ns := range config.Namespaces {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, d := range docs {
			if d.Key.Namespace != ns {
				continue
			}
			n, err := yamlNode(d)
			if err != nil {
				return err
			}
			list.Content = append(list.Content, n)
		}
		if len(list.Content) > 0 {
			root.Content = append(root.Content, textNode(string(ns)), list)
		}
	}
	if len(root.Content) == 0 {
		return nil
	}
	return writeYAML(w, root)
}

func writeYAML(w io.Writer, n *yaml.Node) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return err
	}
	return enc.Close()
}

func yamlNode(d config.Document) (*yaml.Node, error) {
	fields, err := decodeFields(d.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Key, err)
	}
	return valueNode(fields), nil
}

// decodeFields decodes an object. Numbers keep their notation.
func decodeFields(raw []byte) (fields map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&fields)
	return fields, err
}

// valueNode returns a value of a document. In an object the id comes first; the other fields
// are sorted.
func valueNode(v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		names := slices.Sorted(maps.Keys(v))
		if i := slices.Index(names, "id"); i > 0 {
			names = slices.Insert(slices.Delete(names, i, i+1), 0, "id")
		}
		for _, name := range names {
			n.Content = append(n.Content, textNode(name), valueNode(v[name]))
		}
		if len(names) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range v {
			n.Content = append(n.Content, valueNode(e))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case string:
		return textNode(v)
	case json.Number:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: v.String()}
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
		return n
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// textNode returns a string. It writes several lines as a block where that is lossless.
func textNode(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	if s == "<<" || strings.ContainsAny(s, "\r\t\u0085\u2028\u2029\ufeff") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.Contains(s, " \n") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
