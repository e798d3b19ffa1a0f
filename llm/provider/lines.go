package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// readLines yields the lines of r, each a JSON value. It skips blank lines, and yields a last line
// without a newline only if it is complete. A line is valid until the next one. An error of r is
// yielded last, unchanged. A line of more than most bytes is an error.
func readLines(r io.Reader, most int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(r, 8<<10)
		var line []byte
		for {
			var err error
			if line, err = readLine(br, small(line), most); err != nil && err != io.EOF {
				yield(nil, err)
				return
			}
			value := bytes.TrimSpace(line)
			if len(value) > 0 && (err == nil || json.Valid(value)) {
				if err := checkValues(value); err != nil {
					yield(nil, err)
					return
				}
				if !yield(value, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}
