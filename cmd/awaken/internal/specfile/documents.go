package specfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/document"
)

// Document is a document of the control plane and the file that defines it.
type Document struct {
	config.Document
	File string
	node *document.Node
}

// Documents reads the documents of a file or a folder. A file contains lists by namespace. A
// folder contains such files, and files with one document each, named by namespace and id:
// agents/helper.yaml. Documents ignores files that are neither YAML nor JSON, and files whose
// name begins with a dot.
//
// In place of a secret, ${NAME} stands for the value that lookup returns, and ${file:PATH} for
// the content of a file.
func Documents(path string, lookup func(name string) (string, bool)) ([]Document, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	r := &reader{lookup: lookup}
	if info.IsDir() {
		err = r.folder(path, "")
	} else {
		err = r.file(path, "")
	}
	return r.docs, err
}

// ReadDocuments is Documents for a reader. Errors refer to it as name.
func ReadDocuments(name string, in io.Reader, lookup func(name string) (string, bool)) ([]Document, error) {
	r := &reader{lookup: lookup}
	err := r.read(name, "", in)
	return r.docs, err
}

// reader collects documents.
type reader struct {
	lookup func(name string) (string, bool)
	docs   []Document
}

func isSpecFile(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

// folder reads the folder of a namespace, or one with lists and such folders if ns is "".
func (r *reader) folder(dir string, ns config.Namespace) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // follows links: Kubernetes mounts files as links
		switch inner := config.Namespace(e.Name()); {
		case strings.HasPrefix(e.Name(), "."):
		case err != nil:
			return err
		case isSpecFile(e.Name()) && (ns != "" || !info.IsDir()):
			err = r.file(path, ns)
		case ns != "" || !info.IsDir():
		case !inner.Known():
			return fmt.Errorf("%s: unknown namespace %q, want %s", path, e.Name(), namespaces())
		default:
			err = r.folder(path, inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) file(path string, ns config.Namespace) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.read(path, ns, f)
}

// read reads a file: one document of the namespace, or lists if ns is "".
func (r *reader) read(name string, ns config.Namespace, in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, document.MaxBytes+1))
	if err != nil {
		return document.In(name, err)
	}
	root, err := document.Parse(name, data)
	if errors.Is(err, document.ErrEmpty) && ns == "" {
		return nil // no documents
	}
	switch {
	case err != nil:
	case ns != "":
		err = r.add(name, ns, root, "", unescape(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))))
	case root.IsNull():
	case root.Kind != document.Object:
		err = document.At(root.Line, "got %s, want an object with lists: %s", root.Kind, namespaces())
	default:
		known := func(list string) bool { return config.Namespace(list).Known() }
		err = elements(root, known, namespaces(), func(list, where string, n *document.Node) error {
			return r.add(name, config.Namespace(list), n, where, "")
		})
	}
	return document.In(name, err)
}

func namespaces() string {
	names := make([]string, len(config.Namespaces))
	for i, ns := range config.Namespaces {
		names[i] = string(ns)
	}
	slices.Sort(names)
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// add adds the document at where in its file. It must have the given id, unless that is "".
func (r *reader) add(name string, ns config.Namespace, n *document.Node, where, id string) error {
	if n.Kind != document.Object {
		return document.At(n.Line, "got %s, want an object", n.Kind)
	}
	at := before(where, ": ")
	raw, err := n.JSON()
	if err != nil {
		return document.At(n.Line, "%s%w", at, err)
	}
	fields, err := decodeFields(raw)
	if err != nil {
		return document.At(n.Line, "%s%w", at, err)
	}
	if spec, hidden := unwrapped(fields); spec != nil {
		if hidden {
			return nil
		}
		fields, n = spec, n.Items[slices.IndexFunc(n.Keys, func(k document.Key) bool { return k.Name == "spec" })]
	}
	d := Document{File: name, node: n}
	own, _ := fields["id"].(string)
	if err := checkID(n, where, own); err != nil {
		return err
	}
	if id != "" && own != id {
		return document.At(d.line("id"), "id is %q, want %q as in the file name", own, id)
	}
	d.Key = config.Key{Namespace: ns, ID: own}
	if err := config.CheckID(d.Key); err != nil {
		return document.At(d.line("id"), "%s%w", at, err)
	}
	if i := slices.IndexFunc(r.docs, func(o Document) bool { return o.Key == d.Key }); i >= 0 {
		return document.At(n.Line, "%s%s is defined twice, first in %s:%d", at, d.Key, r.docs[i].File, r.docs[i].node.Line)
	}
	if _, err := r.fillIn(&d, fields, nil); err != nil {
		return err
	}
	if d.Spec, err = json.Marshal(fields); err != nil {
		return document.At(n.Line, "%s%w", at, err)
	}
	r.docs = append(r.docs, d)
	return nil
}

// unwrapped returns the effective document of a record in the form {spec, meta}, in which the
// original stores documents, and whether the record is hidden. It returns nil if fields is not
// a record.
func unwrapped(fields map[string]any) (spec map[string]any, hidden bool) {
	spec, _ = fields["spec"].(map[string]any)
	meta, ok := fields["meta"].(map[string]any)
	if spec == nil || !ok || len(fields) != 2 {
		return nil, false
	}
	hidden, _ = meta["hidden"].(bool)
	overrides, _ := meta["user_overrides"].(map[string]any)
	for name, v := range overrides {
		own, _ := spec[name].(map[string]any)
		over, isObject := v.(map[string]any)
		if name != "sections" || !isObject || own == nil {
			spec[name] = v
			continue
		}
		maps.Copy(own, over)
		maps.DeleteFunc(own, func(_ string, v any) bool { return v == nil })
	}
	return spec, hidden
}

var variable = regexp.MustCompile(`^\$\{([^{}]*)\}$`)

// fillIn replaces references to secrets with their values.
func (r *reader) fillIn(d *Document, v any, path []string) (any, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if v[name], err = r.fillIn(d, e, append(path, name)); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = r.fillIn(d, e, append(path, strconv.Itoa(i))); err != nil {
				return nil, err
			}
		}
	case string:
		m := variable.FindStringSubmatch(v)
		if m == nil || !config.IsSecret(d.Key.Namespace, path) {
			return v, nil
		}
		value, err := r.value(m[1])
		if err != nil {
			return nil, document.At(d.line(path...), "%s: %s: %w", d.Key, strings.Join(path, "."), err)
		}
		return value, nil
	}
	return v, nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// value returns the value of a reference, without ${ and }.
func (r *reader) value(name string) (string, error) {
	if file, ok := strings.CutPrefix(name, "file:"); ok {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		value := strings.TrimRight(string(data), "\r\n")
		if value == "" {
			return "", fmt.Errorf("%s is empty", file)
		}
		return value, nil
	}
	if !variableName.MatchString(name) {
		return "", fmt.Errorf("${%s} is not a valid reference, want ${NAME} or ${file:PATH}", name)
	}
	value, ok := r.lookup(name)
	if !ok || value == "" {
		return "", fmt.Errorf("environment variable %s is not set", name)
	}
	return value, nil
}

// line returns the line of a field, or of its closest parent that exists.
func (d *Document) line(path ...string) int {
	n, line := d.node, d.node.Line
	for _, name := range path {
		i := slices.IndexFunc(n.Keys, func(k document.Key) bool { return k.Name == name })
		if n.Kind == document.Array {
			var err error
			if i, err = strconv.Atoi(name); err != nil || i >= len(n.Items) {
				break
			}
			line = n.Items[i].Line
		} else if i >= 0 {
			line = n.Keys[i].Line
		}
		if i < 0 {
			break
		}
		n = n.Items[i]
	}
	return line
}

// names matches words in an error message that may be fields.
var names = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.-]*`)

// Locate prefixes each line of an error that is about one of the documents with file and line.
// The line is that of the first field that the message names, or else the beginning of the
// document.
func Locate(docs []Document, err error) error {
	text := strings.TrimPrefix(err.Error(), awaken.ErrInvalid.Error()+": ")
	lines := strings.Split(text, "\n")
	var last *Document
	for i, line := range lines {
		d, rest := about(docs, line)
		if d == nil {
			d, rest = last, line // another mistake in the same document
		}
		if last = d; d == nil {
			continue
		}
		at := d.node.Line
		for _, name := range names.FindAllString(rest, -1) {
			path := strings.Split(name, ".")
			if l := d.line(path...); slices.ContainsFunc(d.node.Keys, func(k document.Key) bool { return k.Name == path[0] }) {
				at = l
				break
			}
		}
		lines[i] = fmt.Sprintf("%s:%d: %s", d.File, at, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// about returns the document that a message is about, and the rest of the message.
func about(docs []Document, text string) (*Document, string) {
	for i := range docs {
		key := docs[i].Key
		for _, name := range []string{key.String() + ": ", fmt.Sprintf("%s %q: ", strings.TrimSuffix(string(key.Namespace), "s"), key.ID)} {
			if before, rest, ok := strings.Cut(text, name); ok && (before == "" || strings.HasSuffix(before, " ")) {
				return &docs[i], rest
			}
		}
	}
	return nil, text
}

// FileName returns the path of a document's file in a folder. Characters that some file systems
// do not allow are escaped as %XX, as in a URL.
func FileName(key config.Key) string {
	var sb strings.Builder
	for i, c := range []byte(key.ID) {
		if strings.IndexByte(`<>:"|*%`, c) >= 0 || c == '.' && i == 0 {
			fmt.Fprintf(&sb, "%%%02X", c)
		} else {
			sb.WriteByte(c)
		}
	}
	return filepath.Join(string(key.Namespace), sb.String()+".yaml")
}

// unescape returns the id that FileName escaped.
func unescape(name string) string {
	return escaped.ReplaceAllStringFunc(name, func(s string) string {
		n, _ := strconv.ParseUint(s[1:], 16, 8) // it matched
		return string([]byte{byte(n)})
	})
}

var escaped = regexp.MustCompile(`%[0-9A-F]{2}`)
