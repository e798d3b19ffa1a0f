// Package tracecontext carries the trace context of the W3C through contexts and headers, as text. What passes it on
// (a provider's client, a queue, a protocol) therefore needs no library for traces: only what makes spans has one.
//
//	ctx = tracecontext.With(ctx, tracecontext.FromHeader(r.Header.Values)) // a request arrives
//	tracecontext.Of(ctx).Inject(out.Header.Set)                             // another is made because of it
package tracecontext

import (
	"context"
	"strings"
)

// Context is a position in a trace. The zero Context is none.
type Context struct {
	Parent string // the header traceparent: 00-<trace id>-<span id>-<flags>
	State  string // the header tracestate, or ""
}

const (
	parentLength = 55
	maxState     = 512
	hexDigits    = "0123456789abcdef"
	// newMember is the member of a state that [Context.New] adds.
	newMember = "awaken=new"
)

// Parse returns the position that two headers name. It is the zero Context unless parent is valid; a state that is too long is left out.
func Parse(parent, state string) Context {
	if !valid(parent) {
		return Context{}
	}
	if len(state) > maxState || strings.ContainsAny(state, "\r\n\x00") {
		state = ""
	}
	return Context{Parent: parent, State: state}
}

// ParseText returns the position that a text of [Context.String] names, or the zero Context.
func ParseText(text string) Context {
	parent, state, _ := strings.Cut(text, " ")
	return Parse(parent, state)
}

// String returns the parent and, after a space, the state, if there is one.
func (c Context) String() string {
	if c.State == "" {
		return c.Parent
	}
	return c.Parent + " " + c.State
}

// valid reports whether a text is a traceparent of a version that has the four fields.
func valid(s string) bool {
	if len(s) < parentLength || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" {
		return false
	}
	if len(s) > parentLength && (s[:2] == "00" || s[parentLength] != '-' || len(s) > 2*parentLength) {
		return false
	}
	for _, field := range []string{s[:2], s[3:35], s[36:52], s[53:55]} {
		if strings.Trim(field, hexDigits) != "" {
			return false
		}
	}
	return strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}

// FromHeader returns the position that a request names, or the zero Context. Values returns the values of a header.
func FromHeader(values func(key string) []string) Context {
	parents := values("Traceparent")
	if len(parents) != 1 {
		return Context{}
	}
	return Parse(parents[0], strings.Join(values("Tracestate"), ","))
}

// New returns the position with a mark: the trace begins here, and not with a client. Whether a run is recorded in it is then up to the run's agent.
func (c Context) New() Context {
	if c.State == "" {
		return Context{c.Parent, newMember}
	}
	return Context{c.Parent, newMember + "," + c.State}
}

// Begun returns the position without that mark, and whether it had it.
func (c Context) Begun() (unmarked Context, marked bool) {
	if !strings.HasPrefix(c.State, newMember) {
		return c, false
	}
	return Context{c.Parent, strings.TrimPrefix(c.State[len(newMember):], ",")}, true
}

// Unsampled returns the position in the same trace for what is not recorded.
func (c Context) Unsampled() Context {
	if !c.Sampled() {
		return c
	}
	return Context{c.Parent[:parentLength-2] + "00" + c.Parent[parentLength:], c.State}
}

// Inject sets the headers of a request. Without a position it sets none. The mark of a new trace is not for others.
func (c Context) Inject(set func(key, value string)) {
	if c.Parent == "" {
		return
	}
	c, _ = c.Begun()
	set("Traceparent", c.Parent)
	if c.State != "" {
		set("Tracestate", c.State)
	}
}

// TraceID returns the id of the trace, or "".
func (c Context) TraceID() string {
	if c.Parent == "" {
		return ""
	}
	return c.Parent[3:35]
}

// Sampled reports whether the trace is recorded by what named the position.
func (c Context) Sampled() bool {
	return c.Parent != "" && strings.IndexByte(hexDigits, c.Parent[54])&1 == 1
}

// Key is the key of the position of a context. A context of another package may answer it with a [Positioned].
type Key struct{}

// With returns a context at that position. Without a position it returns ctx.
func With(ctx context.Context, c Context) context.Context {
	if c.Parent == "" {
		return ctx
	}
	return context.WithValue(ctx, Key{}, c)
}

type continuedKey struct{}

type continued struct{ began, cause Context }

// Continue returns a context at the position where something began that continues now, because of what has the position of ctx.
func Continue(ctx context.Context, began Context) context.Context {
	if began.Parent == "" {
		return ctx
	}
	return With(context.WithValue(ctx, continuedKey{}, continued{began, Of(ctx)}), began)
}

// Cause returns the position of what let ctx continue, and whether ctx is one of [Continue]. What begins below it does not continue.
func Cause(ctx context.Context) (c Context, ok bool) {
	v, ok := ctx.Value(continuedKey{}).(continued)
	if !ok || v.began != Of(ctx) {
		return Context{}, false
	}
	return v.cause, true
}

// Positioned has a position that is expensive to write as text.
type Positioned interface {
	Position() Context
	Sampled() bool // what [Context.Sampled] is of the position
}

// WithPositioned returns a context at the position of p, which is asked for it each time that [Of] is.
func WithPositioned(ctx context.Context, p Positioned) context.Context {
	return context.WithValue(ctx, Key{}, p)
}

// Server is a [Positioned] that makes spans of messages within a request.
type Server interface {
	Positioned
	// Serve begins the span of a message; see [Serve].
	Serve(ctx context.Context, from Context, method string) (at Context, end func(m Message))
}

// Message is what is known about a message within a request when it was answered.
type Message struct {
	ID      string // of the client
	Version string // of the protocol
	Tool    string // that it calls, or ""
	Prompt  string // that it gets, or ""
	Failed  string // the kind of the error, or ""
}

// Serve begins the span of a message within the request of ctx, and returns its position. From is the position that the message itself names, if any: the span is below that, and
// links to the request. Without one it is below the request. If the request has no span, the message has none.
func Serve(ctx context.Context, from Context, method string) (at Context, end func(m Message)) {
	if s, ok := ctx.Value(Key{}).(Server); ok {
		return s.Serve(ctx, from, method)
	}
	if from.Parent == "" {
		from = Of(ctx)
	}
	return from, func(Message) {}
}

// Of returns the position of ctx, or the zero Context.
func Of(ctx context.Context) Context {
	switch at := ctx.Value(Key{}).(type) {
	case Context:
		return at
	case Positioned:
		return at.Position()
	}
	return Context{}
}

// Sampled reports whether the trace of ctx is recorded, without writing its position.
func Sampled(ctx context.Context) bool {
	at, ok := ctx.Value(Key{}).(interface{ Sampled() bool })
	return ok && at.Sampled()
}
