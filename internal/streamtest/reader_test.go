package streamtest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// reader follows a run, is cut off again and again, and comes back.
type reader struct {
	path     string
	rnd      *rand.Rand
	from     string // the position before the first frame; "" if a stream begins there by itself
	stays    bool   // its protocol cannot resume, so it is never cut off
	received string // all whole frames
	begun    chan struct{}
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

// some reads up to n bytes of a stream, or all of it. Ended reports that the stream is complete.
func (r *reader) some(ctx context.Context, id string, n int) (got string, ended bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.path, nil)
	if err != nil {
		return "", false, err
	}
	req.Header.Set("Last-Event-ID", id)
	resp, err := http.DefaultClient.Do(req)
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
	if r.begun != nil {
		close(r.begun)
		r.begun = nil
	}
	var all strings.Builder
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
	for id, n := r.from, 0; ; n++ {
		most := 1 + r.rnd.IntN(6000)
		if n > 12 || r.stays {
			most = -1
		}
		got, ended, err := r.some(ctx, id, most)
		if errors.Is(err, errRefused) && ctx.Err() == nil { // the store is away: come back
			n--
			time.Sleep(50 * time.Millisecond)
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
