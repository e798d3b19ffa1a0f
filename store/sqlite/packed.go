package sqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A commit says some things several times: the id of its run, and the records of its calls, which
// snapshots of the state show. The columns messages, entries and calls of its row have references
// instead. They begin with characters that JSON does not contain, so what is packed can be told
// from what earlier versions wrote, and is the same text when it is unpacked.
const (
	runReference  = '\x01' // the id in the column run
	callReference = '\x02' // the record in the column calls that the next byte says, counted from '0'
)

const (
	shortestRun = 8  // an id that is shorter is not replaced
	mostCalls   = 64 // the records that can be referred to
)

// packRun replaces the id of the run in buf, from an offset on.
func packRun(buf []byte, from int, run []byte) []byte {
	if len(run) < shortestRun || len(buf) < from {
		return buf
	}
	to := from
	for {
		i := bytes.Index(buf[from:], run)
		if i < 0 {
			break
		}
		to += copy(buf[to:], buf[from:from+i])
		buf[to] = runReference
		to, from = to+1, from+i+len(run)
	}
	to += copy(buf[to:], buf[from:])
	return buf[:to]
}

// packCalls replaces in buf, from an offset on, the records of the column calls, which begin at
// starts. All are packed with the run. A record is an object, so it cannot begin within a reference.
func packCalls(buf []byte, from int, calls string, starts []int) []byte {
	for n, start := range starts[:min(len(starts), mostCalls)] {
		end := len(calls) - 1
		if n+1 < len(starts) {
			end = starts[n+1] - 1
		}
		if i := bytes.Index(buf[from:], []byte(calls[start:end])); i >= 0 {
			at := from + i
			buf[at], buf[at+1] = callReference, '0'+byte(n)
			buf = append(buf[:at+2], buf[at+end-start:]...)
		}
	}
	return buf
}

// unpackRun returns the text of a column.
func unpackRun(text, run string) string {
	if strings.IndexByte(text, runReference) < 0 {
		return text
	}
	return strings.ReplaceAll(text, string(runReference), run)
}

// unpackEntries returns the text of the column entries. Calls is the column calls as it is.
func unpackEntries(text string, calls []byte, run string) (string, error) {
	if strings.IndexByte(text, callReference) < 0 {
		return unpackRun(text, run), nil
	}
	var records []json.RawMessage
	if err := json.Unmarshal([]byte(unpackRun(string(calls), run)), &records); err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, string(callReference))
		b.WriteString(unpackRun(before, run))
		if !found {
			return b.String(), nil
		}
		if after == "" || int(after[0])-'0' >= len(records) || after[0] < '0' {
			return "", fmt.Errorf("the ledger of the row has no record %.1q", after)
		}
		b.Write(records[after[0]-'0'])
		text = after[1:]
	}
}
