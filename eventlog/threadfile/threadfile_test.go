package threadfile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog/threadfile"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/sqlite"
)

// talked returns a store with a thread t1 that had runs with the agent.
func talked(t *testing.T, runs int) *memory.Store {
	t.Helper()
	store := memory.New()
	cfg := engine.Config{Store: store, Agents: []*awaken.AgentSpec{{ID: "guide", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()}}
	h := awakentest.New(t, cfg)
	for i := range runs {
		rec := h.Run(awaken.RunRequest{AgentID: "guide", ThreadID: "t1", Messages: []*llm.Message{llm.UserText(fmt.Sprintf("<%d> ☃", i))}})
		if rec.Err != nil {
			t.Fatal(rec.Err)
		}
	}
	return store
}

func export(t *testing.T, store awaken.Store, id string) string {
	t.Helper()
	var buf bytes.Buffer
	if err := threadfile.Export(t.Context(), store, id, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func logOf(t *testing.T, store awaken.Store, id string) (out []string) {
	t.Helper()
	records, err := store.Messages(t.Context(), id, awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		data, err := json.Marshal(r.Message)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}

func TestImport_MakesTheSameLog(t *testing.T) {
	from := talked(t, 300) // more than a page of messages and of runs
	if _, err := from.UpdateThread(t.Context(), "t1", func(th *awaken.Thread) error {
		th.Metadata.Title, th.Metadata.Custom = "A title", map[string]json.RawMessage{"a": json.RawMessage("1")}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	text := export(t, from, "t1")
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, to := range map[string]awaken.Store{"memory": memory.New(), "sqlite": db.Store("")} {
		th, err := threadfile.Import(t.Context(), to, strings.NewReader(text), "")
		if err != nil {
			t.Fatal(err)
		}
		if th.ID != "t1" || th.MessageCount != 600 || th.Metadata.Title != "A title" || string(th.Metadata.Custom["a"]) != "1" {
			t.Errorf("%s: thread is %+v", name, th)
		}
		if diff := cmp.Diff(logOf(t, from, "t1"), logOf(t, to, "t1")); diff != "" {
			t.Errorf("%s: the log differs:\n%s", name, diff)
		}
		run, err := to.LoadRun(t.Context(), th.LatestRunID)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status != awaken.RunDone || run.StatusReason != "imported" || run.AgentID != "guide" || run.Input != (llm.Interval{FromSeq: 1, ToSeq: 600}) || run.Usage != (llm.Usage{}) {
			t.Errorf("%s: run is %+v", name, run)
		}
		again := export(t, to, "t1")
		if _, err := threadfile.Import(t.Context(), memory.New(), strings.NewReader(again), "other"); err != nil {
			t.Errorf("%s: what was imported cannot be exported: %v", name, err)
		}
	}
}

func TestImport_DoesNotTouchAThreadThatExists(t *testing.T) {
	store := talked(t, 1)
	text := export(t, store, "t1")
	owner, err := store.Acquire(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := threadfile.Import(t.Context(), store, strings.NewReader(text), ""); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	next, err := store.Acquire(t.Context(), "t1")
	if err != nil || next.Fence != owner.Fence+1 {
		t.Errorf("the owner was disturbed: fence %d after %d, %v", next.Fence, owner.Fence, err)
	}
	if _, err := threadfile.Import(t.Context(), store, strings.NewReader(text), "t2"); err != nil {
		t.Error(err)
	}
	if _, err := threadfile.Import(t.Context(), store, strings.NewReader(text), " "); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("a blank id: %v", err)
	}
}

// A thread that was taken but never written to is as good as none.
func TestImport_FillsAThreadThatIsBlank(t *testing.T) {
	store := talked(t, 1)
	if _, err := store.Acquire(t.Context(), "t2"); err != nil {
		t.Fatal(err)
	}
	if _, err := threadfile.Import(t.Context(), store, strings.NewReader(export(t, store, "t1")), "t2"); err != nil {
		t.Error(err)
	}
}

func TestImport_NoticesEveryCutAndEveryChangedByte(t *testing.T) {
	text := export(t, talked(t, 1), "t1")
	for i := range len(text) {
		for _, bad := range []string{text[:i], text[:i] + string(text[i]^1) + text[i+1:]} {
			store := memory.New()
			_, err := threadfile.Import(t.Context(), store, strings.NewReader(bad), "")
			if e, ok := errors.AsType[*threadfile.FormatError](err); !ok || e.Line < 1 || !errors.Is(err, awaken.ErrInvalid) {
				t.Fatalf("byte %d: %v, want a FormatError", i, err)
			}
			if all, _ := store.ListThreads(t.Context(), awaken.ThreadQuery{}); len(all) > 0 {
				t.Fatalf("byte %d: something was written", i)
			}
		}
	}
}

func TestImport_SaysWhatIsWrongAndWhere(t *testing.T) {
	const (
		head = `{"format":"awaken.thread","version":1,"thread":{"id":"t1","metadata":{},"message_count":1}}` + "\n"
		msg  = `{"message":{"thread_id":"t1","seq":1,"message":{"role":"user","content":[]}}}` + "\n"
		run  = `{"run":{"run_id":"r","thread_id":"t1","agent_id":"a","status":"running","created_at":1,"updated_at":1,"steps":0,"input_tokens":0,"output_tokens":0}}` + "\n"
	)
	for _, c := range []struct{ text, want string }{
		{"", "line 1: the file is empty"},
		{"\n", "line 1: not a thread file: not JSON"},
		{"SQLite format 3\x00\n", "line 1: not a thread file"},
		{`{"format":"other"}` + "\n", `line 1: not a thread file: format is "other"`},
		{`{"format":"awaken.thread","version":2,"thread":{},"more":1}` + "\n", "line 1: version is 2, want 1"},
		{`{"format":"awaken.thread","version":1}` + "\n", `line 1: field "thread" is missing`},
		{`{"format":"awaken.thread","version":1,"thread":{"id":" ","metadata":{},"message_count":0}}` + "\n", "line 1: the thread has no id"},
		{`{"format":"awaken.thread","version":1,"thread":{"id":"x","bogus":1}}` + "\n", "bogus"},
		{head, "line 2: the file is cut off"},
		{head + msg[:20], "line 2: the file is cut off"},
		{head + "\n", "line 2: not JSON"},
		{head + "{}\n", "line 2: want one of message, run and end"},
		{head + `{"message":null}` + "\n", "line 2: want one of"},
		{head + strings.Replace(msg, `"t1"`, `"t2"`, 1), `line 2: the message belongs to thread "t2"`},
		{head + strings.Replace(msg, `"seq":1`, `"seq":2`, 1), "line 2: seq is 2, want 1"},
		{head + strings.Replace(msg, `"user"`, `"visitor"`, 1), "line 2: "},
		{head + strings.Replace(msg, `"content":[]`, `"content":[],"metadata":{"rewind":{"from_seq":0}}`, 1), "line 2: rewind.from_seq is 0"},
		{head + strings.Replace(msg, `"content":[]`, `"content":[],"metadata":{"compaction":{"from_seq":3,"to_seq":1}}`, 1), "line 2: compaction is from 3 to 1"},
		{head + `{"message":{"thread_id":"t1","seq":1}}` + "\n", `line 2: field "message" is missing`},
		{head + msg + strings.Replace(run, "running", "done", 1), "line 3: run \"r\": status is done but"},
		{head + msg + strings.Replace(run, `"t1"`, `"t2"`, 1), `line 3: the run belongs to thread "t2"`},
		{head + run + msg, "line 3: a message follows the runs"},
		{head + msg + `{"end":{"messages":2,"runs":0,"sha256":""}}` + "\n", "line 3: the file has 1 messages and 0 runs, but its end says 2 and 0"},
		{head + `{"end":{"messages":0,"runs":0,"sha256":""}}` + "\n", "line 2: the file has 0 messages, but its header says 1"},
		{head + msg + `{"end":{"messages":1,"runs":0,"sha256":"00"}}` + "\n", "line 3: checksum mismatch"},
		{sealed(head+msg, 1, 0) + "\n", "line 4: unexpected data after the end"},
	} {
		_, err := threadfile.Import(t.Context(), memory.New(), strings.NewReader(c.text), "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := threadfile.Import(t.Context(), memory.New(), strings.NewReader(sealed(head+msg+run, 1, 1)), ""); err != nil {
		t.Error(err)
	}
}

// A call in doubt stays in doubt in a store that does not have its ledger. A call that waits for another question is just open.
func TestImport_KeepsADoubt(t *testing.T) {
	const (
		head = `{"format":"awaken.thread","version":1,"thread":{"id":"t1","metadata":{},"message_count":2}}
{"message":{"thread_id":"t1","seq":1,"message":{"role":"user","content":[{"type":"text","text":"pay"}]}}}
{"message":{"thread_id":"t1","seq":2,"message":{"role":"assistant","content":[],"tool_calls":[` +
			`{"id":"c1","name":"pay","arguments":{}},{"id":"c2","name":"ask","arguments":{}}]}}}
`
		run = `{"run":{"run_id":"r","thread_id":"t1","agent_id":"a","status":"waiting",` +
			`"waiting":{"reason":"tool_permission","ticket_ids":["x","y"],"tickets":[` +
			`{"ticket_id":"x","tool_call_id":"c1","tool_name":"pay","arguments":{},"resume_mode":"replay_tool_call","updated_at":1,` +
			`"in_doubt":{"since":1,"origin":"intent"}},` +
			`{"ticket_id":"y","tool_call_id":"c2","tool_name":"ask","arguments":{},"resume_mode":"replay_tool_call","updated_at":1}]},` +
			`"created_at":1,"updated_at":1,"steps":1,"input_tokens":0,"output_tokens":0}}` + "\n"
	)
	store := memory.New()
	if _, err := threadfile.Import(t.Context(), store, strings.NewReader(sealed(head+run, 2, 1)), ""); err != nil {
		t.Fatal(err)
	}
	log := logOf(t, store, "t1")
	last := log[len(log)-1]
	if len(log) != 3 || !strings.Contains(last, `"tool_call_id":"c1"`) || !strings.Contains(last, "whether it took effect is not known") {
		t.Errorf("the log is %s, want one answer, to the call in doubt", log)
	}
}

// sealed puts an end behind a file.
func sealed(text string, messages, runs int) string {
	sum := sha256.Sum256([]byte(text))
	return text + fmt.Sprintf(`{"end":{"messages":%d,"runs":%d,"sha256":"%s"}}`+"\n", messages, runs, hex.EncodeToString(sum[:]))
}

func TestImport_DistinguishesReadErrorsFromBadFiles(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := threadfile.Import(t.Context(), memory.New(), readerFunc(func([]byte) (int, error) { return 0, broken }), "")
	if _, ok := errors.AsType[*threadfile.FormatError](err); ok || !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestExport_MissingThread(t *testing.T) {
	var buf bytes.Buffer
	if err := threadfile.Export(t.Context(), memory.New(), "t1", &buf); !errors.Is(err, awaken.ErrNotFound) || buf.Len() > 0 {
		t.Errorf("got %v and %q", err, &buf)
	}
}

// FuzzImport: nothing makes Import panic, and what it takes can be exported and
// imported again. The bytes are sealed too, so that the fuzzer gets past the checksum.
func FuzzImport(f *testing.F) {
	const head = `{"format":"awaken.thread","version":1,"thread":{"id":"t1","metadata":{},"message_count":%d}}` + "\n"
	const msg = `{"message":{"thread_id":"t1","seq":%d,"message":%s}}` + "\n"
	f.Add([]byte(fmt.Sprintf(head, 0)), 0, 0)
	f.Add([]byte(fmt.Sprintf(head, 2)+fmt.Sprintf(msg, 1, `{"role":"user","content":[{"type":"text","text":"hi"}]}`)+
		fmt.Sprintf(msg, 2, `{"role":"assistant","content":[],"tool_calls":[{"id":"c","name":"n","arguments":{}}]}`)), 2, 0)
	f.Add([]byte(fmt.Sprintf(head, 2)+fmt.Sprintf(msg, 1, `{"role":"system","content":[],"metadata":{"rewind":{"from_seq":9}}}`)+
		fmt.Sprintf(msg, 2, `{"role":"system","content":[],"metadata":{"compaction":{"from_seq":1,"to_seq":99}}}`)), 2, 0)
	f.Add([]byte("{\"end\":{}}\n"), 0, 0)
	f.Fuzz(func(t *testing.T, data []byte, messages, runs int) {
		for _, text := range []string{string(data), sealed(string(data), messages, runs)} {
			store := memory.New()
			th, err := threadfile.Import(context.Background(), store, strings.NewReader(text), "")
			if err != nil {
				if _, ok := errors.AsType[*threadfile.FormatError](err); !ok {
					t.Fatalf("%v is no FormatError", err)
				}
				continue
			}
			if _, err := store.Acquire(context.Background(), th.ID); err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			if err := threadfile.Export(context.Background(), store, th.ID, &buf); err != nil {
				t.Fatal(err)
			}
			if _, err := threadfile.Import(context.Background(), memory.New(), &buf, ""); err != nil {
				t.Fatalf("imported and exported, it is refused: %v\n%s", err, buf.String())
			}
		}
	})
}

// A file has the stored files of its messages, and the thread that is made of it stores them again.
func TestImport_HasTheFiles(t *testing.T) {
	ctx := t.Context()
	here, there := memory.New(), memory.New()
	data := strings.Repeat("x", 50_000)
	b, err := here.Blobs().Put(ctx, "text/plain", strings.NewReader(data), blob.Thread("t"))
	if err != nil {
		t.Fatal(err)
	}
	cp, err := here.Acquire(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	msg := &llm.Message{ID: "m", Role: llm.User, Content: []llm.Block{llm.Document(llm.Blob(b.ID, b.MediaType, b.Size), "a.txt")}}
	if err := here.Commit(ctx, &awaken.Commit{ThreadID: "t", Fence: cp.Fence, Number: 1, Messages: []*llm.Message{msg}, Run: awaken.Run{RunID: "r", ThreadID: "t", AgentID: "a", Origin: "user", Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.NaturalEnd}, CreatedAt: 1, FinishedAt: 2}}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := threadfile.Export(ctx, here, "t", &out); err != nil {
		t.Fatal(err)
	}
	if _, err := threadfile.Import(ctx, there, &out, "copy"); err != nil {
		t.Fatal(err)
	}
	_, r, err := there.Blobs().Open(ctx, b.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); string(got) != data || err != nil {
		t.Errorf("the file has %d bytes, %v", len(got), err)
	}
	records, err := there.Messages(ctx, "copy", awaken.MessageQuery{})
	if err != nil || len(records) != 1 || records[0].Message.Content[0].Source.ID != b.ID {
		t.Errorf("the messages are %v, %v", records, err)
	}
}

// A file that refers to what the store does not have is refused, and nothing is made. What the store has, the thread holds.
func TestImport_HoldsOrRefusesReferences(t *testing.T) {
	ctx := t.Context()
	store := memory.New()
	b, err := store.Blobs().Put(ctx, "text/plain", strings.NewReader("hello"), blob.User("ann"))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{b.ID: true, blob.NewDigest("image/png").ID(): false} {
		file := sealed(`{"format":"awaken.thread","version":1,"thread":{"id":"t","metadata":{},"message_count":1}}`+"\n"+
			`{"message":{"thread_id":"t","seq":1,"message":{"role":"user","content":[{"type":"document","source":{"type":"blob","id":"`+id+`","media_type":"text/plain"}}]}}}`+"\n", 1, 0)
		_, err := threadfile.Import(ctx, store, strings.NewReader(file), "new-"+id[:4])
		if (err == nil) != want || err != nil && (!errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), "message 1 refers to file "+id)) {
			t.Errorf("file %.8s: %v", id, err)
		}
		if _, err := store.Thread(ctx, "new-"+id[:4]); (err == nil) != want {
			t.Errorf("the thread of file %.8s: %v", id, err)
		}
	}
	if _, err := store.UpdateThread(ctx, "new-"+b.ID[:4], func(t *awaken.Thread) error { t.UserID = "bob"; return nil }); err != nil {
		t.Fatal(err)
	}
	if ok, err := store.Blobs().Readable(ctx, b.ID, "bob"); !ok || err != nil {
		t.Errorf("the thread does not hold its file: %v", err)
	}
}
