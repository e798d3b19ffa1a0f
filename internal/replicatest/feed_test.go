package replicatest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

// feedReader reads the feed, from one replica after another.
type feedReader struct {
	cursor string
	seen   []string // id and data of each change
	opened int      // connections
}

// read reads until the thread last is done. It connects again whenever a stream ends.
func (r *feedReader) read(ctx context.Context, p *programs, at int, last string) error {
	for ; ctx.Err() == nil; at++ {
		req, err := http.NewRequestWithContext(ctx, "GET", p.urls[at%len(p.urls)]+"/v1/events/stream?kinds=run,dispatch", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		req.Header.Set("Last-Event-ID", r.cursor)
		resp, err := http.DefaultClient.Do(req)
		if err != nil { // it was killed
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if resp.StatusCode == http.StatusOK {
			r.opened++
		} else if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			resp.Body.Close()
			return fmt.Errorf("a replica answers %s after %q", resp.Status, r.cursor)
		}
		over := r.take(resp, last)
		resp.Body.Close()
		if over {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%w: %d changes", context.Cause(ctx), len(r.seen))
}

// take takes the frames of a stream, and reports whether the thread last is done.
func (r *feedReader) take(resp *http.Response, last string) bool {
	id, data := "", ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			data = value
		case "": // a frame is complete
			if id != "" && resp.StatusCode == http.StatusOK {
				if r.cursor = id; data != "" {
					r.seen = append(r.seen, id+" "+data)
				}
				if strings.Contains(data, `"`+last+`"`) && strings.Contains(data, `"status":"done"`) {
					return true
				}
			}
			id, data = "", ""
		}
	}
	return false
}

// kill kills a replica and starts another at its address.
func (p *programs) kill(i int) {
	p.Helper()
	p.running[i].Kill()
	p.running[i].Again()
}

// Readers of the feed that are spread over the replicas, and connect again when theirs is killed, have every change once, all in the same order,
// in which each thread's changes are in the order of its commits.
func TestPrograms_EveryReaderOfTheFeedHasTheSame(t *testing.T) {
	readers, runs := testenv.Times(60, 1000), testenv.Times(24, 200)
	p := startPrograms(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	first := &feedReader{cursor: p.feedEnd(ctx)}
	all := make([]*feedReader, readers)
	errs := make(chan error, readers+runs+1)
	var read, run sync.WaitGroup
	for i := range all {
		all[i] = &feedReader{cursor: first.cursor}
		read.Go(func() {
			if err := all[i].read(ctx, p, i, "the-last"); err != nil {
				errs <- fmt.Errorf("reader %d: %w", i, err)
			}
		})
	}
	began := time.Now()
	turns := make(chan struct{}, 16)
	for i := range runs {
		run.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if err := p.runOnce(ctx, i, fmt.Sprint("thread-", i)); err != nil {
				errs <- err
			}
		})
	}
	for i := range 3 {
		time.Sleep(time.Duration(testenv.Times(300, 3000)) * time.Millisecond)
		p.kill(i)
	}
	run.Wait()
	if err := p.runOnce(ctx, runs, "the-last"); err != nil {
		errs <- err
	}
	read.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	opened := 0
	for i, r := range all {
		if opened += r.opened; !slices.Equal(r.seen, all[0].seen) {
			t.Errorf("reader %d has %d changes, and the first has %d, or in another order", i, len(r.seen), len(all[0].seen))
		}
	}
	for i := range runs {
		var statuses []string
		for _, s := range all[0].seen {
			if strings.Contains(s, fmt.Sprintf(`"thread_id":"thread-%d"`, i)) && strings.Contains(s, `"kind":"run"`) {
				_, rest, _ := strings.Cut(s, `"status":"`)
				status, _, _ := strings.Cut(rest, `"`)
				statuses = append(statuses, status)
			}
		}
		if want := []string{"created", "running", "done"}; !slices.Equal(statuses, want) {
			t.Errorf("thread %d: %q, want %q", i, statuses, want)
		}
	}
	t.Logf("%d readers with %d connections had %d changes of %d runs within %v, while three replicas were killed", readers, opened, len(all[0].seen), runs, time.Since(began).Round(time.Millisecond))
}

// feedEnd returns the cursor at which the feed ends.
func (p *programs) feedEnd(ctx context.Context) string {
	p.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp := p.request(ctx, "GET", "/v1/events/stream", adminToken, "")
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			return id
		}
	}
	p.Fatal("the feed has no first frame")
	return ""
}

// runOnce makes a run on a thread, whatever is killed meanwhile, and waits until it was accepted.
func (p *programs) runOnce(ctx context.Context, at int, thread string) error {
	for ; ctx.Err() == nil; at++ {
		body := fmt.Sprintf(`{"agent_id":"scenario","thread_id":%q,"messages":[{"role":"user","content":"scenario:text"}]}`, thread)
		req, err := http.NewRequestWithContext(ctx, "POST", p.urls[at%len(p.urls)]+"/v1/runs", strings.NewReader(body))
		if err != nil {
			return err
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + adminToken, "Content-Type": "application/json", "Accept": "application/json", "Idempotency-Key": thread} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode < 300 {
				return nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return context.Cause(ctx)
}
