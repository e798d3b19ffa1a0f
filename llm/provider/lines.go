package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// readLines reads a stream of JSON values, one on each line, until the end of r. Blank lines are
// skipped. A last line without an end is yielded only if it is whole. What is yielded is valid
// until the next line. An error of r is yielded as it is, last.
func readLines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(r, 8<<10)
		var line []byte
		for {
			var err error
			if line, err = readLine(br, line[:0]); err != nil && err != io.EOF {
				yield(nil, err)
				return
			}
			value := bytes.TrimSpace(line)
			if len(value) > 0 && (err == nil || json.Valid(value)) && !yield(value, nil) {
				return
			}
			if err == io.EOF {
				return
			}
		}
	}
}
