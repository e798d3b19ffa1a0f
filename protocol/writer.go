package protocol

import (
	"encoding/json"

	"github.com/awaken-go/awaken/internal/appendjson"
)

// Writer writes frames that are JSON objects with a type. It keeps the first error for End, so
// that an encoder need not check every frame.
type Writer struct {
	frames *Frames
	err    error
}

// Begin directs w to f.
func (w *Writer) Begin(f *Frames) { w.frames, w.err = f, nil }

// End releases the frames and returns the first error since Begin.
func (w *Writer) End() error {
	w.frames = nil
	return w.err
}

// Fail records err, unless it is nil or an earlier error was recorded.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Object begins a frame: a JSON object of the given type. The caller ends it with Close.
func (w *Writer) Object(kind string) Object {
	return Object{w: w, buf: append(append(append(w.frames.Open(), `{"type":"`...), kind...), '"')}
}

// Object is a frame under construction. A field's name includes its punctuation, as in
// `,"id":`.
type Object struct {
	w   *Writer
	buf []byte
	err error
}

// Text adds a string field.
func (o Object) Text(name, s string) Object {
	o.buf = appendjson.Text(o.buf, name, s)
	return o
}

// TextIf adds a string field, unless it is empty.
func (o Object) TextIf(name, s string) Object {
	o.buf = appendjson.TextIf(o.buf, name, s)
	return o
}

// JSON adds a field that is encoded already. It is validated and compacted; nil is null.
func (o Object) JSON(name string, raw json.RawMessage) Object {
	return o.with(appendjson.Raw(o.buf, name, raw))
}

// Value adds a field that encoding/json encodes.
func (o Object) Value(name string, v any) Object {
	return o.with(appendjson.Value(o.buf, name, v))
}

// Append adds a field whose value is appended by a function.
func (o Object) Append(name string, value func(buf []byte) ([]byte, error)) Object {
	return o.with(value(append(o.buf, name...)))
}

// Add adds a fragment of JSON as it is.
func (o Object) Add(text string) Object {
	o.buf = append(o.buf, text...)
	return o
}

func (o Object) with(buf []byte, err error) Object {
	if o.err == nil {
		o.buf, o.err = buf, err
	}
	return o
}

// Close ends the frame. If encoding a field failed, the frame is dropped and the error
// recorded.
func (o Object) Close() {
	if o.err != nil {
		o.w.Fail(o.err)
		return
	}
	o.w.frames.Close(append(o.buf, '}'))
}
