package a2a

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/protocol"
)

// Options configures an [Encoder].
type Options struct {
	// RPC is the id of the JSON-RPC request that the stream answers. Nil means the HTTP+JSON binding.
	RPC json.RawMessage
	// TaskID and ContextID identify the task of a run that could not start.
	TaskID, ContextID string
	// Snapshot, if set, is how much of the log the client gets as one task, with History as the task's
	// history. The frames of the entries up to there are left out.
	Snapshot awaken.Cursor
	History  []*Message
}

// Encoder translates the entries of a run into the events of a stream.
type Encoder struct {
	opts   Options
	task   *projection
	frames *protocol.Frames
	behind bool // the snapshot is still to be sent
	err    error
}

// NewEncoder returns an encoder at the start of a run.
func NewEncoder(opts Options) *Encoder {
	e := &Encoder{opts: opts, behind: opts.Snapshot.Seq > 0}
	e.task = newProjection(e, opts.TaskID, opts.ContextID)
	return e
}

// Encode implements [protocol.Encoder].
func (e *Encoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	e.frames, e.err = f, nil
	if reset, ok := entry.Event.(*awaken.StreamReset); ok && reset.Cursor != "" {
		e.behind = false
	}
	e.task.apply(entry)
	if e.behind && entry.Seq >= e.opts.Snapshot.Seq {
		e.behind = false
		f.Unnamed() // a client that has only this starts again with another
		e.write(update{Task: &Task{ID: e.task.taskID, ContextID: e.task.contextID, Status: e.task.now, Artifacts: e.task.outputs(), History: e.opts.History}})
		e.opts.History = nil
	}
	if _, ok := entry.Event.(*awaken.RunStart); ok {
		e.restore()
	}
	e.frames = nil
	return e.err
}

// restore sends the answer again that a client may have lost with the owner of the run, once the next owner has begun. The
// run may park or end without another text. The frame has no id, because clients that lost nothing do not get it.
func (e *Encoder) restore() {
	if !e.task.resend || len(e.task.answer) == 0 {
		return
	}
	e.task.resend = false
	e.frames.Unnamed()
	e.text(string(e.task.answer), false, false)
}

// End implements [protocol.Encoder].
func (e *Encoder) End(f *protocol.Frames, fl *protocol.Failure) {
	if fl == nil {
		return
	}
	if e.opts.RPC != nil {
		data, _ := json.Marshal(rpcFailure(e.opts.RPC, fl)) // strings can always be encoded
		f.Data(data)
		return
	}
	data, _ := json.Marshal(fail(fl))
	f.Close(append(f.OpenEvent("error"), data...))
}

// opening returns the first frame of a stream: a task.
func opening(rpc json.RawMessage, task *Task) func(f *protocol.Frames) {
	return func(f *protocol.Frames) {
		e := &Encoder{opts: Options{RPC: rpc}, frames: f}
		e.write(update{Task: task})
	}
}

// open begins a frame.
func (e *Encoder) open() []byte {
	buf := e.frames.Open()
	if e.opts.RPC == nil {
		return buf
	}
	buf = append(append(buf, `{"jsonrpc":"2.0","id":`...), e.opts.RPC...)
	return append(buf, `,"result":`...)
}

// close ends a frame.
func (e *Encoder) close(buf []byte) {
	if e.opts.RPC != nil {
		buf = append(buf, '}')
	}
	e.frames.Close(buf)
}

// write writes a frame.
func (e *Encoder) write(u update) {
	data, err := json.Marshal(u)
	if err != nil {
		e.err = err
		return
	}
	e.close(append(e.open(), data...))
}

// status implements [sink].
func (e *Encoder) status(s *Status) {
	if !e.behind {
		e.write(update{StatusUpdate: &statusUpdate{TaskID: e.task.taskID, ContextID: e.task.contextID, Status: *s}})
	}
}

// artifact implements [sink].
func (e *Encoder) artifact(a *Artifact) {
	if !e.behind {
		e.write(update{ArtifactUpdate: &artifactUpdate{TaskID: e.task.taskID, ContextID: e.task.contextID, Artifact: *a, LastChunk: true}})
	}
}

// text implements [sink]. It is called for every piece of an answer, so it does not use encoding/json.
func (e *Encoder) text(piece string, appends, last bool) {
	if e.behind {
		return
	}
	buf := appendjson.Text(e.open(), `{"artifactUpdate":{"taskId":`, e.task.taskID)
	buf = appendjson.Text(buf, `,"contextId":`, e.task.contextID)
	buf = appendjson.Text(buf, `,"artifact":{"artifactId":"`+responseID+`","name":"`+responseID+`","parts":[{"text":`, piece)
	buf = append(buf, `}]}`...)
	buf = appendjson.TrueIf(buf, `,"append":`, appends)
	buf = appendjson.TrueIf(buf, `,"lastChunk":`, last)
	e.close(append(buf, `}}`...))
}

var _ protocol.Encoder = (*Encoder)(nil)
