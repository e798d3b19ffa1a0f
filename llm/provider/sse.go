package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/awaken-go/awaken/llm"
)

// maxEvent limits the size of an event. A reply that contains an image is one event.
const maxEvent = 64 << 20

// Event is a server-sent event. It is valid until the next one.
type Event struct {
	Type []byte // empty if absent
	Data []byte
}

// readEvents yields the server-sent events of r, as [API.PostEvents] describes. An error of r is
// yielded last, unchanged.
func readEvents(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		br := bufio.NewReaderSize(r, 8<<10)
		var line, kind, data []byte
		some := false // a data field was seen, possibly empty
		for first := true; ; first = false {
			var err error
			if line, err = readLine(br, line[:0]); err != nil && err != io.EOF {
				yield(Event{}, err)
				return
			}
			if first {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			last := err == io.EOF
			if len(line) > 0 {
				name, value, _ := bytes.Cut(line, []byte(":"))
				value = bytes.TrimPrefix(value, []byte(" "))
				switch string(name) {
				case "event":
					kind = append(kind[:0], value...)
				case "data":
					if some {
						data = append(data, '\n')
					}
					data, some = append(data, value...), true
				}
				if len(data) > maxEvent {
					yield(Event{}, errTooLarge)
					return
				}
			}
			if (len(line) == 0 || last) && some && len(data) > 0 && (!last || whole(data)) {
				if !yield(Event{kind, data}, nil) {
					return
				}
			}
			if last {
				return
			}
			if len(line) == 0 {
				kind, data, some = kind[:0], data[:0], false
			}
		}
	}
}

var errTooLarge = &llm.Error{Kind: llm.Provider, Message: "an event of the stream is larger than 64 MiB"}

func whole(data []byte) bool { return json.Valid(data) || string(data) == "[DONE]" }

// readLine appends the next line, without its end, to buf.
func readLine(br *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := br.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(buf) > maxEvent {
				return buf, errTooLarge
			}
			continue
		case err == nil:
			buf = buf[:len(buf)-1]
		}
		if n := len(buf); n > 0 && buf[n-1] == '\r' {
			buf = buf[:n-1]
		}
		return buf, err
	}
}
