package a2a_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestProtocol(t *testing.T) {
	for name, path := range map[string]string{"REST": "/v1/a2a/message:stream", "JSONRPC": "/v1/a2a"} {
		t.Run(name, func(t *testing.T) {
			protocoltest.Test(t, protocoltest.Protocol{
				Routes: routes(t, a2a.Config{}),
				Golden: golden,
				Say: func(agent, thread, text string) protocoltest.Request {
					body := fmt.Sprintf(`{"tenant":%q,"message":{"messageId":"message-of-%s","contextId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, agent, thread, thread, text)
					if name == "JSONRPC" {
						body = `{"jsonrpc":"2.0","id":"a","method":"SendStreamingMessage","params":` + body + `}`
					}
					return protocoltest.Request{Method: http.MethodPost, Path: path, Body: body}
				},
				Again: func(said protocoltest.Request, _ http.Header) protocoltest.Request { return said },
			})
		})
	}
}

const goldenRuns = "../../testdata/runs"

// golden returns the streams of the golden runs.
func golden(tb testing.TB) (out []func(protocol.Position) string) {
	tb.Helper()
	for _, a := range archives(tb) {
		entries := entriesOf(tb, a)
		out = append(out, func(has protocol.Position) string { return encode(tb, entries, a2a.Options{}, has) })
	}
	return out
}

func archives(tb testing.TB) (out []*txtar.Archive) {
	tb.Helper()
	files, err := filepath.Glob(goldenRuns + "/*.txtar")
	if err != nil || len(files) < 100 {
		tb.Fatalf("%d runs, %v", len(files), err)
	}
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		a.Comment = []byte(filepath.Base(f))
		out = append(out, a)
	}
	return out
}

// encode encodes entries for a client at a position, as the server does.
func encode(tb testing.TB, entries []awaken.Entry, opts a2a.Options, has protocol.Position) string {
	tb.Helper()
	enc := a2a.NewEncoder(opts)
	var f protocol.Frames
	for i := range entries {
		e := &entries[i]
		have, n := 0, len(f.Bytes())
		if e.Seq == has.Seq {
			have = has.Frames
		}
		f.Entry(e.Cursor, have)
		if err := enc.Encode(&f, e); err != nil {
			tb.Fatal(err)
		}
		if e.Seq < has.Seq {
			f.Into(f.Bytes()[:n])
		}
	}
	return string(f.Bytes())
}
