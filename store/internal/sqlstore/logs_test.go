package sqlstore

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// longLog returns a thread and the messages of its log.
func longLog(id string, n int) (*Thread, *Tail) {
	t := &Thread{Thread: awaken.Thread{ID: id, MessageCount: n}, Fence: 1, Incarnation: 1}
	tail := &Tail{}
	for i := range n {
		tail.Add(int64(i), &llm.Message{ID: fmt.Sprint(id, i), Role: llm.User, Content: []llm.Block{llm.Text("x")}})
	}
	return t, tail
}

func TestLogs_KeepThoseThatWereReadLastWithinTheirBytes(t *testing.T) {
	c := NewLogs(nil, slog.New(slog.DiscardHandler))
	_, one := longLog("x", logLength)
	c.max = 3*one.bytes + 100
	keep := func(id string) {
		thread, tail := longLog(id, logLength)
		if _, err := c.Join("", thread, nil, 0, tail); err != nil {
			t.Fatal(err)
		}
	}
	keep("a")
	keep("b")
	keep("c")
	c.Find("", "a")
	keep("d")
	for id, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := c.Find("", id) != nil; got != want {
			t.Errorf("log %s is kept: %t, want %t", id, got, want)
		}
	}
	if c.bytes != 3*one.bytes || len(c.byKey) != 3 || c.order.Len() != 3 {
		t.Errorf("%d bytes, %d logs, want %d, 3", c.bytes, len(c.byKey), 3*one.bytes)
	}
	thread, tail := longLog("huge", 10*logLength)
	if view, err := c.Join("", thread, nil, 0, tail); err != nil || len(view.Messages()) != 10*logLength {
		t.Errorf("a log that is too large: %v", err)
	}
	if c.Find("", "huge") != nil || c.Find("", "d") == nil {
		t.Error("a log that is too large takes the place of others")
	}
}

// A database that was restored has other messages behind those that it had when they were read.
func TestLogs_LetGoOfALogThatContradictsTheDatabase(t *testing.T) {
	for name, change := range map[string]func(thread *Thread, tail *Tail){
		"the fence is lower":     func(thread *Thread, _ *Tail) { thread.Fence = 0 },
		"the log is shorter":     func(thread *Thread, _ *Tail) { thread.MessageCount-- },
		"the message is another": func(_ *Thread, tail *Tail) { tail.msgs[0] = llm.UserText("y") },
		"the time is another":    func(_ *Thread, tail *Tail) { tail.created[0]++ },
	} {
		c := NewLogs(nil, slog.New(slog.DiscardHandler))
		thread, all := longLog("t", 50)
		if _, err := c.Join("", thread, nil, 0, all); err != nil {
			t.Fatal(err)
		}
		known := c.Find("", "t")
		_, n := known.Known()
		tail := &Tail{msgs: []*llm.Message{all.msgs[n]}, created: []int64{all.created[n]}}
		if _, err := c.Join("", thread, known, n, tail); err != nil {
			t.Fatalf("%s: before: %v", name, err)
		}
		change(thread, tail)
		if _, err := c.Join("", thread, known, n, tail); err == nil {
			t.Errorf("%s: the log is taken for right", name)
		}
		if c.Find("", "t") != nil {
			t.Errorf("%s: the log is kept", name)
		}
	}
}
