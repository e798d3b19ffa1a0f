package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
)

var update = flag.Bool("update", false, "write fields.json and docs/config")

// The field descriptions of Schema are the comments of the structs.
func TestDocs_FieldsAreTheComments(t *testing.T) {
	root := testenv.ModuleRoot(t)
	all := map[string]string{}
	for _, dir := range []string{"llm", ".", "config"} {
		readComments(t, filepath.Join(root, dir), all)
	}
	want := map[string]string{}
	for _, typ := range documented() {
		want[typ.Name()] = all[typ.Name()]
		for name, f := range jsonFields(typ) {
			key := f.owner + "." + name
			if want[key] = all[key]; all[key] == "" {
				t.Errorf("%s has no comment", key)
			}
		}
		if all[typ.Name()] == "" {
			t.Errorf("%s has no comment", typ.Name())
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(want); err != nil {
		t.Fatal(err)
	}
	hold(t, "fields.json", b.Bytes())
}

// hold compares a file with its expected content or, with -update, writes it.
func hold(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the structs say (%v): go test ./config -run TestDocs -update, twice", file, err)
	}
}

// documented returns the structs that documents consist of.
func documented() []reflect.Type {
	var out []reflect.Type
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if _, ok := special[t]; ok || t.Kind() != reflect.Struct || slices.Contains(out, t) {
			return
		}
		out = append(out, t)
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				add(f.Type)
			}
		}
	}
	for _, ns := range Namespaces {
		add(reflect.TypeOf(kinds[ns].new()))
	}
	return out
}

// readComments reads the comments of the structs in a folder: of a struct by its name, of a
// field by struct and JSON name.
func readComments(t *testing.T, dir string, into map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				ts := s.(*ast.TypeSpec)
				if st, ok := ts.Type.(*ast.StructType); ok && isConfig(ts.Name.Name) == (filepath.Base(dir) == "config") {
					readStruct(ts.Name.Name, g.Doc, st, into)
				}
			}
		}
	}
}

// isConfig reports whether a struct belongs to this package: another package may have one
// of the same name.
func isConfig(name string) bool {
	return slices.ContainsFunc(documented(), func(t reflect.Type) bool {
		return t.Name() == name && t.PkgPath() == reflect.TypeFor[Record]().PkgPath()
	})
}

func readStruct(name string, doc *ast.CommentGroup, st *ast.StructType, into map[string]string) {
	names := map[string]string{} // in Go to in JSON
	for _, f := range st.Fields.List {
		if f.Tag != nil && len(f.Names) == 1 {
			n, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
			names[f.Names[0].Name] = n
		}
	}
	text := func(c *ast.CommentGroup) string {
		s := strings.Join(strings.Fields(c.Text()), " ")
		s = regexp.MustCompile(`\[([\w.]+)\]`).ReplaceAllString(s, "$1")
		s = regexp.MustCompile(`\bNil\b`).ReplaceAllString(s, "Null")
		return regexp.MustCompile(`\bnil\b`).ReplaceAllString(s, "null")
	}
	into[name] = text(doc)
	last := ""
	for _, f := range st.Fields.List {
		if len(f.Names) != 1 {
			last = ""
			continue
		}
		goName := f.Names[0].Name
		s := ""
		switch {
		case f.Doc != nil:
			s = text(f.Doc)
			last = s
		case f.Comment != nil:
			s = text(f.Comment)
		case regexp.MustCompile(`\b` + goName + `\b`).MatchString(last):
			s = last
		}
		for _, verb := range []string{" is ", " are ", " says "} {
			if rest, ok := strings.CutPrefix(s, goName+verb); ok {
				s = rest
			}
		}
		for g, j := range names {
			if j != "" && len(g) > 2 {
				s = regexp.MustCompile(`\b`+g+`\b`).ReplaceAllString(s, j)
			}
		}
		into[name+"."+names[goName]] = s
	}
}

// Every namespace has a page, generated from its structs.
func TestDocs_Pages(t *testing.T) {
	root := testenv.ModuleRoot(t)
	for _, ns := range Namespaces {
		k := kinds[ns]
		typ := reflect.TypeOf(k.new()).Elem()
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- Generated from the Go structs: go test ./config -run TestDocs -update. -->\n\n# %s\n\n%s\n\n", ns, fieldDocs()[typ.Name()])
		doc := examples[ns]
		if _, err := seal(Key{ns, "x"}, json.RawMessage(doc), nil); err != nil {
			t.Errorf("%s: the example: %v", ns, err)
		}
		fmt.Fprintf(&b, "```json\n%s\n```\n\n", strings.Replace(doc, `"id": "x"`, fmt.Sprintf(`"id": "my-%s"`, strings.ReplaceAll(strings.ToLower(k.what), " ", "-")), 1))
		if k.needs != nil {
			b.WriteString(needsText[ns] + "\n\n")
		}
		if k.secret != nil {
			b.WriteString(secretText[ns] + "\n\n")
		}
		tables(&b, typ, k.defaults(), "", map[reflect.Type]bool{})
		if k.patch != nil {
			var fields, nulls []string
			for _, f := range k.patch.fields {
				fields = append(fields, "`"+f+"`")
			}
			for _, f := range k.patch.nullable {
				nulls = append(nulls, "`"+f+"`")
			}
			fmt.Fprintf(&b, "## Overrides\n\nA builtin document can be overridden field by field: %s.\nOmitted fields keep the value of the document.", strings.Join(fields, ", "))
			if len(nulls) > 0 {
				fmt.Fprintf(&b, " `null` clears %s; on another field it removes the override.", strings.Join(nulls, ", "))
			}
			b.WriteString("\n`\"_clear\": [\"field\"]` removes overrides.")
			if ns == Agents {
				b.WriteString(" `sections` are overridden one by one: `null` removes a section, and `\"_clear\": [\"sections.name\"]` its override.\n" +
					"`backend` and `endpoint` cannot be overridden together. Clearing both `allowed_tools` and `allowed_tool_patterns` leaves the agent without tools;\n" +
					"`\"allowed_tool_patterns\": [\"*\"]` gives it all.")
			}
			if ns == Tools {
				b.WriteString(" The description may be 4096 bytes long.")
			}
			b.WriteString("\n")
		}
		hold(t, filepath.Join(root, "docs", "config", string(ns)+".md"), []byte(strings.TrimRight(b.String(), "\n")+"\n"))
	}
}

var needsText = map[Namespace]string{
	Agents: "An agent needs its model or pool, its delegates, and the A2A server named in `endpoint.options.a2a_server_id`. They cannot be deleted while the agent needs them.",
	Models: "A model needs its provider, which cannot be deleted before the model.",
	Pools:  "A pool needs its models, which cannot be deleted before the pool.",
	Skills: "A skill whose `allowed_tools` include tools of an MCP server (`mcp__<server>__<tool>`) needs that server, which cannot be deleted before the skill.",
}

var secretText = map[Namespace]string{
	Agents: "Secrets: `endpoint.auth.token`, and every string in `endpoint`, `backend.config` and `sections` whose name suggests a secret, such as `api_key`, `password`, `secret` or `token`. " +
		"Clients see `***`; writing that back keeps the secret.",
	Providers: "Secrets: `api_key`, the values of `adapter_options.headers`, and every string in `adapter_options` whose name suggests a secret, such as `private_key`, `password` or `token`. " +
		"Clients see `has_api_key` instead of `api_key`; a write that omits `api_key` keeps it, `null` or `\"\"` clears it. Clients see the others as `***`; writing that back keeps the secret.",
	MCPServers: "Secrets: the values of `env`, the `client_secret` of `auth`, and in `config` headers and every string whose name suggests a secret, such as `api_key`, `password` or `token`. " +
		"Clients see `has_env` and `env_keys` instead of `env`; a write that omits `env` keeps it, `null` or `{}` clears it, and a value of `***` keeps that variable. Clients see the secrets in `config` as `***`; writing that back keeps the secret.",
	A2AServers: "Secrets: `auth.token`, and in `options` headers and every string whose name suggests a secret, such as `api_key`, `password` or `token`. " +
		"Clients see `has_auth` instead of `auth`; a write that omits `auth` keeps it, `null` clears it. Clients see the secrets in `options` as `***`; writing that back keeps the secret.",
}

// tables writes the table of a struct and of the structs in it.
func tables(b *strings.Builder, t reflect.Type, defaults map[string]any, at string, done map[reflect.Type]bool) {
	if done[t] {
		return
	}
	done[t] = true
	if at != "" {
		fmt.Fprintf(b, "## %s\n\n%s\n\n", at, fieldDocs()[t.Name()])
	}
	b.WriteString("| Field | Type | Default | Meaning |\n|---|---|---|---|\n")
	fields := jsonFields(t)
	type nested struct {
		at  string
		typ reflect.Type
		def map[string]any
	}
	var below []nested
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		jf, ok := fields[name]
		if !ok {
			continue
		}
		def := ""
		switch v := defaults[name].(type) {
		case nil:
			if !strings.Contains(f.Tag.Get("json"), ",omit") {
				def = "required"
			}
		case map[string]any, []any:
		default:
			def = "`" + string(encode(v)) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, typeName(f.Type), def, strings.ReplaceAll(fieldDocs()[jf.owner+"."+name], "|", `\|`))
		elem, sub := f.Type, defaults[name]
		place := name
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			if elem.Kind() == reflect.Slice {
				place = name + "[]"
				if l, ok := sub.([]any); ok && len(l) > 0 {
					sub = l[0]
				}
			}
			elem = elem.Elem()
		}
		if _, isSpecial := special[elem]; !isSpecial && elem.Kind() == reflect.Struct {
			d, _ := sub.(map[string]any)
			if at != "" {
				place = at + "." + place
			}
			below = append(below, nested{place, elem, d})
		}
	}
	b.WriteString("\n")
	for _, n := range below {
		tables(b, n.typ, n.def, n.at, done)
	}
}

// typeName returns JSON's name for a type.
func typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	case t == reflect.TypeFor[awaken.Secret]():
		return "secret"
	case strings.HasSuffix(t.String(), "llm.Effort"):
		return "string or object"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "array of " + strings.TrimSuffix(typeName(t.Elem()), "s") + "s"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}
