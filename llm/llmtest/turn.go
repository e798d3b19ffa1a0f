package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// Turn is what a model says when it is asked once: reasoning, then text, then tool
// calls, then usage, and at last one of a finish, an error, a cut or a hang. The
// zero Turn is an empty reply.
type Turn struct {
	// Expect is checked before anything is said.
	Expect *Expect `json:"expect,omitempty"`

	Reasoning Text        `json:"reasoning,omitempty"`
	Opaque    *llm.Opaque `json:"opaque,omitempty"` // sent after the reasoning
	Text      Text        `json:"text,omitempty"`
	ToolCalls []Call      `json:"tool_calls,omitempty"`
	Usage     *llm.Usage  `json:"usage,omitempty"`

	// Chunk cuts reasoning, text and arguments into chunks of so many runes at
	// most. With 0 each piece is one chunk.
	Chunk int `json:"chunk,omitempty"`
	// DelayMS is how many milliseconds to wait before each chunk.
	DelayMS int `json:"delay_ms,omitempty"`

	// Finish is the reason to stop. The default is ToolUse when there are calls
	// and EndTurn when there are none.
	Finish llm.FinishReason `json:"finish,omitempty"`
	// Error ends the turn instead of a finish.
	Error *Failure `json:"error,omitempty"`
	// Cut ends the turn with neither a finish nor an error, as a connection does
	// that closes too early.
	Cut bool `json:"cut,omitempty"`
	// Hang makes the turn wait until the caller gives up.
	Hang bool `json:"hang,omitempty"`
}

// Text is a text in pieces. In JSON it is a string, or an array of strings.
type Text []string

// Call is a tool call of a turn.
type Call struct {
	// ID names the call. A call without one is named after its tool and a number,
	// and no two calls of a conversation have the same name.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Arguments is any JSON value; the default is {}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Raw is sent instead of Arguments, byte for byte. It need not be JSON.
	Raw    *string     `json:"raw,omitempty"`
	Opaque *llm.Opaque `json:"opaque,omitempty"`
}

// Failure describes the error at the end of a turn.
type Failure struct {
	Kind         llm.Kind `json:"kind,omitempty"` // the default is provider
	Message      string   `json:"message,omitempty"`
	Status       int      `json:"status,omitempty"`
	RetryAfterMS int      `json:"retry_after_ms,omitempty"`
}

// Say returns a turn that streams pieces as its text.
func Say(pieces ...string) Turn { return Turn{Text: pieces} }

// Use returns a turn that calls one tool. Arguments that are not JSON are sent as
// they are.
func Use(name, arguments string) Turn {
	c := Call{Name: name, Arguments: json.RawMessage(arguments)}
	if !json.Valid(c.Arguments) {
		c.Arguments, c.Raw = nil, &arguments
	}
	return Turn{ToolCalls: []Call{c}}
}

// ParseScript reads turns, one JSON object on each line. Blank lines and lines that
// start with # are skipped. An error names the line it was found on.
func ParseScript(r io.Reader) ([]Turn, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	var turns []Turn
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		var t Turn
		if err := t.UnmarshalJSON(line); err != nil {
			return nil, fmt.Errorf("script line %d: %w", n, err)
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// UnmarshalJSON reads a turn and rejects unknown fields, and fields that
// contradict each other.
func (t *Turn) UnmarshalJSON(data []byte) error {
	type plain Turn
	var p plain
	if err := strict(data, &p); err != nil {
		return err
	}
	*t = Turn(p)
	return t.check()
}

// UnmarshalJSON reads a string or an array of strings. The empty string is no text.
func (t *Text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = nil
		if s != "" {
			*t = Text{s}
		}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			te.Type = reflect.TypeFor[Text]()
		}
		return err
	}
	*t = list
	return nil
}

// check returns what is wrong with t.
func (t *Turn) check() error {
	if t.Chunk < 0 {
		return fmt.Errorf(`field "chunk" is %d, want 0 or more`, t.Chunk)
	}
	if t.DelayMS < 0 {
		return fmt.Errorf(`field "delay_ms" is %d, want 0 or more`, t.DelayMS)
	}
	for i := range t.ToolCalls {
		if err := t.ToolCalls[i].check(); err != nil {
			return fmt.Errorf("tool_calls[%d]: %w", i, err)
		}
	}
	if f := t.Error; f != nil {
		if f.Kind != "" && !slices.Contains(llm.Kinds, f.Kind) {
			return fmt.Errorf("error kind is %q, want one of %q", f.Kind, llm.Kinds)
		}
		if f.RetryAfterMS < 0 {
			return fmt.Errorf(`field "error.retry_after_ms" is %d, want 0 or more`, f.RetryAfterMS)
		}
	}
	var ends []string
	for _, e := range []struct {
		name string
		set  bool
	}{{"finish", t.Finish != ""}, {"error", t.Error != nil}, {"cut", t.Cut}, {"hang", t.Hang}} {
		if e.set {
			ends = append(ends, e.name)
		}
	}
	if len(ends) > 1 {
		return fmt.Errorf("a turn ends in one way, but this one has %s", strings.Join(ends, " and "))
	}
	return nil
}

func (c *Call) check() error {
	switch {
	case c.Name == "":
		return errors.New(`field "name" is missing`)
	case c.Raw != nil && c.Arguments != nil:
		return errors.New(`fields "raw" and "arguments" exclude each other`)
	case c.Arguments != nil && !json.Valid(c.Arguments):
		return fmt.Errorf(`field "arguments" is %q, want JSON (or use "raw")`, c.Arguments)
	}
	return nil
}

// text is what is sent as the call's arguments.
func (c *Call) text() string {
	switch {
	case c.Raw != nil:
		return *c.Raw
	case c.Arguments == nil:
		return "{}"
	}
	return string(c.Arguments)
}

// cut returns the pieces of t, each cut into chunks of n runes at most.
func (t Text) cut(n int) Text {
	if n <= 0 {
		return t
	}
	var out Text
	for _, s := range t {
		start, runes := 0, 0
		for i := range s {
			if runes == n {
				out = append(out, s[start:i])
				start, runes = i, 0
			}
			runes++
		}
		out = append(out, s[start:])
	}
	return out
}

// strict decodes one JSON object into v, rejecting unknown fields, and says in
// plain words which field is wrong.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			if te.Field == "" {
				return fmt.Errorf("a turn is a JSON %s, want an object", te.Value)
			}
			return fmt.Errorf("field %q is a JSON %s, want %s", te.Field, te.Value, want(te.Type))
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("unexpected data after the JSON object")
	}
	return nil
}

// want names the JSON that fits a Go type.
func want(t reflect.Type) string {
	if t == reflect.TypeFor[Text]() {
		return "a string or an array of strings"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}
