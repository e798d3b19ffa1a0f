package agui_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestProtocol(t *testing.T) {
	post := func(format string, args ...any) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/v1/ag-ui/run", Body: fmt.Sprintf(format, args...)}
	}
	protocoltest.Test(t, protocoltest.Protocol{
		Routes: agui.Routes(),
		Golden: func(tb testing.TB) (out []func(protocol.Position) string) {
			files, err := filepath.Glob(goldenRuns + "/*.txtar")
			if err != nil {
				tb.Fatal(err)
			}
			for _, f := range files {
				a, err := txtar.ParseFile(f)
				if err != nil {
					tb.Fatal(err)
				}
				out = append(out, func(has protocol.Position) string { return encodeAfter(tb, a, has) })
			}
			return out
		},
		Say: func(agent, thread, text string) protocoltest.Request {
			return post(`{"threadId":%q,"runId":"run-of-%s","agentId":%q,"messages":[{"id":"message-of-%s","role":"user","content":%q}]}`, thread, thread, agent, thread, text)
		},
		Instruct: func(agent, thread, text string) protocoltest.Request {
			return post(`{"threadId":%q,"runId":"run-of-%s","agentId":%q,"state":{"page":%q},"tools":[{"name":"fail","description":"mine"}],
				"messages":[{"id":"s","role":"developer","content":%q},{"id":"m","role":"user","content":"RUN_TOOL fail"}]}`, thread, thread, agent, text, text)
		},
		Again: func(said protocoltest.Request, _ http.Header) protocoltest.Request { return said },
		Approve: func(thread, ticket, scope string) protocoltest.Request {
			return post(`{"threadId":%q,"runId":"approves","resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true,"remember":%q}}]}`, thread, ticket, scope)
		},
	})
}

// encodeAfter encodes a golden file for a client at a position, as the server does.
func encodeAfter(t testing.TB, a *txtar.Archive, has protocol.Position) string {
	t.Helper()
	enc := agui.NewEncoder(agui.Options{Current: true})
	var f protocol.Frames
	at := awaken.Cursor{Epoch: 1}
	for _, section := range a.Files {
		if !eventSection.MatchString(section.Name) {
			continue
		}
		for _, ev := range eventsOf(t, section.Data) {
			at.Seq++
			have, n := 0, len(f.Bytes())
			if at.Seq == has.Seq {
				have = has.Frames
			}
			f.Entry(at, have)
			if err := enc.Encode(&f, &awaken.Entry{Cursor: at, Event: ev}); err != nil {
				t.Fatal(err)
			}
			if at.Seq < has.Seq {
				f.Into(f.Bytes()[:n])
			}
		}
	}
	return string(f.Bytes())
}
