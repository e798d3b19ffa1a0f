package messagelog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/awaken-go/awaken/llm"
)

// SegmentLength is how many messages a segment holds.
const SegmentLength = 256

// MaxSegment is how many bytes a segment may have.
const MaxSegment = 4 << 20

// A segment holds messages, with the times at which they were created, in a form that is
// decoded with a few allocations:
//
//	crc32c of the rest, 4 bytes
//	version, 1 byte
//	count of messages, blocks, calls, metadata, steps, opaque data
//	length of raws, texts
//	fields, raws, texts
//
// Numbers are varints. Fields are those of the messages in order, in which a string or JSON is
// its length, and its bytes follow those of the one before in texts or raws.
const segmentVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Words that are stored as their index.
var (
	roles      = []llm.Role{llm.System, llm.User, llm.Assistant, llm.ToolRole}
	blockTypes = []llm.BlockType{llm.TextBlock, llm.ImageBlock, llm.AudioBlock, llm.VideoBlock, llm.DocumentBlock, llm.ToolUseBlock, llm.ToolResultBlock, llm.ThinkingBlock}
	finishes   = append([]llm.FinishReason{""}, finishReasons...)
)

// ErrVersion is the error for a segment that a newer program wrote.
var ErrVersion = errors.New("the segment is of an unknown version")

var (
	errDamaged  = errors.New("the segment is damaged")
	errUnusual  = errors.New("the message cannot be in a segment")
	errTooLarge = fmt.Errorf("a segment would have more than %d bytes", MaxSegment)
)

// Segment encodes messages, which were decoded, with their times. It fails if a segment cannot
// hold them.
func Segment(msgs []*llm.Message, created []int64) ([]byte, error) {
	var w writer
	before := int64(0)
	for i, m := range msgs {
		w.int(created[i] - before)
		before = created[i]
		w.message(m)
		if len(w.texts)+len(w.raws)+len(w.fields) > MaxSegment {
			return nil, errTooLarge
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	out := append(make([]byte, 4, 64+len(w.fields)+len(w.raws)+len(w.texts)), segmentVersion)
	for _, n := range []int{len(msgs), w.blocks, w.calls, w.metadata, w.steps, w.opaques, len(w.raws), len(w.texts)} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	out = append(append(append(out, w.fields...), w.raws...), w.texts...)
	binary.LittleEndian.PutUint32(out, crc32.Checksum(out[4:], castagnoli))
	return out, nil
}

type writer struct {
	fields, raws, texts                     []byte
	blocks, calls, metadata, steps, opaques int
	err                                     error
}

func (w *writer) count(n int) { w.fields = binary.AppendUvarint(w.fields, uint64(n)) }
func (w *writer) int(n int64) { w.fields = binary.AppendVarint(w.fields, n) }

func (w *writer) text(s string) {
	w.count(len(s))
	w.texts = append(w.texts, s...)
}

// raw writes JSON; nil is not the same as empty.
func (w *writer) raw(v json.RawMessage) {
	if v == nil {
		w.count(0)
		return
	}
	w.count(1 + len(v))
	w.raws = append(w.raws, v...)
}

// flags writes booleans.
func (w *writer) flags(list ...bool) {
	var bits byte
	for i, v := range list {
		if v {
			bits |= 1 << i
		}
	}
	w.fields = append(w.fields, bits)
}

// word writes a word as its index.
func word[S comparable](w *writer, list []S, s S) {
	i := slices.Index(list, s)
	if i < 0 {
		w.err = errUnusual
	}
	w.fields = append(w.fields, byte(i))
}

func (w *writer) message(m *llm.Message) {
	if m == nil || m.Visibility != "" && m.Visibility != llm.Internal {
		w.err = errUnusual
		return
	}
	word(w, roles, m.Role)
	w.flags(m.Visibility == llm.Internal, m.Metadata != nil, m.Opaque != nil)
	w.text(m.ID)
	w.text(m.ToolCallID)
	w.blockList(m.Content)
	w.count(len(m.ToolCalls))
	w.calls += len(m.ToolCalls)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		w.flags(c.Opaque != nil)
		w.text(c.ID)
		w.text(c.Name)
		w.raw(c.Arguments)
		w.opaque(c.Opaque)
	}
	w.meta(m.Metadata)
	w.opaque(m.Opaque)
}

func (w *writer) blockList(list []llm.Block) {
	w.count(len(list))
	w.blocks += len(list)
	for i := range list {
		b := &list[i]
		word(w, blockTypes, b.Type)
		w.flags(b.Source != nil, b.Tool != nil, b.Opaque != nil)
		w.text(b.Text)
		w.text(b.Title)
		if s := b.Source; s != nil {
			w.text(s.Type)
			w.text(s.MediaType)
			w.text(s.Data)
			w.text(s.URL)
			if s.Type == "blob" { // which segments of earlier versions do not have
				w.text(s.ID)
				w.int(s.Size)
			}
		}
		if t := b.Tool; t != nil {
			w.text(t.ID)
			w.text(t.Name)
			w.raw(t.Input)
			w.blockList(t.Content)
		}
		w.opaque(b.Opaque)
	}
}

func (w *writer) meta(md *llm.Metadata) {
	if md == nil {
		return
	}
	w.metadata++
	w.flags(md.StepIndex != nil, md.Compaction != nil, md.Rewind != nil, md.Interrupted, md.Arrival != nil)
	w.text(md.RunID)
	w.text(md.SenderAgentID)
	w.text(string(md.ClientRole))
	word(w, finishes, md.Finish)
	w.raw(md.Client)
	if md.StepIndex != nil {
		w.steps++
		w.int(int64(*md.StepIndex))
	}
	if md.Compaction != nil {
		w.int(int64(md.Compaction.FromSeq))
		w.int(int64(md.Compaction.ToSeq))
	}
	if md.Rewind != nil {
		w.int(int64(md.Rewind.FromSeq))
	}
	if md.Arrival != nil {
		w.arrival(md.Arrival)
	}
}

// arrival is not inlined: messages are written on the stacks of runs, which stay small without its frame.
//
//go:noinline
func (w *writer) arrival(a *llm.Arrival) {
	w.flags(a.Resumed)
	w.int(int64(a.Steps))
	w.text(string(a.Point))
	w.text(a.After)
}

func (w *writer) opaque(o *llm.Opaque) {
	if o == nil {
		return
	}
	w.opaques++
	w.text(o.Provider)
	w.text(o.Signature)
	w.raw(o.Data)
}

// ReadSegment decodes a segment.
func ReadSegment(data []byte) (msgs []*llm.Message, created []int64, err error) {
	if len(data) < 5 || crc32.Checksum(data[4:], castagnoli) != binary.LittleEndian.Uint32(data) {
		return nil, nil, errDamaged
	}
	if data[4] != segmentVersion {
		return nil, nil, ErrVersion
	}
	r := reader{fields: data[5:]}
	n, blocks, calls, metadata, steps, opaques, raws, texts := r.count(), r.count(), r.count(), r.count(), r.count(), r.count(), r.count(), r.count()
	if r.failed || raws > len(r.fields) || texts > len(r.fields)-raws {
		return nil, nil, errDamaged
	}
	rest := len(r.fields) - raws - texts
	if n > rest || blocks > rest || calls > rest || metadata > rest || steps > rest || opaques > rest {
		return nil, nil, errDamaged
	}
	r.texts, r.raws, r.fields = string(r.fields[rest+raws:]), slices.Clone(r.fields[rest:rest+raws]), r.fields[:rest]
	r.blocks.next, r.calls.next, r.metadata.next, r.steps.next, r.opaques.next = blocks, calls, metadata, steps, opaques
	list := make([]llm.Message, n)
	msgs, created = make([]*llm.Message, n), make([]int64, n)
	before := int64(0)
	for i := range list {
		before += r.int()
		created[i], msgs[i] = before, &list[i]
		r.message(&list[i])
		if r.failed {
			break
		}
	}
	if r.failed || len(r.fields)+len(r.raws)+len(r.texts) > 0 {
		return nil, nil, errDamaged
	}
	return msgs, created, nil
}

type reader struct {
	fields, raws []byte
	texts        string
	failed       bool

	blocks   slab[llm.Block]
	calls    slab[llm.ToolCall]
	metadata slab[llm.Metadata]
	steps    slab[int]
	opaques  slab[llm.Opaque]
}

func (r *reader) count() int {
	v, n := binary.Uvarint(r.fields)
	if n <= 0 || v > MaxSegment {
		r.failed = true
		return 0
	}
	r.fields = r.fields[n:]
	return int(v)
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.fields)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.fields = r.fields[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.fields) == 0 {
		r.failed = true
		return 0
	}
	b := r.fields[0]
	r.fields = r.fields[1:]
	return b
}

func (r *reader) text() string {
	n := r.count()
	if n > len(r.texts) {
		r.failed = true
		return ""
	}
	out := r.texts[:n]
	r.texts = r.texts[n:]
	return out
}

func (r *reader) raw() json.RawMessage {
	n := r.count() - 1
	if n < 0 {
		return nil
	}
	if n > len(r.raws) {
		r.failed = true
		return nil
	}
	out := r.raws[:n:n]
	r.raws = r.raws[n:]
	return out
}

func wordAt[S any](r *reader, list []S) (s S) {
	i := int(r.byte())
	if i >= len(list) {
		r.failed = true
		return s
	}
	return list[i]
}

// some takes as many zero values as the fields say.
func some[T any](r *reader, s *slab[T]) []T {
	n := r.count()
	if n == 0 || n > len(r.fields) {
		r.failed = r.failed || n != 0
		return nil
	}
	return s.take(n, n, max(n, many))
}

func (r *reader) message(m *llm.Message) {
	m.Role = wordAt(r, roles)
	flags := r.byte()
	if flags&1 != 0 {
		m.Visibility = llm.Internal
	}
	m.ID = r.text()
	m.ToolCallID = r.text()
	m.Content = r.blockList(0)
	m.ToolCalls = some(r, &r.calls)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		flags := r.byte()
		c.ID = r.text()
		c.Name = r.text()
		c.Arguments = r.raw()
		c.Opaque = r.opaque(flags&1 != 0)
	}
	if flags&2 != 0 {
		m.Metadata = r.meta()
	}
	m.Opaque = r.opaque(flags&4 != 0)
}

func (r *reader) blockList(depth int) []llm.Block {
	list := some(r, &r.blocks)
	for i := range list {
		b := &list[i]
		b.Type = wordAt(r, blockTypes)
		flags := r.byte()
		b.Text = r.text()
		b.Title = r.text()
		if flags&1 != 0 {
			b.Source = &llm.Source{Type: r.text(), MediaType: r.text(), Data: r.text(), URL: r.text()}
			if b.Source.Type == "blob" {
				b.Source.ID, b.Source.Size = r.text(), r.int()
			}
		}
		if flags&2 != 0 {
			b.Tool = &llm.ToolPart{ID: r.text(), Name: r.text(), Input: r.raw()}
			if depth > 0 && len(r.fields) > 0 && r.fields[0] != 0 {
				r.failed = true
			}
			if !r.failed {
				b.Tool.Content = r.blockList(depth + 1)
			}
		}
		if b.Opaque = r.opaque(flags&4 != 0); r.failed {
			break
		}
	}
	return list
}

func (r *reader) meta() *llm.Metadata {
	md := &r.metadata.take(1, 1, many)[0]
	flags := r.byte()
	md.RunID = r.text()
	md.SenderAgentID = r.text()
	md.ClientRole = llm.Role(r.text())
	md.Finish = wordAt(r, finishes)
	md.Client = r.raw()
	if flags&1 != 0 {
		md.StepIndex = &r.steps.take(1, 1, many)[0]
		*md.StepIndex = int(r.int())
	}
	if flags&2 != 0 {
		md.Compaction = &llm.Interval{FromSeq: int(r.int()), ToSeq: int(r.int())}
	}
	if flags&4 != 0 {
		md.Rewind = &llm.Rewind{FromSeq: int(r.int())}
	}
	md.Interrupted = flags&8 != 0
	if flags&16 != 0 {
		md.Arrival = &llm.Arrival{Resumed: r.byte()&1 != 0, Steps: int(r.int()), Point: llm.ArrivalPoint(r.text()), After: r.text()}
	}
	return md
}

func (r *reader) opaque(has bool) *llm.Opaque {
	if !has {
		return nil
	}
	o := &r.opaques.take(1, 1, many)[0]
	o.Provider = r.text()
	o.Signature = r.text()
	o.Data = r.raw()
	return o
}
