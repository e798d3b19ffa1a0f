package streamtest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// reader follows a run, is cut off again and again, and comes back.
type reader struct {
	path     string
	rnd      *rand.Rand
	from     string        // the position before the first frame; "" if a stream begins there by itself
	stays    bool          // its protocol cannot resume, so it is never cut off
	received string        // all whole frames
	over     chan struct{} // closed when follow returns

	mu     sync.Mutex
	cancel context.CancelFunc // ends the request
	back   chan struct{}      // closed, if set, with the next response
}

func newReader(path string) *reader {
	return &reader{path: path, over: make(chan struct{}), back: make(chan struct{})}
}

// interrupt cuts the reader off, and returns a channel that is closed when the server has answered its next request.
func (r *reader) interrupt() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel()
	r.back = make(chan struct{})
	return r.back
}

// await waits until a reader has come back, or has all.
func (r *reader) await(back <-chan struct{}) {
	select {
	case <-back:
	case <-r.over:
	}
}

// frames removes comments, which say what a stream waits for, and frames that only repeat a position.
func frames(text, id string) string {
	var out strings.Builder
	for _, f := range strings.SplitAfter(text, "\n\n") {
		if !strings.HasPrefix(f, ":") && (id == "" || f != "id: "+id+"\ndata: \n\n") {
			out.WriteString(f)
		}
	}
	return out.String()
}

var errRefused = errors.New("refused")

// request asks for the stream.
func (r *reader) request(ctx context.Context, id string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Last-Event-ID", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.back != nil && ctx.Err() == nil {
		close(r.back)
		r.back = nil
	}
	return resp, nil
}

// some reads up to n bytes of a stream, or all of it, unless the reader is interrupted. Ended reports that the stream is
// complete.
func (r *reader) some(whole context.Context, id string, n int) (got string, ended bool, err error) {
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	r.mu.Lock()
	r.cancel = cancel
	r.mu.Unlock()
	var all strings.Builder
	defer func() {
		if errors.Is(err, context.Canceled) && whole.Err() == nil {
			got, err = all.String(), nil
		}
	}()
	resp, err := r.request(ctx, id)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable {
		return "", false, errRefused
	}
	if resp.StatusCode != http.StatusOK {
		got, _ := io.ReadAll(resp.Body)
		return string(got), false, errors.New(resp.Status)
	}
	buf := make([]byte, 512)
	for n < 0 || all.Len() < n {
		k, err := resp.Body.Read(buf)
		all.Write(buf[:k])
		if errors.Is(err, io.EOF) {
			return all.String(), true, nil
		}
		if err != nil {
			return all.String(), false, err
		}
	}
	return all.String(), false, nil
}

// follow follows the run until its stream is complete. A stream that breaks off by itself is an error.
func (r *reader) follow(ctx context.Context) error {
	defer close(r.over)
	for id, n := r.from, 0; ; n++ {
		most := 1 + r.rnd.IntN(6000)
		if n > 12 || r.stays {
			most = -1
		}
		got, ended, err := r.some(ctx, id, most)
		if errors.Is(err, errRefused) && ctx.Err() == nil { // the store is away: come back, sooner than Retry-After asks
			n--
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		if err != nil {
			r.received += frames(got, id)
			return err
		}
		if ended {
			r.received += frames(got, id)
			return nil
		}
		whole, last := protocoltest.Whole(got)
		if last == "" {
			continue
		}
		r.received += frames(whole, id)
		id = last
	}
}
