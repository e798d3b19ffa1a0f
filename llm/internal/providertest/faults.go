package providertest

import (
	"bytes"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// faultCases test failing connections.
func faultCases() []testCase { return slices.Concat(brokenCases(), silentCases()) }

// brokenCases test interrupted streams.
func brokenCases() []testCase {
	once := Part{Text: []string{"Once ", "upon"}}
	call := Part{Call: &Call{"call_1", "look", []string{`{"at":`, `"the`}}}
	thought := Part{Reasoning: []string{"Let me ", "think"}}
	// after makes the provider send something and then fail.
	after := func(name string, part Part, end func(*server, script) script, want llm.Kind, needs ...Power) testCase {
		return testCase{name, needs, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(Reply{Parts: []Part{part}, Finish: llm.EndTurn})
			s := newServer(t, end(nil, script{frames: parts}))
			o := ask(t, a.open(t, s), a.request())
			equal(t, "kind", o.kind(), want)
			equal(t, "requests", len(s.requests()), 1)
			if len(part.Text) > 0 {
				equal(t, "text", o.reply.Message.Text(), "Once upon")
			}
		}}
	}
	resets := func(_ *server, sc script) script { sc.end = reset; return sc }
	ends := func(_ *server, sc script) script { return sc }
	return []testCase{
		after("ResetInText", once, resets, llm.Interrupted),
		after("ResetInCall", call, resets, llm.Interrupted, ArgumentText),
		after("ResetInReasoning", thought, resets, llm.Interrupted, Reasoning),
		after("EndsWithoutFinish", once, ends, llm.Interrupted, FinishSays),
		after("EndsInCall", call, ends, llm.Interrupted, FinishSays, ArgumentText),
		after("EndsInReasoning", thought, ends, llm.Interrupted, FinishSays, Reasoning),
		{"EndsBeforeItBegins", []Power{FinishSays}, func(t *testing.T, a *Adapter) {
			equal(t, "kind", a.sayFrames(t, nil).kind(), llm.Interrupted)
		}},
		{"HalfAnEvent", []Power{FinishSays}, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(says("Once ", "upon"))
			n := len(parts) - 1
			parts[n] = parts[n][:len(parts[n])/2]
			equal(t, "kind", a.sayFrames(t, parts).kind(), llm.Interrupted)
		}},
		{"HalfAnEventAndAnEmptyLine", []Power{FinishSays}, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("Once ", "upon"))
			n := len(parts) - 1
			half := bytes.TrimRight(parts[n], "\n")
			parts[n] = append(bytes.Clone(half[:len(half)-7]), "\n\n"...)
			equal(t, "kind", a.sayFrames(t, append(parts, end...)).kind(), llm.Interrupted)
		}},
		{"NotJSON", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("Once"))
			parts = append(parts, []byte("data: <html>\n\n"))
			equal(t, "kind", a.sayFrames(t, append(parts, end...)).kind(), llm.Interrupted)
		}},
		{"ResetAfterTheFinish", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("Once upon"))
			s := newServer(t, script{frames: append(parts, end...), end: reset})
			equal(t, "text", ask(t, a.open(t, s), a.request()).whole(t).Message.Text(), "Once upon")
		}},
	}
}

// silentCases test servers that do not respond, and silence inside a stream.
func silentCases() []testCase {
	return []testCase{
		{"ResetBeforeAnAnswer", nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{refuse: true})
			equal(t, "kind", ask(t, a.open(t, s), a.request()).kind(), llm.Provider)
			equal(t, "requests", len(s.requests()), 1)
		}},
		{"Refused", nil, func(t *testing.T, a *Adapter) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := "http://" + l.Addr().String()
			l.Close()
			m := a.open(t, newServer(t, script{}), func(c *provider.Config) { c.BaseURL = address })
			equal(t, "kind", ask(t, m, a.request()).kind(), llm.Provider)
		}},
		{"NoAnswer", nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{silence: true})
			m := a.open(t, s, func(c *provider.Config) { c.Timeout = 50 * time.Millisecond })
			equal(t, "kind", ask(t, m, a.request()).kind(), llm.Timeout)
			<-s.gone
		}},
		{"SilenceInTheStream", nil, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(says("Once"))
			s := newServer(t, script{frames: parts, end: stall})
			m := a.open(t, s, func(c *provider.Config) { c.IdleTimeout = 50 * time.Millisecond })
			o := ask(t, m, a.request())
			equal(t, "kind", o.kind(), llm.Timeout)
			equal(t, "text", o.reply.Message.Text(), "Once")
			<-s.gone
		}},
		{"TheRequestSaysHowLongASilence", nil, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(says("Once"))
			s := newServer(t, script{frames: parts, end: stall})
			req := a.request()
			req.IdleTimeout = 50 * time.Millisecond
			equal(t, "kind", ask(t, a.open(t, s), req).kind(), llm.Timeout)
			<-s.gone
		}},
		{"ASlowReaderIsNoSilence", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("a", "b", "c"))
			s := newServer(t, script{frames: append(parts, end...)})
			m := a.open(t, s, func(c *provider.Config) { c.IdleTimeout = 40 * time.Millisecond })
			for d, err := range m.Stream(t.Context(), a.request()) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Kind == llm.TextDelta {
					time.Sleep(60 * time.Millisecond)
				}
			}
		}},
	}
}
