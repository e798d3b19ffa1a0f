package rigtest

import (
	"bufio"
	"io"
	"iter"
	"strings"
)

// Frame is a frame of a stream of server-sent events.
type Frame struct{ ID, Event, Data string }

// Frames reads the frames of a stream that have data. A stream that breaks off ends with an error other than [io.EOF]; one that is complete
// just ends.
func Frames(body io.Reader) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		var f Frame
		for lines := bufio.NewReaderSize(body, 64<<10); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				if err != io.EOF {
					yield(f, err)
				}
				return
			}
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch field {
			case "id":
				f.ID = value
			case "event":
				f.Event = value
			case "data":
				f.Data = value
			case "":
				if f.Data != "" && !yield(f, nil) {
					return
				}
				f = Frame{ID: f.ID}
			}
		}
	}
}
