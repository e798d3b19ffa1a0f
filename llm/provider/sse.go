package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
)

// Event is a server-sent event. It is valid until the next one.
type Event struct {
	Type []byte // empty if absent
	Data []byte
}

// readEvents yields the server-sent events of r, as [API.PostEvents] describes. An error of r is
// yielded last, unchanged. An event of more than most bytes is an error.
func readEvents(r io.Reader, most int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		br := bufio.NewReaderSize(r, 8<<10)
		var line, kind, data []byte
		from := 0     // where the value begins in data, which was a line
		some := false // a data field was seen, possibly empty
		for first := true; ; first = false {
			var err error
			if line, err = readLine(br, line[:0], most); err != nil && err != io.EOF {
				yield(Event{}, err)
				return
			}
			if first {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			last, blank := err == io.EOF, len(line) == 0
			if !blank {
				name, value, _ := bytes.Cut(line, []byte(":"))
				value = bytes.TrimPrefix(value, []byte(" "))
				switch string(name) {
				case "event":
					kind = append(kind[:0], value...)
				case "data":
					if some {
						data = append(append(data, '\n'), value...)
					} else { // the line becomes the data: it may be large
						from, some = len(line)-len(value), true
						line, data = data[:0], line
					}
				}
				if len(data)-from > most {
					yield(Event{}, tooLong(most))
					return
				}
			}
			if value := data[min(from, len(data)):]; (blank || last) && some && len(value) > 0 && (!last || whole(value)) {
				if err := checkValues(value); err != nil {
					yield(Event{}, err)
					return
				}
				if !yield(Event{kind, value}, nil) {
					return
				}
			}
			if last {
				return
			}
			if blank {
				kind, data, some, from = kind[:0], small(data), false, 0
			}
		}
	}
}

func whole(data []byte) bool { return json.Valid(data) || string(data) == "[DONE]" }

// small returns the memory of a buffer, for other content, unless it is large.
func small(buf []byte) []byte {
	if cap(buf) > 64<<10 {
		return nil
	}
	return buf[:0]
}

// readLine appends the next line, without its end, to buf. A line of more than most bytes is an error.
func readLine(br *bufio.Reader, buf []byte, most int) ([]byte, error) {
	for {
		part, err := br.ReadSlice('\n')
		if n := len(buf) + len(part); n > cap(buf) {
			buf = slices.Grow(buf, max(n, 2*cap(buf))-len(buf))
		}
		buf = append(buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(buf) > most {
				return buf, tooLong(most)
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
