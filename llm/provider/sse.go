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

// maxEvent is how large an event may be: a reply with an image in it is one.
const maxEvent = 64 << 20

// Event is a server-sent event. It is valid until the next one.
type Event struct {
	Type []byte // empty if it has none
	Data []byte
}

// readEvents reads server-sent events until the end of r. Comments, fields other than event and
// data, and events without data are skipped. An event that was cut off is not yielded,
// except if its data is whole: some servers forget the last empty line. An error of r is
// yielded as it is, last.
func readEvents(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		br := bufio.NewReaderSize(r, 8<<10)
		var line, kind, data []byte
		some := false // data has been seen, perhaps empty
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

var errTooLarge = &llm.Error{Kind: llm.Provider, Message: "an event of the stream is too large"}

func whole(data []byte) bool { return json.Valid(data) || string(data) == "[DONE]" }

// readLine appends a line without its end to buf.
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
