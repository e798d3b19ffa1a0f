// Package a2atest has an agent and a client of a2a-go for tests, in a process of their own.
//
//	p := a2atest.Start(t)
//	c := p.Client(a2atest.At{URL: srv.URL + "/v1/a2a", Binding: a2atest.JSONRPC, Tenant: "default"})
//	task, err := c.SendMessage(ctx, a2atest.Send{Message: a2atest.Text("hello")})
package a2atest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/protocol/a2a"
)

// Bindings of A2A.
const (
	JSONRPC  = "JSONRPC"
	HTTPJSON = "HTTP+JSON"
)

// Peer is a process with an agent and with clients.
type Peer struct {
	// URL is that of the agent's server. The agent says "you said ", what the message says, and ".", in three pieces. It asks "Which one?" if the
	// message begins with "ask", and waits for Continue after the first piece if the message begins with "wait".
	URL string
}

// Start starts a peer, which ends with the test.
func Start(tb testing.TB) *Peer {
	tb.Helper()
	return &Peer{URL: testenv.Run(tb, "a2a").Address}
}

// Continue lets the agent go on where it waits, now and later.
func (p *Peer) Continue() error {
	resp, err := http.Post(p.URL+"/agent/continue", "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("continue: %s", resp.Status)
	}
	return nil
}

// At says where an agent is: at the URL of an interface, or where the card of a server says.
type At struct {
	URL     string // of the interface
	Card    string // URL of the server with the card, if URL is ""
	Binding string
	Tenant  string // of the interface
}

// Client is a client of a2a-go. Its methods return what that client has made of an answer.
type Client struct {
	peer *Peer
	at   At
}

// Client returns a client of an agent.
func (p *Peer) Client(at At) *Client { return &Client{p, at} }

// Send is the parameters of SendMessage and SendStreamingMessage.
type Send struct {
	Tenant  string      `json:"tenant,omitempty"`
	Config  *SendConfig `json:"configuration,omitempty"`
	Message a2a.Message `json:"message"`
}

// SendConfig is how a message is answered.
type SendConfig struct {
	ReturnImmediately bool `json:"returnImmediately,omitempty"`
}

// ID names a task.
type ID struct {
	Tenant string `json:"tenant,omitempty"`
	ID     string `json:"id"`
}

// List is the parameters of ListTasks.
type List struct {
	Tenant    string `json:"tenant,omitempty"`
	ContextID string `json:"contextId,omitempty"`
	PageSize  int    `json:"pageSize,omitempty"`
	PageToken string `json:"pageToken,omitempty"`
}

// Page is a page of a list.
type Page struct {
	Tasks         []*a2a.Task `json:"tasks"`
	NextPageToken string      `json:"nextPageToken"`
}

// Card is what a card says about interfaces.
type Card struct {
	Interfaces []struct {
		URL string `json:"url"`
	} `json:"supportedInterfaces"`
}

// Event is an event of a stream. One field is set.
type Event struct {
	Task           *a2a.Task       `json:"task"`
	StatusUpdate   *StatusUpdate   `json:"statusUpdate"`
	ArtifactUpdate *ArtifactUpdate `json:"artifactUpdate"`
}

// StatusUpdate is the new status of a task.
type StatusUpdate struct {
	Status a2a.Status `json:"status"`
}

// ArtifactUpdate is an artifact, or its next piece.
type ArtifactUpdate struct {
	Artifact a2a.Artifact `json:"artifact"`
	Append   bool         `json:"append"`
}

// Text returns a new message of a user.
func Text(text string) a2a.Message { return message(a2a.Part{Text: &text}) }

// Answer returns a new message of a user for a task. Data is an object in JSON.
func Answer(task *a2a.Task, data string, texts ...string) a2a.Message {
	var parts []a2a.Part
	for _, text := range texts {
		parts = append(parts, a2a.Part{Text: &text})
	}
	m := message(append(parts, a2a.Part{Data: json.RawMessage(data)})...)
	m.TaskID, m.ContextID = task.ID, task.ContextID
	return m
}

func message(parts ...a2a.Part) a2a.Message {
	return a2a.Message{MessageID: ids.New(), Role: "ROLE_USER", Parts: parts}
}

// TextOf returns the text of artifacts.
func TextOf(artifacts ...a2a.Artifact) (text string) {
	for _, a := range artifacts {
		for _, p := range a.Parts {
			if p.Text != nil {
				text += *p.Text
			}
		}
	}
	return text
}

// SendMessage sends a message and returns its task.
func (c *Client) SendMessage(ctx context.Context, p Send) (*a2a.Task, error) {
	e, err := one[Event](ctx, c, "SendMessage", p)
	if err != nil {
		return nil, err
	}
	if e.Task == nil {
		return nil, errors.New("the answer is not a task")
	}
	return e.Task, nil
}

// SendStreamingMessage sends a message and returns the events of its task.
func (c *Client) SendStreamingMessage(ctx context.Context, p Send) iter.Seq2[Event, error] {
	return call[Event](ctx, c, "SendStreamingMessage", p)
}

// SubscribeToTask returns the events of a task from now on.
func (c *Client) SubscribeToTask(ctx context.Context, p ID) iter.Seq2[Event, error] {
	return call[Event](ctx, c, "SubscribeToTask", p)
}

// GetTask returns a task.
func (c *Client) GetTask(ctx context.Context, p ID) (*a2a.Task, error) {
	return one[*a2a.Task](ctx, c, "GetTask", p)
}

// CancelTask cancels a task.
func (c *Client) CancelTask(ctx context.Context, p ID) (*a2a.Task, error) {
	return one[*a2a.Task](ctx, c, "CancelTask", p)
}

// ListTasks returns a page of tasks.
func (c *Client) ListTasks(ctx context.Context, p List) (*Page, error) {
	return one[*Page](ctx, c, "ListTasks", p)
}

// Card returns the card of the server.
func (c *Client) Card(ctx context.Context) (*Card, error) { return one[*Card](ctx, c, "Card", nil) }

// one returns the result of a call that has one.
func one[R any](ctx context.Context, c *Client, method string, params any) (r R, err error) {
	n := 0
	for result, err := range call[R](ctx, c, method, params) {
		if err != nil {
			return r, err
		}
		r = result
		n++
	}
	if n != 1 {
		return r, fmt.Errorf("%s has %d results, want 1", method, n)
	}
	return r, nil
}

// call has the peer make a call, which is cancelled when the caller stops.
func call[R any](ctx context.Context, c *Client, method string, params any) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var zero R
		resp, err := c.post(ctx, method, params)
		if err != nil {
			yield(zero, err)
			return
		}
		defer resp.Body.Close()
		for dec := json.NewDecoder(resp.Body); ; {
			var line struct {
				Result R
				Error  string
			}
			if err = dec.Decode(&line); err == nil && line.Error != "" {
				err = errors.New(line.Error)
			}
			if err == io.EOF || !yield(line.Result, err) || err != nil {
				return
			}
		}
	}
}

func (c *Client) post(ctx context.Context, method string, params any) (*http.Response, error) {
	request := map[string]any{"method": method, "params": params, "card": c.at.Card, "binding": c.at.Binding}
	if c.at.URL != "" {
		request["interface"] = map[string]string{"url": c.at.URL, "protocolBinding": c.at.Binding, "protocolVersion": "1.0", "tenant": c.at.Tenant}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.peer.URL+"/client", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}
