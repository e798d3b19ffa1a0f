package basics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/awaken-go/awaken"
)

// The limits of an expression. They bound the time and the memory that one takes.
const (
	maxExpression = 1000  // bytes
	maxDepth      = 50    // of parentheses, signs and powers
	maxExponent   = 10000 // of a power, and of a literal
	maxBits       = 1 << 15
)

type calcArgs struct {
	Expression string `json:"expression" jsonschema:"such as (1.5 + 2) * 3^2 / sqrt(2); operators + - * / % ^, functions abs ceil cos exp floor ln log10 max min round sin sqrt tan, constants pi and e"`
}

type calcResult struct {
	Result string `json:"result"`
	Exact  bool   `json:"exact"` // otherwise it is rounded
}

func newCalculate() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          Calculate,
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.ReadOnly,
		Description: "Calculates the value of an arithmetic expression, exactly where that is possible.",
	},
		func(_ context.Context, _ *awaken.ToolCall, in calcArgs) (calcResult, error) {
			return calculate(in.Expression)
		})
}

// calculate evaluates an expression.
//
//	sum     = product { ("+" | "-") product }
//	product = power { ("*" | "/" | "%") power }
//	power   = "-" power | primary [ "^" power ]
//	primary = number | "(" sum ")" | constant | function "(" sum { "," sum } ")"
func calculate(text string) (calcResult, error) {
	if len(text) > maxExpression {
		return calcResult{}, fmt.Errorf("expression is %d bytes long, want at most %d", len(text), maxExpression)
	}
	p := &parser{text: text, exact: true}
	v, err := p.sum(0)
	if err != nil {
		return calcResult{}, err
	}
	if p.skip(); p.at < len(p.text) {
		return calcResult{}, p.wrong("want an operator or the end")
	}
	s, whole := decimal(v)
	return calcResult{s, p.exact && whole}, nil
}

// decimal writes a number with at most 20 digits after the point, and reports whether that is all of it.
func decimal(v *big.Rat) (string, bool) {
	if v.IsInt() {
		return v.Num().String(), true
	}
	s := strings.TrimRight(v.FloatString(20), "0")
	s = strings.TrimSuffix(s, ".")
	back, ok := new(big.Rat).SetString(s)
	if s == "0" || s == "-0" { // too small for that
		f, _ := v.Float64()
		return fmt.Sprint(f), false
	}
	return s, ok && back.Cmp(v) == 0
}

type parser struct {
	text  string
	at    int
	exact bool // nothing was rounded
}

func (p *parser) wrong(format string, args ...any) error {
	return fmt.Errorf("expression, at character %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take takes one of the characters, or returns 0.
func (p *parser) take(chars string) byte {
	if p.skip(); p.at < len(p.text) && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
		return p.text[p.at-1]
	}
	return 0
}

// small returns v, or an error if it has too many digits.
func (p *parser) small(v *big.Rat) (*big.Rat, error) {
	if v.Num().BitLen()+v.Denom().BitLen() > maxBits {
		return nil, p.wrong("the number has too many digits")
	}
	return v, nil
}

func (p *parser) sum(depth int) (*big.Rat, error) {
	v, err := p.product(depth)
	for err == nil {
		op := p.take("+-")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		if w, err = p.product(depth); err != nil {
			break
		}
		if op == '+' {
			v = new(big.Rat).Add(v, w)
		} else {
			v = new(big.Rat).Sub(v, w)
		}
		v, err = p.small(v)
	}
	return nil, err
}

func (p *parser) product(depth int) (*big.Rat, error) {
	v, err := p.power(depth)
	for err == nil {
		op := p.take("*/%")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		if w, err = p.power(depth); err != nil {
			break
		}
		switch {
		case op == '*':
			v = new(big.Rat).Mul(v, w)
		case w.Sign() == 0:
			return nil, p.wrong("division by zero")
		case op == '/':
			v = new(big.Rat).Quo(v, w)
		default: // the remainder has the sign of v
			q := new(big.Rat).Quo(v, w)
			whole := new(big.Rat).SetInt(new(big.Int).Quo(q.Num(), q.Denom()))
			v = new(big.Rat).Sub(v, whole.Mul(whole, w))
		}
		v, err = p.small(v)
	}
	return nil, err
}

func (p *parser) power(depth int) (*big.Rat, error) {
	if depth > maxDepth {
		return nil, p.wrong("nested more than %d times", maxDepth)
	}
	if p.take("-") != 0 {
		v, err := p.power(depth + 1)
		if err != nil {
			return nil, err
		}
		return new(big.Rat).Neg(v), nil
	}
	base, err := p.primary(depth)
	if err != nil || p.take("^") == 0 {
		return base, err
	}
	exp, err := p.power(depth + 1)
	if err != nil {
		return nil, err
	}
	return p.raise(base, exp)
}

// raise returns a power: exactly, if the exponent is an integer.
func (p *parser) raise(base, exp *big.Rat) (*big.Rat, error) {
	if !exp.IsInt() {
		b, _ := base.Float64()
		e, _ := exp.Float64()
		return p.rounded(math.Pow(b, e))
	}
	n := exp.Num()
	if !n.IsInt64() || n.Int64() > maxExponent || n.Int64() < -maxExponent {
		return nil, p.wrong("the exponent is %s, want at most %d", n, maxExponent)
	}
	k := n.Int64()
	switch {
	case base.Sign() == 0 && k < 0:
		return nil, p.wrong("division by zero")
	case int64(base.Num().BitLen()+base.Denom().BitLen())*max(k, -k) > 2*maxBits:
		return nil, p.wrong("the number has too many digits")
	}
	abs := big.NewInt(max(k, -k))
	num, den := new(big.Int).Exp(base.Num(), abs, nil), new(big.Int).Exp(base.Denom(), abs, nil)
	if k < 0 {
		num, den = den, num
	}
	return p.small(new(big.Rat).SetFrac(num, den))
}

// rounded returns the result of floating-point arithmetic.
func (p *parser) rounded(f float64) (*big.Rat, error) {
	v := new(big.Rat).SetFloat64(f)
	if v == nil {
		return nil, p.wrong("the result is %v", f)
	}
	if p.exact = false; v.Sign() != 0 { // as many digits as are known
		if short, ok := new(big.Rat).SetString(fmt.Sprintf("%.15g", f)); ok {
			v = short
		}
	}
	return p.small(v)
}

func (p *parser) primary(depth int) (*big.Rat, error) {
	if p.take("(") != 0 {
		v, err := p.sum(depth + 1)
		if err == nil && p.take(")") == 0 {
			err = p.wrong("want )")
		}
		return v, err
	}
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] >= '0' && p.text[p.at] <= '9' || p.text[p.at] == '.') {
		p.at++
	}
	if p.at > start {
		return p.number(start)
	}
	for p.at < len(p.text) && (p.text[p.at] >= 'a' && p.text[p.at] <= 'z' || p.at > start && p.text[p.at] >= '0' && p.text[p.at] <= '9') {
		p.at++
	}
	name := p.text[start:p.at]
	switch name {
	case "":
		return nil, p.wrong("want a number")
	case "pi":
		return p.rounded(math.Pi)
	case "e":
		return p.rounded(math.E)
	}
	return p.function(name, depth)
}

// number reads the rest of a number that begins at start, with its exponent.
func (p *parser) number(start int) (*big.Rat, error) {
	if rest := p.text[p.at:]; len(rest) > 1 && (rest[0] == 'e' || rest[0] == 'E') {
		n := 1
		if rest[n] == '+' || rest[n] == '-' {
			n++
		}
		digits := n
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n > digits+4 {
			return nil, p.wrong("the exponent of the number has more than 4 digits")
		}
		if n > digits {
			p.at += n
		}
	}
	v, ok := new(big.Rat).SetString(p.text[start:p.at])
	if !ok {
		p.at = start
		return nil, p.wrong("want a number such as 12 or 1.5e3")
	}
	return p.small(v)
}

func (p *parser) function(name string, depth int) (*big.Rat, error) {
	if p.take("(") == 0 {
		return nil, p.wrong("%q is no constant, and a function is followed by (", name)
	}
	var args []*big.Rat
	for {
		v, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if p.take(",") == 0 {
			break
		}
	}
	if p.take(")") == 0 {
		return nil, p.wrong("want , or )")
	}
	v, err := p.apply(name, args)
	if errors.Is(err, errUnknown) {
		return nil, p.wrong("there is no function %q with %d arguments", name, len(args))
	}
	return v, err
}

var errUnknown = errors.New("unknown function")

var float64Functions = map[string]func(float64) float64{"cos": math.Cos, "exp": math.Exp, "ln": math.Log, "log10": math.Log10, "sin": math.Sin, "sqrt": math.Sqrt, "tan": math.Tan}

func (p *parser) apply(name string, args []*big.Rat) (*big.Rat, error) {
	best := args[0]
	switch {
	case name == "min" || name == "max":
		for _, v := range args[1:] {
			if (v.Cmp(best) > 0) == (name == "max") {
				best = v
			}
		}
		return best, nil
	case len(args) != 1:
		return nil, errUnknown
	case name == "abs":
		return new(big.Rat).Abs(best), nil
	case name == "floor" || name == "ceil" || name == "round":
		return integer(name, best), nil
	}
	f := float64Functions[name]
	if f == nil {
		return nil, errUnknown
	}
	if name == "sqrt" && best.Sign() >= 0 {
		num, den := new(big.Int).Sqrt(best.Num()), new(big.Int).Sqrt(best.Denom())
		if root := new(big.Rat).SetFrac(num, den); new(big.Rat).Mul(root, root).Cmp(best) == 0 {
			return root, nil
		}
	}
	x, _ := best.Float64()
	return p.rounded(f(x))
}

// integer rounds v down, up, or to the nearest integer, halves away from zero.
func integer(how string, v *big.Rat) *big.Rat {
	switch how {
	case "ceil":
		return new(big.Rat).Neg(integer("floor", new(big.Rat).Neg(v)))
	case "round":
		if v.Sign() < 0 {
			return new(big.Rat).Neg(integer("round", new(big.Rat).Neg(v)))
		}
		return integer("floor", new(big.Rat).Add(v, big.NewRat(1, 2)))
	}
	return new(big.Rat).SetInt(new(big.Int).Div(v.Num(), v.Denom())) // Div rounds down, as the denominator is positive
}
