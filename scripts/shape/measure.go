package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// measure holds the figures of one package.
type measure struct {
	path       string // relative to the module
	kind       kind
	exported   map[string]bool // top-level names; a set, because a name may be declared once per build tag
	methods    map[string]bool // exported methods of exported types, as "Type.Method"
	code       int             // lines
	imports    int             // of our packages
	wide       int             // lines of more than 140 columns
	structs    []figure        // by fields
	types      map[string]int  // declared methods by name of the type
	interfaces []figure        // by methods that they name themselves
	files      []figure        // by lines
	functions  []figure        // by lines
}

// figure is the size of one thing.
type figure struct {
	name string // such as "server.call", "server.(*call).serve", "server/run.go"
	n    int
	free bool // of a struct: a wire or configuration type
}

// name returns the name of the package in the figures: "awaken", "server", "store/file".
func (m *measure) name() string {
	if m.path == "." {
		return path.Base(module)
	}
	return strings.TrimPrefix(m.path, "./")
}

func newMeasure(rel string) *measure {
	return &measure{
		path:     rel,
		kind:     kindOf(rel),
		exported: make(map[string]bool),
		methods:  make(map[string]bool),
		types:    make(map[string]int),
	}
}

// addFile adds one file. Generated files do not count.
func (m *measure) addFile(name string, src []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	m.code += codeLines(src)
	m.wide += wideLines(src)
	m.files = append(m.files, figure{name: name, n: bytes.Count(src, []byte("\n"))})
	lines := func(n ast.Node) int { return fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1 }
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			m.addFunc(d, lines(d))
		case *ast.GenDecl:
			m.addNames(d)
			m.addLiterals(d, lines)
		}
		m.addTypes(decl, fset)
	}
	return nil
}

func (m *measure) addFunc(d *ast.FuncDecl, lines int) {
	if d.Recv == nil {
		if d.Name.IsExported() {
			m.exported[d.Name.Name] = true
		}
		m.functions = append(m.functions, figure{name: m.name() + "." + d.Name.Name, n: lines})
		return
	}
	recv, pointer := receiver(d.Recv.List[0].Type)
	m.types[recv]++
	if ast.IsExported(recv) && d.Name.IsExported() {
		m.methods[recv+"."+d.Name.Name] = true
	}
	if pointer {
		recv = "(*" + recv + ")"
	}
	m.functions = append(m.functions, figure{name: m.name() + "." + recv + "." + d.Name.Name, n: lines})
}

// receiver returns the name of a method's receiver type.
func receiver(expr ast.Expr) (name string, pointer bool) {
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr, pointer = e.X, true
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name, pointer
		default:
			return "?", pointer
		}
	}
}

// addNames adds the exported names of a declaration.
func (m *measure) addNames(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				m.exported[s.Name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() {
					m.exported[name.Name] = true
				}
			}
		}
	}
}

// addLiterals adds the function literals in a top-level declaration, such as a table of handlers.
func (m *measure) addLiterals(d *ast.GenDecl, lines func(ast.Node) int) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		ast.Inspect(s, func(n ast.Node) bool {
			lit, ok := n.(*ast.FuncLit)
			if ok {
				m.functions = append(m.functions, figure{name: m.name() + "." + s.Names[0].Name + " (literal)", n: lines(lit)})
			}
			return !ok
		})
	}
}

// addTypes adds the structs and interfaces of a declaration, including local and unnamed ones.
func (m *measure) addTypes(decl ast.Decl, fset *token.FileSet) {
	named := make(map[ast.Expr]string)
	within := ""
	if f, ok := decl.(*ast.FuncDecl); ok {
		within = f.Name.Name + "."
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch t := n.(type) {
		case *ast.TypeSpec:
			named[t.Type] = t.Name.Name
		case *ast.StructType:
			name, ok := named[t]
			if !ok {
				name = "struct at line " + strconv.Itoa(fset.Position(t.Pos()).Line)
			}
			m.structs = append(m.structs, figure{
				name: m.name() + "." + within + name,
				n:    t.Fields.NumFields(),
				free: isConfiguration(name) || isWire(t),
			})
		case *ast.InterfaceType:
			if name, ok := named[t]; ok {
				m.addInterface(within, name, t)
			}
		}
		return true
	})
}

func (m *measure) addInterface(within, name string, t *ast.InterfaceType) {
	methods := 0
	for _, f := range t.Methods.List {
		for _, method := range f.Names {
			methods++
			if within == "" && ast.IsExported(name) && method.IsExported() {
				m.methods[name+"."+method.Name] = true
			}
		}
	}
	m.interfaces = append(m.interfaces, figure{name: m.name() + "." + within + name, n: methods})
}

// configurationNames are the endings of the names of configuration types.
var configurationNames = []string{"config", "options", "limits", "settings"}

// isConfiguration reports whether a struct is a configuration type: its name is Config, Options,
// Limits or Settings, exported or not, or ends in one of these.
func isConfiguration(name string) bool {
	return slices.ContainsFunc(configurationNames, func(end string) bool {
		return name == end || strings.HasSuffix(name, strings.ToUpper(end[:1])+end[1:])
	})
}

// isWire reports whether a struct is a wire type: each exported field that is not embedded has a json
// or yaml tag, and there are more of these than of all the others.
func isWire(t *ast.StructType) bool {
	tagged := 0
	for _, f := range t.Fields.List {
		if len(f.Names) == 0 || !f.Names[0].IsExported() {
			continue
		}
		if f.Tag == nil {
			return false
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return false
		}
		_, isJSON := reflect.StructTag(tag).Lookup("json")
		_, isYAML := reflect.StructTag(tag).Lookup("yaml")
		if !isJSON && !isYAML {
			return false
		}
		tagged += len(f.Names)
	}
	return 2*tagged > t.Fields.NumFields()
}

// maxColumns is how wide a line should be at most, with tabs of four columns. It is a figure, and no limit yet.
const maxColumns = 140

// wideLines counts the lines that are wider than maxColumns.
func wideLines(src []byte) (n int) {
	for line := range bytes.Lines(src) {
		if utf8.RuneCount(line)+3*bytes.Count(line, []byte("\t"))-1 > maxColumns {
			n++
		}
	}
	return n
}

// codeLines counts the lines of src that hold a token. The blank lines of a long string do not count.
func codeLines(src []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := make(map[int]bool)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && lit != ";" {
			continue // inserted by the scanner at the end of a line
		}
		line := file.Line(pos)
		for text := range strings.SplitSeq(lit+" ", "\n") {
			if lit == "" || strings.TrimSpace(text) != "" {
				lines[line] = true
			}
			line++
		}
	}
}

// longestChain returns the longest chain of packages of this module, each importing the next.
func longestChain(listed []pkg) []string {
	byPath := make(map[string]pkg)
	for _, p := range listed {
		byPath[p.ImportPath] = p
	}
	longest := make(map[string][]string) // starting with a package
	var from func(path string) []string
	from = func(path string) []string {
		if chain, ok := longest[path]; ok {
			return chain
		}
		longest[path] = nil
		var below []string
		for _, imp := range byPath[path].Imports {
			if isOurs(imp) {
				if chain := from(imp); len(chain) > len(below) {
					below = chain
				}
			}
		}
		longest[path] = append([]string{path}, below...)
		return longest[path]
	}
	var worst []string
	for _, p := range listed {
		if isOurs(p.ImportPath) {
			if chain := from(p.ImportPath); len(chain) > len(worst) {
				worst = chain
			}
		}
	}
	return worst
}

// violation is one broken rule.
type violation struct{ rule, where, what string }

func (v violation) String() string {
	return fmt.Sprintf("%s %s\n\trule: %s", v.where, v.what, v.rule)
}
