package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// arrival is what is known of a message.
type arrival uint8

const (
	unknown arrival = iota
	arrived
	missing // it did not arrive, and will not
)

// How often the server is asked for a message in doubt, and how long after each other: a request may still be on its way.
const (
	lookTries = 5
	lookAgain = time.Second
)

// resolve finds out whether the message that is being sent has arrived, and continues accordingly. If that cannot be found out,
// it asks a person.
func (e *exchange) resolve(ctx context.Context) error {
	said, wait := unknown, time.Duration(0)
	for try, down, absent := 0, 0, 0; try < lookTries && said != arrived && absent < 2; {
		if wait > 0 {
			if err := sleep(ctx, wait); err != nil {
				return err
			}
		}
		wait = lookAgain
		var err error
		said, err = e.search(ctx)
		f, failed := errors.AsType[*Failure](err)
		switch {
		case err != nil && (!failed || ctx.Err() != nil):
			return err
		case failed && f.transient():
			said, wait = unknown, max(min(lookAgain<<min(down, 4), 10*time.Second), f.After)
			down++ // the exchange's timeout limits this
			continue
		case failed:
			return e.askAgain() // it cannot tell
		case said == missing:
			absent++
		default:
			absent = 0
		}
		try, down = try+1, 0
	}
	switch said {
	case arrived:
		e.n.Sending, e.n.Fresh = "", false
		if err := e.save(ctx, false); err != nil {
			return err
		}
		return e.follow(ctx)
	case missing:
		calls, err := e.x.Calls(ctx)
		if err != nil {
			return err
		}
		parts, _, err := compose(e.x.Messages, e.n.Before, calls)
		if err != nil {
			return &taskError{err.Error()}
		}
		if err := e.save(ctx, true); err != nil { // nothing begins after a cancel
			return err
		}
		return e.send(ctx, parts)
	}
	return e.askAgain()
}

// search looks for the message on the server.
func (e *exchange) search(ctx context.Context) (arrival, error) {
	if e.n.TaskID != "" {
		t, err := e.client.get(ctx, e.at, e.n.TaskID, 100)
		if err != nil {
			return unknown, err
		}
		return e.searchTask(t), nil
	}
	tasks, err := e.client.list(ctx, e.at, e.n.ContextID)
	if err != nil {
		return unknown, err
	}
	all := true
	for _, t := range tasks {
		if has(t, e.n.Sending) {
			e.n.TaskID = t.ID
			return arrived, nil
		}
		all = all && records(t)
	}
	if len(tasks) == 0 && !e.n.Fresh || !all {
		return unknown, nil
	}
	return missing, nil
}

// searchTask looks for the answer to a question: the task knows it, or has moved.
func (e *exchange) searchTask(t *task) arrival {
	asked := ""
	if t.Status.Message != nil {
		asked = t.Status.Message.MessageID
	}
	switch {
	case has(t, e.n.Sending), !t.Status.State.interrupted(), asked != "" && e.n.Question != "" && asked != e.n.Question:
		return arrived
	case records(t):
		return missing
	}
	return unknown
}

// has reports whether a task has a message.
func has(t *task, messageID string) bool {
	for _, m := range t.History {
		if m.MessageID == messageID {
			return true
		}
	}
	return false
}

// records reports whether the server keeps the messages of clients with a task.
func records(t *task) bool {
	for _, m := range t.History {
		if m.Role == roleUser {
			return true
		}
	}
	return false
}

// askAgain asks whether a message that may have arrived is to be sent again.
func (e *exchange) askAgain() error {
	e.keep()
	return e.ask([]asks{{Kind: kindDoubt, Message: fmt.Sprintf("A message to agent %q may have arrived: the connection was lost before its server confirmed it, and the server cannot say. Send it again?", e.id)}})
}

// doubtful returns the decision on the question whether a message is to be sent again, if that is what was asked last.
func doubtful(msgs llm.Messages, calls []*awaken.CallState) *awaken.Decision {
	for _, m := range msgs.Backward() {
		switch {
		case m.Role != llm.Assistant:
			continue
		case len(m.ToolCalls) == 0:
			return nil
		}
		var a asks
		if json.Unmarshal(m.ToolCalls[0].Arguments, &a) != nil || a.Kind != kindDoubt {
			return nil
		}
		for _, c := range calls {
			if c.CallID == m.ToolCalls[0].ID {
				return c.Decision
			}
		}
		return nil
	}
	return nil
}
