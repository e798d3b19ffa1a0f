package threadfile

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// Import creates a thread from a file, with the id newID or, if that is empty, its original id. It
// reads and checks the whole file before it writes anything; a malformed file is a [*FormatError].
// If the thread exists, Import fails with [awaken.ErrConflict].
//
// One commit stores all messages. A commit belongs to a run, so the new thread has one run: it is
// done, its origin is "internal", its status reason "imported", its input is all of the messages,
// and its agent is the one that ran last, so that the conversation continues with it. The runs of
// the file are not recreated: they happened on another thread, and their ids may be taken.
// Messages still refer to them. Records carry the time of the import. The new run is tainted if one of the file's runs is
// ([awaken.Taint]), or if a run wrote messages whose record the file does not have.
//
// Title and custom metadata are kept if the store is an [awaken.ThreadEditor].
func Import(ctx context.Context, store awaken.Store, r io.Reader, newID string) (*awaken.Thread, error) {
	f, err := read(r)
	if err != nil {
		return nil, err
	}
	id := cmp.Or(newID, f.thread.ID)
	if strings.TrimSpace(id) == "" {
		return nil, fmt.Errorf("import: %w: the new id of the thread is blank", awaken.ErrInvalid)
	}
	if err := f.save(ctx, store, id); err != nil {
		return nil, fmt.Errorf("import thread %s: %w", id, err)
	}
	t, err := store.Thread(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("import thread %s: %w", id, err)
	}
	return t, nil
}

// file is the content of a file.
type file struct {
	thread   *awaken.Thread
	messages []*llm.Message
	runs     int
	agent    string        // of the last run
	taint    *awaken.Taint // of a run
	writers  []string      // runs that wrote messages
	has      map[string]bool
	doubts   []awaken.CallState // calls in doubt that a person was asked about
}

// tainted returns what the thread is tainted by, or nil. What a run has read whose record the file does not have is not known,
// so it counts as tainted.
func (f *file) tainted(now int64) *awaken.Taint {
	for _, id := range f.writers {
		if f.taint == nil && !f.has[id] {
			return &awaken.Taint{RunID: id, Tool: "unknown", At: now}
		}
	}
	return f.taint
}

// save writes the thread. It checks that the thread does not exist before it acquires it, so as
// not to fence off an owner.
func (f *file) save(ctx context.Context, store awaken.Store, id string) error {
	t, err := store.Thread(ctx, id)
	if err == nil && !blank(t) {
		return errExists
	}
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	f.answerDoubts()
	now := time.Now().UnixMilli()
	run := awaken.Run{RunID: ids.New(), ThreadID: id, AgentID: f.agent, Origin: "internal",
		Status: awaken.RunDone, StatusReason: "imported", Termination: awaken.Termination{Type: awaken.NaturalEnd},
		CreatedAt: now, StartedAt: now, FinishedAt: now, UpdatedAt: now, Taint: f.tainted(now)}
	if n := len(f.messages); n > 0 {
		run.Input = llm.Interval{FromSeq: 1, ToSeq: n}
	}
	if err := f.keepFiles(ctx, blob.Of(store), id); err != nil {
		return err
	}
	cp, err := store.Acquire(ctx, id)
	if err != nil {
		return err
	}
	if !blank(&cp.Thread) {
		return errExists
	}
	err = store.Commit(ctx, &awaken.Commit{ThreadID: id, Fence: cp.Fence, Number: 1, Generation: cp.Generation,
		Time: now, Messages: f.messages, Run: run})
	if err != nil {
		return err
	}
	md := f.thread.Metadata
	if editor, ok := store.(awaken.ThreadEditor); ok && (md.Title != "" || md.Custom != nil) {
		_, err := editor.UpdateThread(ctx, id, func(t *awaken.Thread) error {
			t.Metadata.Title, t.Metadata.Custom = md.Title, md.Custom
			return nil
		})
		if err != nil {
			return fmt.Errorf("the messages were imported, but the title was not: %w", err)
		}
	}
	return nil
}

// answerDoubts answers the calls in doubt whose question stays with the run that asked it. The store may not have the ledger of
// that run, so the conversation says that it is not known whether they took effect.
func (f *file) answerDoubts() {
	for _, c := range llm.Unanswered(f.messages) {
		if i := slices.IndexFunc(f.doubts, func(s awaken.CallState) bool { return s.CallID == c.ID }); i >= 0 {
			f.messages = append(f.messages, &llm.Message{ID: ids.New(), Role: llm.ToolRole, ToolCallID: c.ID,
				Content: []llm.Block{llm.Text(f.doubts[i].DoubtResult().Plain())}, Metadata: &llm.Metadata{RunID: f.doubts[i].RunID}})
		}
	}
}

// keepFiles stores the files that messages hold inline, and makes the thread hold those that they refer to. A reference to
// a file that the store does not have is refused: nothing else would keep it, or say that it is missing.
func (f *file) keepFiles(ctx context.Context, files blob.Store, id string) (err error) {
	for i, m := range f.messages {
		for _, ref := range blob.IDs(m) {
			err := awaken.ErrNotFound
			if files != nil {
				err = files.Hold(ctx, blob.Thread(id), ref)
			}
			if errors.Is(err, awaken.ErrNotFound) {
				return fmt.Errorf("%w: message %d refers to file %.80s, which this store does not have; export the thread where it does", awaken.ErrInvalid, i+1, ref)
			} else if err != nil {
				return err
			}
		}
	}
	if files != nil {
		f.messages, err = blob.DetachMessages(ctx, files, blob.Thread(id), f.messages)
	}
	return err
}

var errExists = fmt.Errorf("%w: the thread already exists", awaken.ErrConflict)

// blank reports whether nothing was ever committed to a thread, because its owner was lost before.
func blank(t *awaken.Thread) bool {
	return t.MessageCount == 0 && t.LatestRunID == "" && t.Metadata.CreatedAt == 0
}

// read reads a file and checks it.
func read(r io.Reader) (*file, error) {
	var f file
	in, sum := bufio.NewReaderSize(r, 64<<10), sha256.New()
	for n := 1; ; n++ {
		fail := func(err error) (*file, error) { return nil, &FormatError{n, err} }
		text, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && n == 1:
			return fail(errors.New("the file is empty"))
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fail(errors.New("the file is cut off: its end is missing"))
		case errors.Is(err, errLong):
			return fail(err)
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err) // an error of the reader
		}
		if n == 1 {
			if f.thread, err = readHeader(text); err != nil {
				return fail(err)
			}
			sum.Write(text)
			continue
		}
		var l line
		if err := strict.Unmarshal(text, &l); err != nil {
			return fail(err)
		}
		switch {
		case l.End != nil && l.Message == nil && l.Run == nil:
			if err := f.checkEnd(l.End, hex.EncodeToString(sum.Sum(nil))); err != nil {
				return fail(err)
			}
			n++
			if _, err := in.ReadByte(); err == nil {
				return fail(errors.New("unexpected data after the end"))
			} else if !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			return &f, nil
		case l.Message != nil && l.Run == nil && l.End == nil:
			err = f.addMessage(l.Message)
		case l.Run != nil && l.Message == nil && l.End == nil:
			err = f.addRun(l.Run)
		default:
			err = errors.New("want one of message, run and end")
		}
		if err != nil {
			return fail(err)
		}
		sum.Write(text)
	}
}

func readHeader(text []byte) (*awaken.Thread, error) {
	var h header
	_ = strict.UnmarshalKnown(text, &h) // a later version may have other fields
	err := strict.Unmarshal(text, &h)
	switch {
	case err != nil && h.Format != format:
		return nil, fmt.Errorf("not a thread file: %w", err)
	case h.Format != format:
		return nil, fmt.Errorf("not a thread file: format is %q, want %q", h.Format, format)
	case h.Version != version:
		return nil, fmt.Errorf("version is %d, want %d", h.Version, version)
	case err != nil:
		return nil, err
	case h.Thread == nil:
		return nil, errors.New("field \"thread\" is missing")
	case strings.TrimSpace(h.Thread.ID) == "":
		return nil, errors.New("the thread has no id")
	}
	return h.Thread, nil
}

func (f *file) addMessage(r *awaken.MessageRecord) error {
	want := len(f.messages) + 1
	switch {
	case f.runs > 0:
		return errors.New("a message follows the runs")
	case r.ThreadID != f.thread.ID:
		return fmt.Errorf("the message belongs to thread %q, want %q", r.ThreadID, f.thread.ID)
	case r.Seq != want:
		return fmt.Errorf("seq is %d, want %d", r.Seq, want)
	case r.Message == nil:
		return errors.New("field \"message\" is missing")
	}
	if md := r.Message.Metadata; md != nil {
		if md.Rewind != nil && md.Rewind.FromSeq < 1 {
			return fmt.Errorf("rewind.from_seq is %d, want 1 or more", md.Rewind.FromSeq)
		}
		if c := md.Compaction; c != nil && (c.FromSeq < 1 || c.ToSeq < c.FromSeq) {
			return fmt.Errorf("compaction is from %d to %d, want from_seq of 1 or more, and to_seq no less", c.FromSeq, c.ToSeq)
		}
	}
	f.messages = append(f.messages, r.Message)
	if r.RunID != "" {
		f.writers = append(f.writers, r.RunID)
	}
	return nil
}

func (f *file) addRun(r *awaken.Run) error {
	if r.ThreadID != f.thread.ID {
		return fmt.Errorf("the run belongs to thread %q, want %q", r.ThreadID, f.thread.ID)
	}
	if err := r.Validate(); err != nil {
		return err
	}
	f.runs++
	f.taint = cmp.Or(f.taint, r.Taint)
	if f.has == nil {
		f.has = map[string]bool{}
	}
	f.has[r.RunID] = true
	if r.Waiting != nil {
		for _, t := range r.Waiting.Tickets {
			if t.InDoubt.Open() {
				f.doubts = append(f.doubts, awaken.CallState{RunID: r.RunID, CallID: t.ToolCallID, ToolName: t.ToolName, Doubt: t.InDoubt})
			}
		}
	}
	if r.AgentID != "" {
		f.agent = r.AgentID
	}
	return nil
}

func (f *file) checkEnd(e *end, sum string) error {
	switch {
	case e.Messages != len(f.messages) || e.Runs != f.runs:
		return fmt.Errorf("the file has %d messages and %d runs, but its end says %d and %d", len(f.messages), f.runs, e.Messages, e.Runs)
	case f.thread.MessageCount != len(f.messages):
		return fmt.Errorf("the file has %d messages, but its header says %d", len(f.messages), f.thread.MessageCount)
	case e.SHA256 != sum:
		return errors.New("checksum mismatch: the file was changed or damaged")
	}
	return nil
}

var errLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

// readLine returns the next line with its newline, or io.ErrUnexpectedEOF for a line without one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		if out = append(out, part...); len(out) > maxLine {
			return nil, errLong
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(out) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return out, err
		}
	}
}
