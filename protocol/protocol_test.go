package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/store/memory"
)

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"1-2.3", "1-2", "", "0-0.0", "1-2.", "1-2.03", "1-2.-1", "1-2.99999999999", "x", "1-2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := protocol.ParsePosition(s)
		if err != nil {
			return
		}
		if p.String() != s && p != protocol.AfterAll(p.Cursor) {
			t.Errorf("%q is read as %s", s, p)
		}
	})
}

// Frames that a client has are skipped, and the others keep their ids.
func TestFrames(t *testing.T) {
	at := awaken.Cursor{Epoch: 2, Seq: 7}
	encode := func(have int) (string, int) {
		var f protocol.Frames
		f.Into([]byte("before|"))
		f.Entry(at, have)
		f.Data([]byte("a"))
		f.Close(append(f.Open(), "b"...))
		added := f.Added()
		f.Unnamed()
		f.Data([]byte("end"))
		return string(f.Bytes()), added
	}
	const a, b, end = "id: 2-7.1\ndata: a\n\n", "id: 2-7.2\ndata: b\n\n", "data: end\n\n"
	for have, want := range map[int]string{0: a + b + end, 1: b + end, 2: end, 100: end} {
		if got, added := encode(have); got != "before|"+want || added != max(0, 2-have) {
			t.Errorf("having %d: %q, %d added, want %q", have, got, added, want)
		}
	}
}

func TestMedia(t *testing.T) {
	for _, c := range []struct{ mediaType, url, want string }{
		{"image/png", "data:image/png;base64,AAAA", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"},"title":"a.txt"}`},
		{"", "data:audio/mpeg;base64,AAAA", `{"type":"audio","source":{"type":"base64","media_type":"audio/mpeg","data":"AAAA"},"title":"a.txt"}`},
		{"text/plain", "data:text/plain;charset=utf-8,hello%20you", `{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"aGVsbG8geW91"},"title":"a.txt"}`},
		{"", "data:,x", `{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"eA=="},"title":"a.txt"}`},
		{"video/mp4", "https://example.com/a.mp4", `{"type":"video","source":{"type":"url","media_type":"video/mp4","url":"https://example.com/a.mp4"},"title":"a.txt"}`},
		{"application/pdf", "http://example.com/a.pdf", `{"type":"document","source":{"type":"url","media_type":"application/pdf","url":"http://example.com/a.pdf"},"title":"a.txt"}`},
		{"image/png", "data:image/png;base64", `! without a comma`},
		{"image/png", "data:image/png;base64,*", `! cannot decode`},
		{"image/png", "data:text/plain,x", `! but its data: URL says`},
		{"text/plain", "data:text/plain,%zz", `! cannot decode`},
		{"image/png", "javascript:alert(1)", `! want a data:, https: or http: URL`},
		{"image/png", "https://", `! want a data:, https: or http: URL`},
		{"", "https://example.com/a", `! part.mediaType is ""`},
		{"application/zip", "https://example.com/a", `! part.mediaType is "application/zip"`},
		{"image/png", "data:image/png;base64," + strings.Repeat("AAAA", 20), `! longer than 32 bytes`},
	} {
		m := protocol.Media{MaxBytes: 32}
		block, err := m.URL("part", c.mediaType, c.url, "a.txt")
		got, _ := json.Marshal(block)
		if wrong, ok := strings.CutPrefix(c.want, "! "); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s %.60s: %v, want %q", c.mediaType, c.url, err, wrong)
			}
		} else if err != nil || string(got) != c.want {
			t.Errorf("%s %s: %s %v, want %s", c.mediaType, c.url, got, err, c.want)
		}
	}
}

func tenant(t *testing.T) *mailbox.Tenant {
	t.Helper()
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()}})
	if err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	return box.Tenant("")
}

// call is a request to a tenant.
type call struct {
	protocol.Call
	ctx    context.Context
	tenant *mailbox.Tenant
}

func (c *call) Context() context.Context { return c.ctx }
func (c *call) Tenant() *mailbox.Tenant  { return c.tenant }
func (c *call) Recent(threadID string, messages int) (*mailbox.Recent, error) {
	r, err := c.tenant.Store.Recent(c.ctx, threadID, messages)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	return r, err
}

// Messages before a stored one count as stored, and no more of a long log is read than needed.
func TestReceive_FindsTheFirstMessageThatIsNotStored(t *testing.T) {
	tn := tenant(t)
	ctx := t.Context()
	c := &call{ctx: ctx, tenant: tn}
	if r, err := protocol.Receive(c, "t", []string{"a", "b"}); r.Recent != nil || r.Open() != nil || r.Unseen != 0 || err != nil {
		t.Errorf("a thread that is not there: %+v %v", r, err)
	}
	cp, err := tn.Store.Acquire(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	var msgs []*llm.Message
	for i := range 1000 {
		msgs = append(msgs, &llm.Message{ID: fmt.Sprint("m", i), Role: llm.User, Content: []llm.Block{llm.Text("x")}})
	}
	if err := tn.Store.Commit(ctx, &awaken.Commit{ThreadID: "t", Fence: cp.Fence, Number: 1, Messages: msgs,
		Run: awaken.Run{RunID: "r", ThreadID: "t", AgentID: "default", Status: awaken.RunRunning, CreatedAt: 1, UpdatedAt: 1}}); err != nil {
		t.Fatal(err)
	}
	for want, ids := range map[int][]string{
		0: {"new", "newer"},
		1: {"m3", "new"},
		2: {"lost", "m999", "new", ""},
		3: {"m0", "m1", "m2"},
	} {
		if r, err := protocol.Receive(c, "t", ids); err != nil || r.Unseen != want || r.Thread.MessageCount != 1000 || r.Open() == nil || r.Open().RunID != "r" {
			t.Errorf("%q: %+v %v, want %d", ids, r, err, want)
		}
	}
}

// People see all messages, even if models see a summary of them, but no rewound ones.
func TestConversation(t *testing.T) {
	tn := tenant(t)
	ctx := t.Context()
	cp, err := tn.Store.Acquire(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	said := func(id string, role llm.Role, md *llm.Metadata) *llm.Message {
		return &llm.Message{ID: id, Role: role, Content: []llm.Block{llm.Text(id)}, Metadata: md}
	}
	if err := tn.Store.Commit(ctx, &awaken.Commit{ThreadID: "t", Fence: cp.Fence, Number: 1, Messages: []*llm.Message{
		said("one", llm.User, nil), said("two", llm.Assistant, nil),
		said("summary", llm.User, &llm.Metadata{Compaction: &llm.Interval{FromSeq: 1, ToSeq: 2}}),
		said("three", llm.User, nil), said("taken back", llm.Assistant, nil),
		said("rewind", llm.System, &llm.Metadata{Rewind: &llm.Rewind{FromSeq: 5}}), said("four", llm.Assistant, nil),
	}, Run: awaken.Run{RunID: "r", ThreadID: "t", AgentID: "default", Status: awaken.RunRunning, CreatedAt: 1, UpdatedAt: 1}}); err != nil {
		t.Fatal(err)
	}
	view, err := protocol.Conversation(ctx, tn, "t")
	var got []string
	for _, m := range view {
		if !m.IsInternal() {
			got = append(got, m.ID)
		}
	}
	if err != nil || fmt.Sprint(got) != "[one two three four]" {
		t.Errorf("%q %v", got, err)
	}
}

func TestContextMessage(t *testing.T) {
	for _, nothing := range []string{"", "null", " {} ", "[]"} {
		if m := protocol.ContextMessage(json.RawMessage(nothing)); m != nil {
			t.Errorf("%q: %v", nothing, m)
		}
	}
	m := protocol.ContextMessage(json.RawMessage(`{"a":1}`))
	if m.Text() != "<frontend-context>\n{\"a\":1}\n</frontend-context>" || !m.IsInternal() || m.Role != llm.System {
		t.Errorf("%+v", m)
	}
}

// An id that a path cannot name is refused.
func TestCheckID_RefusesDots(t *testing.T) {
	for id, ok := range map[string]bool{"": true, ".": false, "..": false, "...": true, ".a": true} {
		if err := protocol.CheckID("thread_id", id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}
