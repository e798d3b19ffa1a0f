package genui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// FormatOpenUI is the format of the surfaces that render_openui_ui draws.
const FormatOpenUI = "openui-lang"

// OpenUI is a user interface in OpenUI Lang.
type OpenUI struct {
	Code    string // without fences
	Count   int    // of statements
	actions map[string][]string
}

// statement is one line of a program: id = expression.
type statement struct {
	id    string
	at    token
	value *node
	refs  []token // other statements that the value names
}

// node is what matters of an expression: whether it is a call, and of what.
type node struct {
	call string // the type of a component, or a function
}

// openUIActions are the kinds of actions that components of OpenUI send to the page, by the function that
// makes them. The others change the page itself.
var openUIActions = map[string]string{"ToAssistant": "continue_conversation", "OpenUrl": "open_url"}

// OpenUIComponent stands for the component of an action: events of OpenUI do not name theirs.
const OpenUIComponent = "root"

// ParseOpenUI checks a program in OpenUI Lang: statements id = Type(arguments), of which root is drawn. An
// error joins a *[Problem] for each mistake, whose positions are lines and columns.
func ParseOpenUI(code string, limits Limits) (*OpenUI, error) {
	code = strings.TrimSpace(unfence(code))
	if len(code) > limits.Bytes {
		return nil, &Problem{"1:1", fmt.Sprintf("has %d bytes", len(code)), fmt.Sprintf("at most %d", limits.Bytes)}
	}
	var bad problems
	p := &openUIParser{tokens: scan(code, &bad), bad: &bad, loops: map[string]bool{}, calls: map[string]int{}}
	statements := p.program()
	byID := map[string]*statement{}
	t := tree{children: map[string][]string{}, depths: map[string]int{}}
	for _, s := range statements {
		if was := byID[s.id]; was != nil {
			bad.add(s.at.at(), "a name of its own", "%s is defined in line %d already", s.id, was.at.line)
		}
		byID[s.id] = s
	}
	for _, s := range statements {
		for _, ref := range s.refs {
			if byID[ref.text] == nil && !p.loops[ref.text] {
				bad.add(ref.at(), "one of "+list(slices.Collect(maps.Keys(byID))), "%s is not defined", ref.text)
				continue
			}
			t.children[s.id] = append(t.children[s.id], ref.text)
		}
	}
	switch root := byID["root"]; {
	case root == nil:
		bad.add("1:1", "a statement root = Type(…), which is drawn", "has no root")
	case root.value == nil || root.value.call == "":
		bad.add(root.at.at(), "a component, such as Card([…])", "root is no component")
	}
	components := 0
	for _, n := range p.calls {
		components += n
	}
	if components > limits.Components {
		bad.add("1:1", fmt.Sprintf("at most %d components", limits.Components), "has %d", components)
	}
	for _, s := range statements {
		if depth := t.depth(s.id); depth < 0 {
			bad.add(s.at.at(), "statements that do not contain themselves", "%s contains itself", s.id)
			break
		} else if depth > limits.Depth {
			bad.add(s.at.at(), fmt.Sprintf("at most %d levels", limits.Depth), "%s has %d levels of statements", s.id, depth)
			break
		}
	}
	if err := bad.err(); err != nil {
		return nil, err
	}
	names := []string{"continue_conversation"} // what a button without an action does
	for _, f := range slices.Sorted(maps.Keys(openUIActions)) {
		if name := openUIActions[f]; p.functions[f] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return &OpenUI{Code: code, Count: len(statements), actions: map[string][]string{OpenUIComponent: names}}, nil
}

// openUIParser parses the tokens of a program.
type openUIParser struct {
	tokens    []token
	pos       int
	depth     int
	bad       *problems
	refs      []token         // of the statement
	loops     map[string]bool // variables of @Each
	calls     map[string]int  // of components, by type
	functions map[string]bool // that are called
}

func (p *openUIParser) peek() token { return p.tokens[min(p.pos, len(p.tokens)-1)] }

func (p *openUIParser) next() token {
	t := p.peek()
	p.pos++
	return t
}

// skip passes over newlines, which mean nothing inside brackets.
func (p *openUIParser) skip() {
	for p.peek().kind == newline {
		p.pos++
	}
}

// program parses all statements. After a mistake it continues with the next line.
func (p *openUIParser) program() (out []*statement) {
	for {
		p.skip()
		id := p.next()
		if id.kind == end {
			return out
		}
		if id.kind != word && id.kind != variable {
			p.fail(id, "a statement such as title = TextContent(\"Hello\")")
			p.line()
			continue
		}
		if eq := p.next(); eq.text != "=" || eq.kind != symbol {
			p.fail(eq, "= after "+id.text)
			p.pos--
			p.line()
			continue
		}
		p.refs = nil
		before := p.count()
		value := p.expression(0)
		p.continued()
		if rest := p.peek(); p.count() == before && rest.kind != newline && rest.kind != end {
			p.fail(rest, "the end of the line")
		}
		if p.count() != before {
			p.line()
		}
		out = append(out, &statement{id.text, id, value, p.refs})
	}
}

// count returns the number of mistakes so far.
func (p *openUIParser) count() int { return len(p.bad.list) + p.bad.more }

// line passes over the rest of the line.
func (p *openUIParser) line() {
	for t := p.peek(); t.kind != newline && t.kind != end; t = p.peek() {
		p.pos++
	}
}

// fail reports a token that is not accepted.
func (p *openUIParser) fail(t token, want string) { p.bad.add(t.at(), want, "found %s", t) }

// precedence of binary operators.
var precedence = map[string]int{"||": 2, "&&": 3, "==": 4, "!=": 4, ">": 5, "<": 5, ">=": 5, "<=": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7}

// continued passes over newlines if a conditional continues after them.
func (p *openUIParser) continued() {
	at := p.pos
	for p.peek().kind == newline {
		p.pos++
	}
	if t := p.peek(); t.kind != symbol || t.text != "?" {
		p.pos = at
	}
}

// expression parses an expression whose operators bind tighter than least.
func (p *openUIParser) expression(least int) *node {
	if p.depth++; p.depth > jsonDepth {
		p.bad.add(p.peek().at(), "less", "is nested more than %d levels deep", jsonDepth)
		p.pos = len(p.tokens) - 1
		p.depth--
		return nil
	}
	defer func() { p.depth-- }()
	left := p.operand()
	for {
		if least == 0 {
			p.continued()
		}
		t := p.peek()
		if t.kind != symbol {
			return left
		}
		switch prec := precedence[t.text]; {
		case prec > least:
			p.pos++
			p.skip()
			p.expression(prec)
			left = nil
		case t.text == "?" && least == 0:
			p.pos++
			p.skip()
			p.expression(0)
			p.skip()
			if !p.want(":") {
				return nil
			}
			p.skip()
			p.expression(0)
			left = nil
		case t.text == ".":
			p.pos++
			if f := p.next(); f.kind != word && f.kind != text && f.kind != number && f.kind != variable {
				p.fail(f, "the name of a field")
				return nil
			}
			left = nil
		case t.text == "[":
			p.pos++
			p.skip()
			p.expression(0)
			p.skip()
			if !p.want("]") {
				return nil
			}
			left = nil
		default:
			return left
		}
	}
}

// want takes a symbol, and reports whether it was there.
func (p *openUIParser) want(s string) bool {
	t := p.next()
	if t.kind == symbol && t.text == s {
		return true
	}
	p.pos--
	p.fail(t, s)
	return false
}

// operand parses a value, a name, a call, or something in brackets.
func (p *openUIParser) operand() *node {
	t := p.next()
	switch t.kind {
	case text, number:
		return nil
	case variable:
		if eq := p.peek(); eq.kind == symbol && eq.text == "=" {
			p.pos++
			p.expression(0)
		}
		return nil
	case function:
		if open := p.peek(); open.kind != symbol || open.text != "(" {
			p.fail(open, "( after @"+t.text)
			return nil
		}
		return p.call(t)
	case word:
		if t.text == "true" || t.text == "false" || t.text == "null" {
			return nil
		}
		if open := p.peek(); open.kind == symbol && open.text == "(" {
			if c := t.text[0]; c < 'A' || c > 'Z' {
				p.fail(t, "a type with a capital letter, or @"+t.text+" for a function")
			}
			return p.call(t)
		}
		p.refs = append(p.refs, t)
		return nil
	case symbol:
		switch t.text {
		case "[":
			p.items("]", func() { p.expression(0) })
			return nil
		case "{":
			p.items("}", p.entry)
			return nil
		case "(":
			p.skip()
			n := p.expression(0)
			p.skip()
			p.want(")")
			return n
		case "!", "-":
			p.expression(8)
			return nil
		}
	}
	p.pos--
	p.fail(t, "a value: a text, a number, a list, an object, a name or a component")
	if t.kind != newline && t.kind != end {
		p.pos++
	}
	return nil
}

// call parses the arguments of a call.
func (p *openUIParser) call(of token) *node {
	p.pos++ // (
	if of.kind == function {
		if p.functions == nil {
			p.functions = map[string]bool{}
		}
		p.functions[of.text] = true
	} else {
		p.calls[of.text]++
	}
	n := 0
	p.items(")", func() {
		if t := p.peek(); of.kind == function && of.text == "Each" && n == 1 && t.kind == text {
			p.loops[t.text] = true
		}
		n++
		p.expression(0)
	})
	return &node{of.text}
}

// entry parses a member of an object.
func (p *openUIParser) entry() {
	if k := p.next(); k.kind != word && k.kind != text && k.kind != number && k.kind != variable {
		p.pos--
		p.fail(k, "the name of a member")
		return
	}
	p.skip()
	if p.want(":") {
		p.skip()
		p.expression(0)
	}
}

// items parses items up to a bracket, separated by commas.
func (p *openUIParser) items(closing string, item func()) {
	for {
		p.skip()
		if t := p.peek(); t.kind == symbol && t.text == closing {
			p.pos++
			return
		}
		before := p.count()
		item()
		if p.count() != before {
			return
		}
		p.skip()
		switch t := p.next(); {
		case t.kind == symbol && t.text == ",":
		case t.kind == symbol && t.text == closing:
			return
		default:
			p.pos--
			p.fail(t, ", or "+closing)
			return
		}
	}
}
