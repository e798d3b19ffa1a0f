package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/protocol"
)

// Bridge connects a client on standard input and output with a server: each line is a message, and each message a request to
// the server. It keeps nothing of its own but the session, so a call survives a server that is restarted.
type Bridge struct {
	Client *http.Client
	URL    string      // of the server's MCP route
	Header http.Header // of every request
	// MaxLine is the maximum length of a line in bytes. 0 means 16 MiB.
	MaxLine int
	// Drain is how long calls may take to end once the input has ended.
	Drain time.Duration

	out     io.Writer
	mu      sync.Mutex // guards what follows, and out
	session string
	open    map[string]*sent // requests without a response, by id
}

// sent is a request that has no response yet.
type sent struct {
	cancel context.CancelFunc
	began  chan struct{} // is closed when the server has taken the request
	once   sync.Once
	modern bool
}

func (s *sent) begin() { s.once.Do(func() { close(s.began) }) }

// errLine is the error of a line that is too long.
var errLine = errors.New("the line is too long")

// Serve passes messages on until the input ends or ctx is done.
func (b *Bridge) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.out, b.open = out, map[string]*sent{}
	limit := b.MaxLine
	if limit == 0 {
		limit = 16 << 20
	}
	type line struct {
		text []byte
		err  error
	}
	lines := make(chan line)
	go func() {
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			text, err := readLine(r, limit)
			select {
			case lines <- line{text, err}:
			case <-ctx.Done():
				return
			}
			if err != nil && !errors.Is(err, errLine) {
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for {
		select {
		case <-ctx.Done():
			wg.Wait()
			return nil
		case l := <-lines:
			switch {
			case errors.Is(l.err, errLine):
				b.write(failed(nil, failure(http.StatusRequestEntityTooLarge, invalidRequest, "a message is longer than %d bytes", limit)))
				continue
			case len(bytes.TrimSpace(l.text)) > 0:
				b.take(ctx, &wg, bytes.TrimSpace(l.text))
			}
			if l.err == nil {
				continue
			}
			late := time.AfterFunc(b.Drain, cancel)
			wg.Wait()
			late.Stop()
			if errors.Is(l.err, io.EOF) {
				return nil
			}
			return l.err
		}
	}
}

// readLine returns the next line. A line that is too long is skipped.
func readLine(r *bufio.Reader, limit int) (out []byte, err error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(out)+len(part) > limit; !long {
			out = append(out, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, errors.Join(errLine, err)
		}
		return out, err
	}
}

// write writes a message.
func (b *Bridge) write(v any) {
	data, err := json.Marshal(v)
	if err == nil {
		b.writeLine(data)
	}
}

func (b *Bridge) writeLine(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.out.Write(append(bytes.TrimSpace(data), '\n')) // the client is gone if it fails, and so will be its input
}

// take passes a message on. Requests are concurrent, but initialize comes before what follows it.
func (b *Bridge) take(ctx context.Context, wg *sync.WaitGroup, line []byte) {
	var m message
	if err := m.UnmarshalJSON(line); err != nil {
		b.write(failed(nil, failure(http.StatusBadRequest, parseError, "invalid JSON: %v", err)))
		return
	}
	id, err := m.check()
	if f, ok := errors.AsType[*protocol.Failure](err); ok {
		b.write(failed(id, f))
		return
	}
	var p withMeta
	_ = m.params(&p) // the server says what is wrong
	modern := p.Meta != nil && p.Meta.Version != nil
	if m.Method == "notifications/cancelled" && b.cancel(ctx, &m) {
		return
	}
	requestCtx, cancel := context.WithCancel(ctx)
	s := &sent{cancel: cancel, began: make(chan struct{}), modern: modern}
	if id != nil && m.Method != "" {
		b.mu.Lock()
		b.open[string(id)] = s
		b.mu.Unlock()
	}
	send := func() {
		defer cancel()
		b.send(requestCtx, &m, id, line, s)
		s.begin()
		b.mu.Lock()
		if b.open[string(id)] == s {
			delete(b.open, string(id))
		}
		b.mu.Unlock()
	}
	if m.Method == "initialize" || id == nil {
		send()
		return
	}
	wg.Go(send)
}

// cancelWait is how long a cancellation waits for the server to take the request.
const cancelWait = 5 * time.Second

// cancel cancels a request. It reports whether nothing is to be sent: in the newer era, a stream that is closed cancels.
func (b *Bridge) cancel(ctx context.Context, m *message) (done bool) {
	var in cancelParams
	if m.params(&in) != nil {
		return false
	}
	b.mu.Lock()
	s := b.open[string(bytes.TrimSpace(in.RequestID))]
	b.mu.Unlock()
	if s == nil {
		return false
	}
	if s.modern {
		s.cancel()
		return true
	}
	select {
	case <-s.began:
	case <-time.After(cancelWait):
	case <-ctx.Done():
	}
	return false
}

// request makes a request to the server, with the headers that repeat parts of the message.
func (b *Bridge) request(ctx context.Context, method string, body []byte, m *message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range b.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	var p withMeta
	if m.params(&p) == nil && p.Meta != nil && p.Meta.Version != nil {
		req.Header.Set("MCP-Protocol-Version", *p.Meta.Version)
		req.Header.Set("Mcp-Method", m.Method)
		if _, name := repeated(m); name != nil {
			req.Header.Set("Mcp-Name", encodeHeader(*name))
		}
		return req, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != "" && m.Method != "initialize" {
		req.Header.Set("Mcp-Session-Id", b.session)
	}
	return req, nil
}

// Attempts to resume a stream that broke off, and the pause between them.
const (
	resumeAttempts = 60
	resumePause    = 500 * time.Millisecond
)

// send sends a message and writes what the server answers. A stream of the older era that breaks off is resumed.
func (b *Bridge) send(ctx context.Context, m *message, id json.RawMessage, line []byte, s *sent) {
	last, over := "", false
	method, body := http.MethodPost, line
	var err error
	for attempt := 0; attempt < resumeAttempts && ctx.Err() == nil; attempt++ {
		var req *http.Request
		if req, err = b.request(ctx, method, body, m); err != nil {
			break
		}
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		var resp *http.Response
		if resp, err = b.Client.Do(req); err == nil {
			s.begin()
			before := last
			last, over, err = b.receive(resp, id, last)
			if last != before {
				attempt = 0
			}
		}
		if over || last == "" {
			break
		}
		method, body = http.MethodGet, nil
		select {
		case <-time.After(resumePause):
		case <-ctx.Done():
		}
	}
	if !over && id != nil && m.Method != "" && ctx.Err() == nil {
		b.write(failed(id, failure(http.StatusBadGateway, "unreachable", "the connection to the server was lost: %v", err)))
	}
}

// receive writes the messages of a response. It returns the id of the last frame, and whether the request has its response.
func (b *Bridge) receive(resp *http.Response, id json.RawMessage, last string) (string, bool, error) {
	defer resp.Body.Close()
	if token := resp.Header.Get("Mcp-Session-Id"); token != "" {
		b.mu.Lock()
		b.session = token
		b.mu.Unlock()
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return b.frames(resp.Body, last)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil || resp.StatusCode == http.StatusAccepted || id == nil {
		return last, err == nil, err
	}
	var r struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	switch err := json.Unmarshal(body, &r); {
	case err != nil || len(r.Result) == 0 && len(r.Error) == 0:
		b.write(failed(id, failure(resp.StatusCode, "unreachable", "the server answers with %s: %.200s", resp.Status, body)))
	case string(r.ID) == "null":
		b.write(map[string]any{"jsonrpc": "2.0", "id": id, "error": r.Error})
	default:
		b.write(json.RawMessage(body)) // on one line
	}
	return last, true, nil
}

// frames writes the messages of a stream.
func (b *Bridge) frames(in io.Reader, last string) (string, bool, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	id := last
	for {
		text, err := r.ReadString('\n')
		if err != nil {
			return last, false, fmt.Errorf("the stream broke off: %w", err)
		}
		text = strings.TrimRight(text, "\r\n")
		if v, ok := strings.CutPrefix(text, "id: "); ok {
			id = v
		}
		data, ok := strings.CutPrefix(text, "data:")
		if !ok {
			continue
		}
		last = id
		if data = strings.TrimSpace(data); data == "" {
			continue
		}
		b.writeLine([]byte(data))
		var m message
		if m.UnmarshalJSON([]byte(data)) == nil && m.Method == "" {
			return last, true, nil
		}
	}
}
