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

// Turn is the reply of a model to one request: reasoning, text, tool calls and usage, in this
// order, and at the end a finish, an error, a cut or a hang. The zero Turn is an empty reply.
type Turn struct {
	// Expect is checked before the first delta.
	Expect *Expect `json:"expect,omitempty"`

	Reasoning Text        `json:"reasoning,omitempty"`
	Opaque    *llm.Opaque `json:"opaque,omitempty"` // sent after the reasoning
	Text      Text        `json:"text,omitempty"`
	ToolCalls []Call      `json:"tool_calls,omitempty"`
	Usage     *llm.Usage  `json:"usage,omitempty"`

	// Chunk splits reasoning, text and arguments into chunks of at most this many runes.
	// With 0 each piece is one chunk.
	Chunk int `json:"chunk,omitempty"`
	// DelayMS is the delay before each chunk, in milliseconds.
	DelayMS int `json:"delay_ms,omitempty"`

	// Finish is the finish reason. The default is ToolUse with calls and EndTurn without.
	Finish llm.FinishReason `json:"finish,omitempty"`
	// Error ends the turn instead of a finish.
	Error *Failure `json:"error,omitempty"`
	// Cut ends the turn without a finish or an error, like a connection that closes early.
	Cut bool `json:"cut,omitempty"`
	// Hang makes the turn wait at its end until the caller cancels.
	Hang bool `json:"hang,omitempty"`
}

// Text is a text in pieces. In JSON it is a string, or an array of strings.
type Text []string

// Call is a tool call of a turn.
type Call struct {
	// ID is the id of the call. The default is made of the tool's name and a number, and is
	// unique in the conversation.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Arguments is any JSON value; the default is {}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Raw is sent instead of Arguments, byte for byte. It does not have to be JSON.
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

// Use returns a turn that calls one tool. Arguments that are not JSON are sent unchanged.
func Use(name, arguments string) Turn {
	c := Call{Name: name, Arguments: json.RawMessage(arguments)}
	if !json.Valid(c.Arguments) {
		c.Arguments, c.Raw = nil, &arguments
	}
	return Turn{ToolCalls: []Call{c}}
}

// ParseScript reads turns, one JSON object per line. It skips blank lines and lines that start
// with #. Errors name the line.
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

// UnmarshalJSON reads a turn. It rejects unknown fields and fields that contradict each other.
func (t *Turn) UnmarshalJSON(data []byte) error {
	type plain Turn
	var p plain
	if err := strict(data, &p); err != nil {
		return err
	}
	*t = Turn(p)
	return t.check()
}

// UnmarshalJSON reads a string or an array of strings. An empty string means no text.
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

// check returns an error if t is not valid.
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
		return fmt.Errorf("a turn has only one of finish, error, cut and hang, but this one has %s", strings.Join(ends, " and "))
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

// text returns the arguments to send.
func (c *Call) text() string {
	switch {
	case c.Raw != nil:
		return *c.Raw
	case c.Arguments == nil:
		return "{}"
	}
	return string(c.Arguments)
}

// cut returns the pieces of t, each split into chunks of at most n runes.
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

// strict decodes one JSON object into v and rejects unknown fields. Errors name the field in
// plain words.
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

// want returns the name of the JSON type for a Go type.
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
