//go:build unix

package doubttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/threadfile"
	"github.com/awaken-go/awaken/internal/rigtest"
)

// way is a way out of a doubt.
type way struct {
	name    string
	calls   string         // what the model calls; the first one is killed
	outcome awaken.Outcome // of the call in the end
	takes   func(ctx context.Context, e *example) error
}

// ways are those that people and clients can take. Most of them end with a message, so that the model is asked once more.
var ways = []way{
	{"the model reads it", "charge", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error { return e.again(ctx) }},
	{"refused", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error { return e.answered(ctx, false) }},
	{"cancelled", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		k, err := e.asked(ctx, e.thread)
		if err != nil {
			return err
		}
		if err := e.heard(e.talks.cancel(ctx, e.thread, k.Run)); err != nil {
			return err
		}
		return e.again(ctx)
	}},
	{"a new message", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if _, err := e.asked(ctx, e.thread); err != nil {
			return err
		}
		talks := e.talks
		if e.proto.joins { // another client does not
			talks = e.native()
		}
		text, err := talks.say(ctx, e.thread, e.name+"-2", e.tag())
		if strings.Contains(text, "interrupt_pending") { // AG-UI wants an answer first
			e.said = append(e.said, text)
			text, err = e.native().say(ctx, e.thread, e.name+"-2", e.tag())
		}
		return e.heard(text, err)
	}},
	{"expired", "hold", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if err := e.answered(ctx, true); err != nil {
			return err
		}
		return e.again(ctx)
	}},
	{"handed over", "pay+handoff_to_other", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		return e.answered(ctx, false)
	}},
	{"forked", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if _, err := e.asked(ctx, e.thread); err != nil {
			return err
		}
		var fork struct {
			ID string `json:"id"`
		}
		text, err := e.post(ctx, "/v1/threads/"+e.thread+"/fork", object{"seq": 2})
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &fork); err != nil {
			return err
		}
		e.copies = append(e.copies, fork.ID)
		return e.heard(e.talks.say(ctx, fork.ID, e.name+"-2", e.tag()))
	}},
	{"exported", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if _, err := e.asked(ctx, e.thread); err != nil {
			return err
		}
		var file bytes.Buffer
		if err := threadfile.Export(ctx, e.store, e.thread, &file); err != nil {
			return err
		}
		th, err := threadfile.Import(ctx, e.store, &file, e.thread+"-imported")
		if err != nil {
			return err
		}
		e.copies = append(e.copies, th.ID)
		return e.heard(e.talks.say(ctx, th.ID, e.name+"-2", e.tag()))
	}},
	{"settled as made", "pay", awaken.OutcomeMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "waiting", object{"outcome": "made"})
	}},
	{"settled as made, with a result", "pay", awaken.OutcomeMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "waiting", object{"outcome": "made", "payload": object{"receipt": "r-17"}})
	}},
	{"settled as not made", "pay", awaken.OutcomeNotMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "waiting", object{"outcome": "not_made"})
	}},
	{"settled late as made", "charge", awaken.OutcomeMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "done", object{"outcome": "made"})
	}},
	{"settled late as not made", "charge", awaken.OutcomeNotMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "done", object{"outcome": "not_made"})
	}},
}

// example is a call in doubt, on a thread of its own.
type example struct {
	*lane
	proto  *protocol
	talks  talker
	way    *way
	name   string   // of the example
	thread string   // its thread, which is its name unless the server chooses
	copies []string // of the thread
	said   []string // what the client of the protocol has heard
	read   int      // texts that were read
}

// tag begins the messages of the example.
func (e *example) tag() string { return "#" + e.name }

// native returns a client of the native routes.
func (e *example) native() talker { return native.talk(e.client, "", "") }

// heard takes an answer of the server.
func (e *example) heard(text string, err error) error {
	if no, ok := errors.AsType[*refusal](err); ok {
		text = no.text
	}
	e.said = append(e.said, text)
	return err
}

// again says something once the run is over.
func (e *example) again(ctx context.Context) error {
	if _, err := e.latest(ctx, e.thread, "done"); err != nil {
		return err
	}
	return e.heard(e.talks.say(ctx, e.thread, e.name+"-2", e.tag()))
}

// answered decides whether to make the call again.
func (e *example) answered(ctx context.Context, yes bool) error {
	k, err := e.asked(ctx, e.thread)
	if err != nil {
		return err
	}
	return e.heard(e.talks.answer(ctx, k, yes))
}

// settled settles the call once its run has a status.
func (e *example) settled(ctx context.Context, status string, body object) error {
	r, err := e.latest(ctx, e.thread, status)
	if err != nil {
		return err
	}
	if err := e.judge(ctx, awaken.OutcomeInDoubt); err != nil {
		return fmt.Errorf("before it is settled: %w", err)
	}
	body["tool_call_id"] = "call-0-0"
	if err := e.heard(e.post(ctx, "/v1/runs/"+r.ID+"/decision", body)); err != nil {
		return err
	}
	return e.again(ctx)
}

// shown returns what the model was shown in the requests of the example.
func (e *example) shown() ([]string, error) {
	all, err := rigtest.Lines(e.job.requests())
	return slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, `"user: `+e.tag()+" ") }), err
}

// told waits until the latest run is over, and the model was asked again and shown a text.
func (e *example) told(ctx context.Context, want *regexp.Regexp) error {
	thread := e.thread
	if n := len(e.copies); n > 0 {
		thread = e.copies[n-1]
	}
	for {
		shown, err := e.shown()
		if err != nil {
			return err
		}
		if n := len(shown); n > 1 && want.MatchString(shown[n-1]) {
			_, err := e.latest(ctx, thread, "done")
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			runs, runsErr := e.get(late, "/v1/runs?thread_id="+thread, nil)
			queued, queuedErr := e.get(late, "/v1/queue", nil)
			return fmt.Errorf("the model is shown %q, want %s; the runs are %s %v, the queue is %s %v, and the client has heard %q", shown, want,
				runs, runsErr, queued, queuedErr, e.said)
		}
	}
}

func (e *example) String() string { return e.way.name + ", " + e.proto.name + ", " + e.name }

// begin sends the message whose call is cut off.
func (e *example) begin(ctx context.Context) error {
	return e.heard(e.talks.say(ctx, e.thread, e.name+"-1", e.tag()+" "+e.way.calls))
}

// check takes the way out, and reads every text.
func (e *example) check(ctx context.Context) (read int, err error) {
	if c, ok := e.talks.(chooser); ok {
		if e.thread, err = c.thread(ctx); err != nil {
			return 0, err
		}
	}
	if err := e.way.takes(ctx, e); err != nil {
		return e.read, err
	}
	if err := e.told(ctx, known[e.way.outcome].told); err != nil {
		return e.read, err
	}
	if err := e.judge(ctx, e.way.outcome); err != nil {
		return e.read, err
	}
	runs, err := e.runs(ctx, e.thread)
	if err != nil || len(runs) == 0 {
		return e.read, fmt.Errorf("no runs: %w", err)
	}
	return e.read, e.ledger(ctx, runs[len(runs)-1].ID, e.way.outcome)
}

// judge reads everything that is said about the call.
func (e *example) judge(ctx context.Context, outcome awaken.Outcome) error {
	all, err := e.shown()
	if err != nil {
		return err
	}
	all = append(all, e.said...)
	if l, ok := e.talks.(listener); ok {
		all = append(all, l.heard()...)
	}
	stored, err := e.texts(ctx, append([]string{e.thread}, e.copies...)...)
	if err != nil {
		return err
	}
	all = append(all, stored...)
	e.read += len(all)
	return check(all, outcome, "call-0-0")
}

func (e *example) delivered(ctx context.Context) (int, error) {
	all, err := e.sent(ctx, e.thread)
	if err != nil {
		return 0, err
	}
	return len(all), check(all, e.way.outcome, "call-0-0")
}
