package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Value is one setting.
type Value struct {
	Name   string // in the file
	Env    string // the environment variable
	Flag   string // the flag, or ""
	Doc    string
	Unused string // why the setting has no effect; "" if it has one
	Source string // the source of the value: a file and line, a variable, a flag or "default"

	to    any                  // pointer to the field; for an unused setting, to a value that nothing reads
	def   string               // the default, as set accepts it; "" means the zero value
	check func(v *Value) error // returns what is wanted instead
}

// Values returns all settings in the order of the table.
func (s *Settings) Values() []*Value { return s.values }

// Secret reports whether the value is a secret, which must not be shown.
func (v *Value) Secret() bool { _, ok := v.to.(*awaken.Secret); return ok }

// String returns the value as it would be in a file, or *** for a secret.
func (v *Value) String() string {
	switch p := v.to.(type) {
	case *string:
		return quoted(*p)
	case *[]string:
		return "[" + strings.Join(*p, ", ") + "]"
	case *awaken.Secret:
		if p.IsZero() {
			return `""`
		}
		return "***"
	case *time.Duration:
		if u := v.unit(); u != 0 {
			return strconv.FormatInt(int64(*p/u), 10)
		}
		return p.String()
	}
	return fmt.Sprint(reflect.ValueOf(v.to).Elem())
}

// quoted returns a string as YAML, quoted only where necessary.
func quoted(s string) string {
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s, "\n\t\"'#{}[]&*!|>%@`") || strings.Contains(s, ": ") {
		return strconv.Quote(s)
	}
	return s
}

// unit returns the unit of a duration that is given as a number, or 0.
func (v *Value) unit() time.Duration {
	if _, ok := v.to.(*time.Duration); !ok {
		return 0
	}
	for suffix, u := range map[string]time.Duration{"_ms": time.Millisecond, "_secs": time.Second, "_days": day} {
		if strings.HasSuffix(v.Name, suffix) {
			return u
		}
	}
	return 0
}

// set parses and checks a value.
func (v *Value) set(text string) error {
	switch p := v.to.(type) {
	case *string:
		*p = text
	case *awaken.Secret:
		*p = awaken.NewSecret(text)
	case *[]string:
		*p = split(text)
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("want true or false")
		}
		*p = b
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("want a whole number")
		}
		*p = n
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
			return errors.New("want a number, 0 or more")
		}
		*p = f
	case *time.Duration:
		if u := v.unit(); u != 0 {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n > int64(math.MaxInt64/u) || n < 0 {
				return errors.New("want a whole number, 0 or more")
			}
			*p = time.Duration(n) * u
			break
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("want a duration such as 10s or 5m")
		}
		*p = d
	}
	if v.check != nil {
		return v.check(v)
	}
	return nil
}

// setJSON sets the value from a file. The type of the JSON value must match.
func (v *Value) setJSON(raw json.RawMessage) error {
	var text string
	isText := json.Unmarshal(raw, &text) == nil
	switch p := v.to.(type) {
	case *[]string:
		var list []string
		if json.Unmarshal(raw, &list) != nil {
			return errors.New("want a list of strings")
		}
		*p = list
		return nil
	case *string, *awaken.Secret:
		if !isText {
			return errors.New("want a string; put it in quotes")
		}
	case *time.Duration:
		if isText == (v.unit() != 0) {
			return v.set("not a time")
		}
	default:
		if isText {
			return v.set("not a number")
		}
	}
	if !isText {
		text = string(raw)
	}
	return v.set(text)
}

func split(text string) []string {
	var out []string
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Checks of values.

func (v *Value) number() int64 {
	switch p := v.to.(type) {
	case *int:
		return int64(*p)
	case *time.Duration:
		return int64(*p / max(v.unit(), 1))
	}
	return 0
}

func (v *Value) text() string {
	switch p := v.to.(type) {
	case *string:
		return *p
	case *awaken.Secret:
		return p.Expose()
	}
	return ""
}

// want returns a check that fails with "want text".
func want(text string, ok func(v *Value) bool) func(*Value) error {
	return func(v *Value) error {
		if !ok(v) {
			return errors.New("want " + text)
		}
		return nil
	}
}

func atLeast(n int64) func(*Value) error {
	return want(fmt.Sprintf("%d or more", n), func(v *Value) bool { return v.number() >= n })
}

func oneOf(words ...string) func(*Value) error {
	last := len(words) - 1
	return want(strings.Join(words[:last], ", ")+" or "+words[last], func(v *Value) bool {
		p := v.to.(*string)
		i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(*p, w) })
		if i >= 0 {
			*p = words[i]
		}
		return i >= 0
	})
}

var (
	aShare = want("0 to 1", func(v *Value) bool { p := v.to.(*float64); return *p >= 0 && *p <= 1 })
	limit  = want("1 or more, or -1 for no limit", func(v *Value) bool { return v.number() >= 1 || v.number() == -1 })

	aTime = want("more than 0", func(v *Value) bool { return v.number() > 0 })

	isBasePath = want("a path such as /awaken, without a slash at its end", func(v *Value) bool {
		return strings.HasPrefix(v.text(), "/") && path.Clean(v.text()) == v.text() && v.text() != "/"
	})

	isAddress = want("host:port, such as 127.0.0.1:3000", func(v *Value) bool {
		_, port, err := net.SplitHostPort(v.text())
		_, portErr := strconv.ParseUint(port, 10, 16)
		return err == nil && portErr == nil
	})

	notEmpty = want("a name", func(v *Value) bool { return strings.TrimSpace(v.text()) != "" })

	isKey = want("8 characters or more, without blanks", func(v *Value) bool {
		return len(v.text()) >= 8 && !strings.ContainsAny(v.text(), " \t\r\n")
	})

	isPostgres = want("postgres://user:password@host/database", func(v *Value) bool {
		return strings.HasPrefix(v.text(), "postgres://") || strings.HasPrefix(v.text(), "postgresql://")
	})

	isNATS = want("nats://host:4222 or tls://host:4222, or several with commas between them", func(v *Value) bool {
		for _, one := range strings.Split(v.text(), ",") {
			u, err := url.Parse(strings.TrimSpace(one))
			if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
				return false
			}
		}
		return true
	})

	isSubject = want("words of letters, digits, _ and -, separated by dots", func(v *Value) bool {
		return v.text() == "" || subjects.MatchString(v.text())
	})

	isURL = want("a URL, such as https://api.example.com/v1", func(v *Value) bool {
		u, err := url.Parse(v.text())
		return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	})

	isEffort = want("none, low, medium, high, max or a number of tokens above 0", func(v *Value) bool {
		_, err := ParseEffort(v.text())
		return err == nil
	})
)

// subjects are the names that are safe as the beginning of a subject of NATS.
var subjects = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

func areNetworks(v *Value) error {
	_, err := ParseNetworks(*v.to.(*[]string))
	return err
}

// ParseNetworks parses networks such as 10.0.0.0/8, and single addresses.
func ParseNetworks(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if a, addrErr := netip.ParseAddr(s); addrErr == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("want networks such as 10.0.0.0/8, or addresses, not %q", s)
		}
		out = append(out, p)
	}
	return out, nil
}

// ParseEffort parses a reasoning effort: none, low, medium, high, max or a number of tokens.
func ParseEffort(text string) (e llm.Effort, err error) {
	if n, err := strconv.Atoi(text); err == nil {
		return e, e.UnmarshalJSON(fmt.Appendf(nil, `{"budget":%d}`, n))
	}
	return e, e.UnmarshalJSON(strconv.AppendQuote(nil, text))
}

// envName returns the default environment variable of a setting.
func envName(name string) string {
	return "AWAKEN_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}
