package providertest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

const key = "secret-key"

// testCase tests one promise.
type testCase struct {
	name  string
	needs []Power
	run   func(t *testing.T, a *Adapter)
}

// Test runs all cases.
func Test(t *testing.T, a Adapter) {
	ran := 0
	if _, lists := a.Speaker.(ModelSpeaker); !lists {
		a.Cannot = append(slices.Clip(a.Cannot), listing)
	}
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"Stream", streamCases()},
		{"Calls", callCases()},
		{"Errors", errorCases()},
		{"Faults", faultCases()},
		{"Cancel", cancelCases()},
		{"Bounds", boundsCases()},
		{"Requests", requestCases()},
		{"Models", modelCases()},
		{"Cassettes", cassetteCases()},
		{"Histories", historyCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				if slices.ContainsFunc(c.needs, func(p Power) bool { return slices.Contains(a.Cannot, p) }) {
					continue
				}
				ran++
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					own := a
					c.run(t, &own)
				})
			}
		})
	}
	t.Logf("%d cases", ran)
}

// open returns a model that calls the server.
func (a *Adapter) open(t testing.TB, s *server, more ...func(*provider.Config)) llm.Model {
	c := provider.Config{APIKey: key, BaseURL: s.URL, IdleTimeout: 10 * time.Second, Timeout: 10 * time.Second, HTTPClient: &http.Client{Transport: &http.Transport{}}}
	for _, f := range more {
		f(&c)
	}
	t.Cleanup(func() { c.HTTPClient.CloseIdleConnections() })
	return a.Open(t, c)
}

// request returns a small request.
func (a *Adapter) request() *llm.Request {
	return &llm.Request{Model: a.Model, System: []llm.Block{llm.Text("Be brief.")}, Messages: llm.NewMessages(llm.UserText("Hello"))}
}

// outcome is the result of a stream.
type outcome struct {
	reply  *llm.Reply
	deltas []llm.Delta
	err    error
}

func (o *outcome) kind() llm.Kind { return llm.KindOf(o.err) }

// ask reads a stream and checks that it ends with one finish or one error.
func ask(t testing.TB, m llm.Model, req *llm.Request) *outcome {
	t.Helper()
	return askCtx(t, t.Context(), m, req)
}

func askCtx(t testing.TB, ctx context.Context, m llm.Model, req *llm.Request) *outcome {
	t.Helper()
	var c llm.Collector
	o := &outcome{}
	over := false
	for d, err := range m.Stream(ctx, req) {
		if over {
			t.Errorf("after the end there is %+v, %v", d, err)
		}
		if err != nil {
			o.err, over = err, true
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Errorf("the error is a %T, want an *llm.Error: %v", err, err)
			}
			continue
		}
		over = d.Kind == llm.FinishDelta
		o.deltas = append(o.deltas, d)
		c.Add(d)
	}
	if !over {
		t.Error("the stream ended with neither a finish nor an error")
	}
	o.reply = c.Reply()
	return o
}

// say makes the provider send a reply and returns what the adapter yields.
func (a *Adapter) say(t testing.TB, r Reply) *outcome {
	t.Helper()
	parts, end := a.Speak(r)
	return a.sayFrames(t, slices.Concat(parts, end))
}

func (a *Adapter) sayFrames(t testing.TB, frames [][]byte) *outcome {
	t.Helper()
	o := ask(t, a.open(t, newServer(t, script{frames: frames})), a.request())
	return o
}

// whole fails the test if the outcome is an error.
func (o *outcome) whole(t testing.TB) *llm.Reply {
	t.Helper()
	if o.err != nil {
		t.Fatalf("the stream failed: %v", o.err)
	}
	return o.reply
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func text(pieces ...string) Part { return Part{Text: pieces} }

func says(pieces ...string) Reply { return Reply{Parts: []Part{text(pieces...)}, Finish: llm.EndTurn} }

func calls(c ...Call) Reply {
	r := Reply{Finish: llm.ToolUse}
	for i := range c {
		r.Parts = append(r.Parts, Part{Call: &c[i]})
	}
	return r
}
