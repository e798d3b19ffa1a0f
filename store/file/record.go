package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// The kinds of records.
const (
	opCreate    = "create"    // a new thread and its first owner
	opFork      = "fork"      // a new thread with a parent, and perhaps a base
	opAcquire   = "acquire"   // a new owner
	opCommit    = "commit"    // a commit of the owner
	opInterrupt = "interrupt" // a new generation
	opPost      = "post"      // inbox items
	opMetadata  = "metadata"  // user, resource, parent, title, custom and notes
	opNotes     = "notes"     // nothing but notes
	opDetach    = "detach"    // the parent was deleted
	opBase      = "base"      // a copy of the messages shared with a thread that is deleted
	opDelete    = "delete"    // the thread is being deleted, and what becomes of its children
)

// record is one change of a thread. Its payload in the journal is lines of JSON: the
// summary, the contents, and one line for each entry of the event log. Readers decode only
// as many lines as they need.
type record struct {
	summary
	contents
	entries []awaken.Entry
}

// summary is the part of a record that the table and the index are built from.
type summary struct {
	Op    string `json:"op"`
	Clock int64  `json:"clock,omitempty"` // orders changes of different threads

	// Of the first record of a journal.
	Thread string `json:"thread,omitempty"`
	Nonce  string `json:"nonce,omitempty"` // distinguishes the journal from an earlier one of the same name
	Base   *base  `json:"base,omitempty"`
	Parent string `json:"parent,omitempty"` // also of a commit

	Fence      uint64                 `json:"fence,omitempty"`
	Generation uint64                 `json:"generation,omitempty"`
	Metadata   *awaken.ThreadMetadata `json:"metadata,omitempty"`
	Resource   string                 `json:"resource,omitempty"`
	User       string                 `json:"user,omitempty"` // also of a commit

	Notes map[string]json.RawMessage `json:"notes,omitempty"`

	Posted   []string              `json:"posted,omitempty"`
	Decided  []*awaken.Decided     `json:"decided,omitempty"` // the records of posted decisions
	Children *awaken.ChildStrategy `json:"children,omitempty"`

	// Of a commit.
	Number uint64           `json:"number,omitempty"`
	Time   int64            `json:"time,omitempty"`
	Count  int              `json:"count,omitempty"` // messages in the log after it
	RunID  string           `json:"run_id,omitempty"`
	Status awaken.RunStatus `json:"status,omitempty"`
	Read   []string         `json:"read,omitempty"`
	Log    *logSummary      `json:"log,omitempty"`
}

// base names the messages that a fork shares with another thread: the first Seq.
type base struct {
	Thread string `json:"thread"`
	Nonce  string `json:"nonce"`
	Seq    int    `json:"seq"`
}

// logSummary describes the entries of a record for queries.
type logSummary struct {
	N     int    `json:"n"`
	Last  uint64 `json:"last"`             // the highest sequence number
	Epoch uint64 `json:"epoch"`            // the highest epoch
	RunID string `json:"run_id,omitempty"` // of all entries; "" if they differ
}

// contents is the part of a record that bodies are built from.
type contents struct {
	Messages []*llm.Message      `json:"messages,omitempty"`
	Created  []int64             `json:"created,omitempty"` // of each message; opBase only
	Run      *awaken.Run         `json:"run,omitempty"`
	State    []change            `json:"state,omitempty"`
	Calls    []*awaken.CallState `json:"calls,omitempty"`
	Items    []awaken.InboxItem  `json:"items,omitempty"`
}

// change is a state.Change as it is stored. A key without a value was cleared.
type change struct {
	Key    string          `json:"key"`
	Thread bool            `json:"thread,omitempty"` // otherwise of the run
	Value  json.RawMessage `json:"value,omitempty"`
}

// buffers pools the buffers that records are encoded into.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func recycle(buf *bytes.Buffer) {
	if buf.Cap() <= 1<<20 {
		buffers.Put(buf)
	}
}

// encode writes a sealed record into buf and returns the size of its entries in bytes. A
// record that could not be decoded again is an ErrInvalid: a commit that fails is better
// than a thread that cannot be opened.
func (r *record) encode(buf *bytes.Buffer) (entries int64, err error) {
	buf.Reset()
	buf.Write(make([]byte, headerSize))
	if entries, err = r.encodeLines(buf); err != nil {
		return 0, fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	return entries, seal(buf.Bytes())
}

func (r *record) encodeLines(buf *bytes.Buffer) (entries int64, err error) {
	r.Log = r.summarize()
	if err := r.contents.check(); err != nil {
		return 0, err
	}
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := errors.Join(enc.Encode(&r.summary), enc.Encode(&r.contents)); err != nil {
		return 0, err
	}
	before := buf.Len()
	for i := range r.entries {
		e := &r.entries[i]
		if e.Event == nil {
			return 0, fmt.Errorf("entry %s has no event", e.Cursor)
		}
		line, err := e.AppendJSON(buf.AvailableBuffer())
		if err == nil && !plainEntry(e) {
			err = new(awaken.Entry).UnmarshalJSON(line)
		}
		if err != nil {
			return 0, err
		}
		buf.Write(line)
		buf.WriteByte('\n')
	}
	return int64(buf.Len() - before), nil
}

// summarize describes the entries, and repairs those whose text is not UTF-8.
func (r *record) summarize() *logSummary {
	if len(r.entries) == 0 {
		return nil
	}
	log := &logSummary{N: len(r.entries), RunID: r.entries[0].RunID}
	for i := range r.entries {
		e := &r.entries[i]
		log.Last, log.Epoch = max(log.Last, e.Last()), max(log.Epoch, e.Epoch)
		if e.RunID != log.RunID {
			log.RunID = ""
		}
		if _, with := deltaText(e.Event); with != nil && len(e.Chunks) > 0 {
			repair(e)
		}
	}
	return log
}

// repair replaces invalid UTF-8 in the text of a coalesced entry, as encoding/json does,
// and adjusts the lengths of its chunks to the text that is stored.
func repair(e *awaken.Entry) {
	text, with := deltaText(e.Event)
	if utf8.ValidString(text) {
		return
	}
	chunks := slices.Clone(e.Chunks)
	var out []byte
	at, end, done := 0, 0, 0 // position and end of the chunk in text; start of the chunk in out
	for i := range chunks {
		end += int(chunks[i].Len)
		for at < end && at < len(text) { // a split character belongs to the chunk that it begins in
			r, n := utf8.DecodeRuneInString(text[at:])
			out = utf8.AppendRune(out, r)
			at += n
		}
		chunks[i].Len = uint32(len(out) - done)
		done = len(out)
	}
	e.Chunks, e.Event = chunks, with(string(out))
}

// deltaText returns the text of an event that can be coalesced, and a function that
// returns the event with another text. With is nil for other events.
func deltaText(ev awaken.Event) (text string, with func(string) awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.TextDelta:
		return ev.Delta, func(s string) awaken.Event { return &awaken.TextDelta{Delta: s} }
	case *awaken.ReasoningDelta:
		return ev.Delta, func(s string) awaken.Event { return &awaken.ReasoningDelta{Delta: s} }
	case *awaken.ToolCallDelta:
		return ev.ArgsDelta, func(s string) awaken.Event { return &awaken.ToolCallDelta{ID: ev.ID, ArgsDelta: s} }
	case *awaken.ToolCallStreamDelta:
		return ev.Delta, func(s string) awaken.Event { return &awaken.ToolCallStreamDelta{ID: ev.ID, Name: ev.Name, Delta: s} }
	}
	return "", nil
}

// The checks below know which common values can be decoded again. They try the others.

// plainEntry reports whether an entry is known to be decodable.
func plainEntry(e *awaken.Entry) bool {
	if len(e.Chunks) > 0 {
		text, _ := deltaText(e.Event)
		sum := 0
		for i, c := range e.Chunks {
			if i == 0 && c.Offset != 0 || i > 0 && c.Offset <= e.Chunks[i-1].Offset {
				return false
			}
			sum += int(c.Len)
		}
		return sum > 0 && sum == len(text)
	}
	switch e.Event.(type) {
	case *awaken.TextDelta, *awaken.ReasoningDelta, *awaken.ReasoningEncryptedValue, *awaken.ToolCallStart, *awaken.ToolCallDelta,
		*awaken.ToolCallReady, *awaken.ToolCallStreamDelta, *awaken.StepStart, *awaken.StepEnd, *awaken.InferenceComplete:
		return true
	}
	return false
}

func (c *contents) check() error {
	if err := checkMessages(c.Messages); err != nil {
		return err
	}
	for i := range c.Items {
		if err := checkMessages(c.Items[i].Messages); err != nil {
			return fmt.Errorf("inbox item %q: %w", c.Items[i].ID, err)
		}
	}
	for i, call := range c.Calls {
		if call == nil {
			return fmt.Errorf("call %d is nil", i)
		}
		if res := call.Result; res != nil && !plainBlocks(res.Content) {
			if err := tryReading(call, new(awaken.CallState)); err != nil {
				return fmt.Errorf("call %q: %w", call.CallID, err)
			}
		}
	}
	if r := c.Run; r != nil && (r.Overrides != nil || len(r.FrontendTools) > 0 || r.Termination != awaken.Termination{}) {
		if err := tryReading(r, new(awaken.Run)); err != nil {
			return fmt.Errorf("run %q: %w", r.RunID, err)
		}
	}
	return nil
}

func checkMessages(msgs []*llm.Message) error {
	for i, m := range msgs {
		if m == nil {
			return fmt.Errorf("message %d is nil", i)
		}
		if plainMessage(m) {
			continue
		}
		if err := tryReading(m, new(llm.Message)); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

func plainMessage(m *llm.Message) bool {
	switch m.Role {
	case llm.System, llm.User, llm.Assistant, llm.ToolRole:
	default:
		return false
	}
	switch m.Visibility {
	case "", llm.VisibleAll, llm.Internal:
	default:
		return false
	}
	return plainBlocks(m.Content)
}

func plainBlocks(blocks []llm.Block) bool {
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case llm.TextBlock, llm.ThinkingBlock:
		case llm.ImageBlock, llm.AudioBlock, llm.VideoBlock, llm.DocumentBlock:
			src := b.Source
			inline := src != nil && src.Type == "base64" && src.MediaType != "" && src.Data != "" && src.URL == ""
			linked := src != nil && src.Type == "url" && src.URL != "" && src.Data == ""
			if !inline && !linked || b.Title != "" && b.Type != llm.DocumentBlock {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// tryReading encodes v and decodes it into back.
func tryReading(v, back any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, back)
}

var errLines = errors.New("the record has too few lines")

// decodeSummary decodes the first line of a payload.
func decodeSummary(payload []byte) (sum summary, rest []byte, err error) {
	line, rest, ok := bytes.Cut(payload, []byte("\n"))
	if !ok {
		return sum, nil, errLines
	}
	if err := json.Unmarshal(line, &sum); err != nil {
		return sum, nil, fmt.Errorf("summary: %w", err)
	}
	return sum, rest, nil
}

// decodeContents decodes the second line into v, which is contents or a part of it.
func decodeContents(rest []byte, v any) (entries []byte, err error) {
	line, entries, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, errLines
	}
	return entries, json.Unmarshal(line, v)
}

// decodeEntries decodes the other lines.
func decodeEntries(payload []byte) ([]awaken.Entry, error) {
	lines := bytes.Split(payload, []byte("\n"))
	if len(lines) < 3 {
		return nil, errLines
	}
	lines = lines[2 : len(lines)-1]
	out := make([]awaken.Entry, len(lines))
	for i, line := range lines {
		if err := out[i].UnmarshalJSON(line); err != nil {
			return nil, err
		}
	}
	return out, nil
}
