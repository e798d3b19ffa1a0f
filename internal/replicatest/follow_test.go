package replicatest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// transcript is what a client has seen of a thread, after the resets.
type transcript struct {
	seqs   []uint64
	deltas []string
	resets int
	opened int // connections
	done   bool
	heard  time.Time // when the last event arrived
}

func (tr *transcript) text() string { return strings.Join(tr.deltas, "") }

// take adds an event.
func (tr *transcript) take(id, data string) error {
	var canonical struct {
		Kind    string          `json:"event_kind"`
		Payload json.RawMessage `json:"payload"`
	}
	var e struct {
		Delta  string `json:"delta"`
		Cursor string `json:"cursor"`
	}
	if err := json.Unmarshal([]byte(data), &canonical); err != nil {
		return err
	}
	if err := json.Unmarshal(canonical.Payload, &e); err != nil {
		return err
	}
	switch canonical.Kind {
	case "TextDeltaObserved":
		return tr.apply(id, event{Type: "text_delta", Delta: e.Delta})
	case "StreamReset":
		return tr.apply(id, event{Type: "stream_reset", Cursor: e.Cursor})
	case "RunFinished", "RunErrored", "RunCancelled", "RunTerminated":
		return tr.apply(id, event{Type: "run_finish"})
	}
	return nil
}

// apply adds an event of a raw stream.
func (tr *transcript) apply(id string, e event) error {
	switch e.Type {
	case "text_delta":
		at, err := awaken.ParseCursor(id)
		if err != nil {
			return err
		}
		if n := len(tr.seqs); n > 0 && at.Seq <= tr.seqs[n-1] {
			return fmt.Errorf("%s arrived after number %d", id, tr.seqs[n-1])
		}
		tr.seqs, tr.deltas = append(tr.seqs, at.Seq), append(tr.deltas, e.Delta)
	case "stream_reset":
		to, err := awaken.ParseCursor(e.Cursor)
		if err != nil {
			return err
		}
		tr.resets++
		n := len(tr.seqs)
		for n > 0 && tr.seqs[n-1] > to.Seq {
			n--
		}
		tr.seqs, tr.deltas = tr.seqs[:n], tr.deltas[:n]
	case "run_finish":
		tr.done = true
	}
	return nil
}

// follow reads a thread until its run has finished. When a connection ends it asks the next replica for
// what follows, as a client behind a load balancer does.
func (f *fleet) follow(ctx context.Context, replica int, thread string) *transcript {
	tr, cursor := &transcript{}, "0-0"
	for !tr.done && ctx.Err() == nil {
		tr.opened++
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.urls[replica%len(f.urls)]+"/v1/threads/"+thread+"/events/stream?cursor="+cursor, nil)
		if err != nil {
			f.Error(err)
			return tr
		}
		replica++
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		in, id := bufio.NewReader(resp.Body), ""
		for !tr.done && resp.StatusCode == http.StatusOK {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			if v, ok := strings.CutPrefix(line, "id: "); ok {
				id = strings.TrimSpace(v)
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				if err := tr.take(id, v); err != nil {
					f.Errorf("%s: %v", thread, err)
					resp.Body.Close()
					return tr
				}
				cursor, tr.heard = id, time.Now()
			}
		}
		resp.Body.Close()
		if !tr.done {
			time.Sleep(20 * time.Millisecond)
		}
	}
	return tr
}
