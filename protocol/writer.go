package protocol

import (
	"encoding/json"

	"github.com/awaken-go/awaken/internal/appendjson"
)

// Writer writes frames that are JSON objects with a type. It keeps the first error for End,
// so that an encoder need not look at each frame.
type Writer struct {
	frames *Frames
	err    error
}

// Begin makes w write to f.
func (w *Writer) Begin(f *Frames) { w.frames, w.err = f, nil }

// End lets go of the frames. It returns the first error since Begin.
func (w *Writer) End() error {
	w.frames = nil
	return w.err
}

// Fail makes End return err, unless it is nil or not the first.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Object begins a frame: an object of the given type, which Close ends.
func (w *Writer) Object(kind string) Object {
	return Object{w: w, buf: append(append(append(w.frames.Open(), `{"type":"`...), kind...), '"')}
}

// Object is a frame that is being written. Fields are named as in appendjson: `,"id":`.
type Object struct {
	w   *Writer
	buf []byte
	err error
}

// Text adds a field that is a string.
func (o Object) Text(name, s string) Object {
	o.buf = appendjson.Text(o.buf, name, s)
	return o
}

// TextIf adds a field that is a string, unless it is empty.
func (o Object) TextIf(name, s string) Object {
	o.buf = appendjson.TextIf(o.buf, name, s)
	return o
}

// JSON adds a field that is JSON already.
func (o Object) JSON(name string, raw json.RawMessage) Object {
	return o.with(appendjson.Raw(o.buf, name, raw))
}

// Value adds a field that encoding/json encodes.
func (o Object) Value(name string, v any) Object {
	return o.with(appendjson.Value(o.buf, name, v))
}

// Append adds a field whose value a function appends.
func (o Object) Append(name string, value func(buf []byte) ([]byte, error)) Object {
	return o.with(value(append(o.buf, name...)))
}

// Add adds text that is part of a JSON object.
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

// Close ends the frame. One that could not be encoded is left out.
func (o Object) Close() {
	if o.err != nil {
		o.w.Fail(o.err)
		return
	}
	o.w.frames.Close(append(o.buf, '}'))
}
