package aisdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// rig talks to servers as a page does.
type rig struct{ *protocoltest.Rig }

func newRig(tb testing.TB) *rig { return newRigWith(tb, nil) }

// newRigWith returns a rig whose slow agent continues when a channel is closed.
func newRigWith(tb testing.TB, slow <-chan struct{}) *rig {
	tb.Helper()
	g := protocoltest.Idle(tb, aisdk.Routes())
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	return &rig{g}
}

// post sends a request to the chat, and returns the response.
func (g *rig) post(url, body string) (int, string) {
	g.TB.Helper()
	return g.Ask(http.MethodPost, url+"/v1/ai-sdk/chat", body)
}

// say sends a user message to a chat, and returns the chunks of the answer.
func (g *rig) say(thread, text string) []chunk {
	g.TB.Helper()
	status, body := g.post(g.URL, fmt.Sprintf(`{"id":%q,"messages":[{"role":"user","parts":[{"type":"text","text":%q}]}]}`, thread, text))
	if status != 200 {
		g.TB.Fatalf("%d: %s", status, body)
	}
	return chunksOf(g.TB, body)
}

// get returns the response of a path.
func (g *rig) get(url, path, lastEventID string) (int, string) {
	g.TB.Helper()
	return g.Ask(http.MethodGet, url+path, "", "Last-Event-ID", lastEventID)
}

// chunk is a chunk of a stream.
type chunk map[string]any

func (c chunk) kind() string { return c["type"].(string) }

// chunksOf reads a stream, which must end with [DONE].
func chunksOf(tb testing.TB, body string) (out []chunk) {
	tb.Helper()
	done := false
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		if done {
			tb.Fatalf("something comes after [DONE]: %s", data)
		}
		if done = data == "[DONE]"; done {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			tb.Fatalf("%v: %s", err, data)
		}
		out = append(out, c)
	}
	if !done {
		tb.Fatalf("the stream does not end with [DONE]: %s", body)
	}
	return out
}

func kinds(list []chunk) (out []string) {
	for _, c := range list {
		out = append(out, c.kind())
	}
	return out
}

func find(list []chunk, kind string) chunk {
	for _, c := range list {
		if c.kind() == kind {
			return c
		}
	}
	return nil
}

// messageIDs returns the ids that a stream gives its message.
func messageIDs(list []chunk) (out []string) {
	for _, c := range list {
		if id, ok := c["messageId"].(string); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// history returns the messages of a chat.
func (g *rig) history(url, thread string) (out struct {
	Messages []struct {
		ID, Role string
		Parts    []chunk
		Metadata map[string]any
	}
	Total       int
	ActiveRunID string
}) {
	g.TB.Helper()
	status, body := g.get(url, "/v1/ai-sdk/threads/"+thread+"/messages", "")
	if status != 200 {
		g.TB.Fatalf("%d: %s", status, body)
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&out); err != nil {
		g.TB.Fatal(err)
	}
	return out
}
