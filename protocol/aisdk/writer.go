package aisdk

import (
	"encoding/json"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/protocol"
)

// writer adds chunks to the frames of an entry.
type writer struct {
	frames *protocol.Frames // while something is being encoded
	err    error            // of the first chunk that could not be
}

// bare adds a chunk that is only a type.
func (w *writer) bare(kind string) {
	w.frames.Close(append(append(append(w.frames.Open(), `{"type":"`...), kind...), `"}`...))
}

// of adds a chunk that has a type and an id.
func (w *writer) of(kind, id string) {
	buf := append(append(append(w.frames.Open(), `{"type":"`...), kind...), '"')
	w.frames.Close(append(appendjson.Text(buf, `,"id":`, id), '}'))
}

// data begins a custom part. A part of the same name and id takes its place.
func (w *writer) data(name, id string) []byte {
	buf := append(append(append(w.frames.Open(), `{"type":"data-`...), name...), '"')
	return append(appendjson.TextIf(buf, `,"id":`, id), `,"data":`...)
}

// transient ends a custom part that is not kept with the message.
func (w *writer) transient(buf []byte) { w.frames.Close(append(buf, `,"transient":true}`...)) }

// close ends a chunk, or remembers that it could not be made.
func (w *writer) close(buf []byte, err error) {
	if err != nil {
		if w.err == nil {
			w.err = err
		}
		return
	}
	w.frames.Close(append(buf, '}'))
}

// object adds a custom part of which a run has only a few.
func (w *writer) object(name, id string, transient bool, v any) {
	data, err := json.Marshal(v)
	buf := append(w.data(name, id), data...)
	if err == nil && transient {
		buf = append(buf, `,"transient":true`...)
	}
	w.close(buf, err)
}

func (w *writer) file(address, mediaType string) {
	buf := appendjson.Text(append(w.frames.Open(), `{"type":"file"`...), `,"url":`, address)
	w.frames.Close(append(appendjson.Text(buf, `,"mediaType":`, mediaType), '}'))
}

func (w *writer) failed(message string) {
	if message == "" {
		message = "the run failed"
	}
	buf := append(w.frames.Open(), `{"type":"error"`...)
	w.frames.Close(append(appendjson.Text(buf, `,"errorText":`, message), '}'))
}
