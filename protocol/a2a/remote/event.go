package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// event is one event of a stream, or the response to a message. One field is set.
type event struct {
	Task     *task           `json:"task"`
	Message  *message        `json:"message"`
	Status   *statusUpdate   `json:"statusUpdate"`
	Artifact *artifactUpdate `json:"artifactUpdate"`
}

type statusUpdate struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Status    status `json:"status"`
}

type artifactUpdate struct {
	TaskID    string   `json:"taskId"`
	ContextID string   `json:"contextId"`
	Artifact  artifact `json:"artifact"`
	Append    bool     `json:"append"`
	LastChunk bool     `json:"lastChunk"`
}

// malformed returns the error of a response that breaks the protocol.
func malformed(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...)), Sent: true}
}

// decodeEvent decodes and checks an event.
func decodeEvent(data []byte) (*event, error) {
	ev := new(event)
	if err := json.Unmarshal(data, ev); err != nil {
		return nil, malformed("%v", err)
	}
	n := 0
	for _, set := range []bool{ev.Task != nil, ev.Message != nil, ev.Status != nil, ev.Artifact != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		hint := ""
		var old struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(data, &old) == nil && old.Kind != "" {
			hint = "; it looks like A2A 0.3, want 1.0"
		}
		return nil, malformed("an event has %d of task, message, statusUpdate and artifactUpdate, want one%s", n, hint)
	}
	var err error
	switch {
	case ev.Task != nil:
		err = checkTask(ev.Task)
	case ev.Status != nil:
		err = errors.Join(checkID("taskId", ev.Status.TaskID, true), checkID("contextId", ev.Status.ContextID, false), checkState(ev.Status.Status.State))
	case ev.Artifact != nil:
		err = errors.Join(checkID("taskId", ev.Artifact.TaskID, true), checkID("contextId", ev.Artifact.ContextID, false), checkID("artifactId", ev.Artifact.Artifact.ArtifactID, true))
	case ev.Message != nil:
		err = errors.Join(checkID("contextId", ev.Message.ContextID, false), checkID("taskId", ev.Message.TaskID, false))
	}
	if err != nil {
		return nil, err
	}
	return ev, nil
}

// decodeTask decodes and checks a task.
func decodeTask(data []byte) (*task, error) {
	t := new(task)
	if err := json.Unmarshal(data, t); err != nil {
		return nil, malformed("%v", err)
	}
	if err := checkTask(t); err != nil {
		return nil, err
	}
	return t, nil
}

func checkTask(t *task) error {
	err := errors.Join(checkID("task.id", t.ID, true), checkID("task.contextId", t.ContextID, false), checkState(t.Status.State))
	for i := range t.Artifacts {
		err = errors.Join(err, checkID("artifactId", t.Artifacts[i].ArtifactID, true))
	}
	if err != nil {
		return err
	}
	t.History = slices.DeleteFunc(t.History, func(m *message) bool { return m == nil })
	return nil
}

// checkID reports an id that is missing or too long to keep.
func checkID(field, id string, required bool) error {
	switch {
	case id == "" && required:
		return malformed("%s is missing", field)
	case len(id) > maxID:
		return malformed("%s is longer than %d bytes", field, maxID)
	}
	return nil
}

var states = []state{submitted, working, completed, failed, canceled, rejected, inputRequired, authRequired}

func checkState(s state) error {
	if !slices.Contains(states, s) {
		return malformed("the state of a task is %.80q, want one of %s, …", s, states[0])
	}
	return nil
}

// readFrames yields the data of server-sent events, and true if the event's type is error.
func readFrames(r io.Reader) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		br := bufio.NewReaderSize(r, 16<<10)
		var data []byte
		var some, failed bool
		for {
			line, err := readLine(br)
			if err != nil && err != io.EOF {
				yield(frame{}, err)
				return
			}
			last := err == io.EOF
			if len(line) == 0 || last {
				// An event that the end of the stream cuts off does not count.
				if some && !last && !yield(frame{data, failed}, nil) {
					return
				}
				if last {
					return
				}
				data, some, failed = data[:0], false, false
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "event":
				failed = string(value) == "error"
			case "data":
				if len(data)+len(value) > maxEvent {
					yield(frame{}, malformed("an event is larger than %d bytes", maxEvent))
					return
				}
				if some {
					data = append(data, '\n')
				}
				data, some = append(data, value...), true
			}
		}
	}
}

// frame is a server-sent event. Its data is valid until the next one.
type frame struct {
	data   []byte
	failed bool
}

// readLine reads a line, without its end.
func readLine(br *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxEvent {
				return nil, malformed("a line is longer than %d bytes", maxEvent)
			}
			continue
		}
		if long != nil {
			part = append(long, part...)
		}
		return bytes.TrimRight(part, "\r\n"), err
	}
}
