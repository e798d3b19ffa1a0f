package awaken

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/llm"
)

// Shorthand for the messages of a log. The id of a message is its text or its call.

func userSays(text string) *llm.Message {
	return &llm.Message{ID: text, Role: llm.User, Content: []llm.Block{llm.Text(text)}}
}

func modelSays(text string, calls ...string) *llm.Message {
	m := &llm.Message{ID: "model:" + text + strings.Join(calls, ","), Role: llm.Assistant}
	if text != "" {
		m.Content = []llm.Block{llm.Text(text)}
	}
	for _, id := range calls {
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "tool"})
	}
	return m
}

func toolSays(call, text string) *llm.Message {
	return &llm.Message{ID: call + "=" + text, Role: llm.ToolRole, ToolCallID: call, Content: []llm.Block{llm.Text(text)}}
}

func retracts(call string) *llm.Message {
	m := toolSays(call, "retracted")
	m.Visibility = llm.Internal
	return m
}

func rewinds(from int) *llm.Message {
	return &llm.Message{ID: fmt.Sprint("rewind ", from), Role: llm.System, Visibility: llm.Internal, Metadata: &llm.Metadata{Rewind: &llm.Rewind{FromSeq: from}}}
}

func sumsUp(from, to int) *llm.Message {
	return &llm.Message{ID: fmt.Sprintf("sum %d-%d", from, to), Role: llm.System, Visibility: llm.Internal,
		Content: []llm.Block{llm.Text("in short")}, Metadata: &llm.Metadata{Compaction: &llm.Interval{FromSeq: from, ToSeq: to}}}
}

// sketch returns one line per message.
func sketch(msgs []*llm.Message) []string {
	out := []string{}
	for _, m := range msgs {
		s := m.ID
		if m.Role == llm.Assistant {
			s = "model:" + m.Text()
			for _, c := range m.ToolCalls {
				s += " ->" + c.ID
			}
		}
		out = append(out, s)
	}
	return out
}

func TestView_FoldsTheLog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		log  []*llm.Message
		want []string
	}{
		{"plain", []*llm.Message{userSays("hi"), modelSays("yes")}, []string{"hi", "model:yes"}},
		{"answers in the order of the calls",
			[]*llm.Message{userSays("hi"), modelSays("", "a", "b", "c"), toolSays("c", "3"), toolSays("a", "1"), toolSays("b", "2"), modelSays("done")},
			[]string{"hi", "model: ->a ->b ->c", "a=1", "b=2", "c=3", "model:done"}},
		{"answers right behind their calls",
			[]*llm.Message{modelSays("", "a", "b"), toolSays("b", "2"), userSays("hurry up"), toolSays("a", "1")},
			[]string{"model: ->a ->b", "a=1", "b=2", "hurry up"}},
		{"open calls of the last step", []*llm.Message{modelSays("", "a", "b"), toolSays("b", "2")}, []string{"model: ->a ->b", "b=2"}},
		{"a call that was never answered",
			[]*llm.Message{modelSays("look", "a"), userSays("forget it"), modelSays("", "b"), toolSays("b", "2")},
			[]string{"model:look", "forget it", "model: ->b", "b=2"}},
		{"a message of nothing but unanswered calls",
			[]*llm.Message{userSays("hi"), modelSays("", "a"), modelSays("", "b"), toolSays("b", "2")},
			[]string{"hi", "model: ->b", "b=2"}},
		{"a retracted call", []*llm.Message{userSays("hi"), modelSays("look", "a", "b"), toolSays("b", "2"), retracts("a"), userSays("forget it")},
			[]string{"hi", "model:look ->b", "b=2", "forget it"}},
		{"a retracted answer", []*llm.Message{modelSays("look", "a"), toolSays("a", "1"), retracts("a")}, []string{"model:look"}},
		{"an id that was retracted and is used again",
			[]*llm.Message{modelSays("", "a"), retracts("a"), userSays("again"), modelSays("", "a"), toolSays("a", "1")},
			[]string{"again", "model: ->a", "a=1"}},
		{"an id that is used again",
			[]*llm.Message{modelSays("", "a"), toolSays("a", "1"), modelSays("", "a"), toolSays("a", "2")},
			[]string{"model: ->a", "a=1", "model: ->a", "a=2"}},
		{"two answers: the first counts", []*llm.Message{modelSays("", "a"), toolSays("a", "1"), toolSays("a", "2")}, []string{"model: ->a", "a=1"}},
		{"an answer to nothing", []*llm.Message{userSays("hi"), toolSays("x", "?"), userSays("so")}, []string{"hi", "so"}},
		{"a rewind", []*llm.Message{userSays("1"), userSays("2"), userSays("3"), rewinds(2), userSays("4")}, []string{"1", "4"}},
		{"a rewind of a rewind", []*llm.Message{userSays("1"), userSays("2"), rewinds(2), userSays("3"), rewinds(1), userSays("4")}, []string{"4"}},
		{"a summary", []*llm.Message{userSays("1"), userSays("2"), userSays("3"), sumsUp(1, 2), userSays("4")}, []string{"sum 1-2", "3", "4"}},
		{"a wider summary", []*llm.Message{userSays("1"), userSays("2"), sumsUp(1, 1), userSays("3"), sumsUp(1, 4), userSays("4")}, []string{"sum 1-4", "4"}},
		{"two summaries", []*llm.Message{userSays("1"), userSays("2"), userSays("3"), sumsUp(1, 1), sumsUp(3, 3)}, []string{"sum 1-1", "2", "sum 3-3"}},
		{"a summary of what came before a rewind", []*llm.Message{userSays("1"), userSays("2"), sumsUp(1, 2), userSays("3"), rewinds(3), userSays("4")}, []string{"sum 1-2", "4"}},
		{"a summary of what was rewound", []*llm.Message{userSays("1"), userSays("2"), userSays("3"), sumsUp(1, 2), rewinds(2), userSays("4")}, []string{"1", "4"}},
		{"the summary before one that was rewound", []*llm.Message{userSays("1"), userSays("2"), sumsUp(1, 1), userSays("3"), sumsUp(1, 3), rewinds(2), userSays("4")}, []string{"sum 1-1", "4"}},
		{"a summary in the middle, and a wider one", []*llm.Message{userSays("1"), userSays("2"), userSays("3"), sumsUp(2, 2), userSays("4"), sumsUp(1, 3)}, []string{"sum 1-3", "4"}},
		{"a summary that cuts calls from answers",
			[]*llm.Message{modelSays("", "a"), toolSays("a", "1"), userSays("2"), sumsUp(1, 1), modelSays("", "b"), toolSays("b", "2")},
			[]string{"sum 1-1", "2", "model: ->b", "b=2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var one, all View
			for _, m := range tt.log {
				one.Append(m)
			}
			all.Append(tt.log...)
			if diff := cmp.Diff(tt.want, sketch(one.Messages())); diff != "" {
				t.Errorf("appended one by one (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, sketch(all.Messages())); diff != "" {
				t.Errorf("appended at once (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(sketch(tt.log), sketch(one.Log())); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// logRecord draws a record that may follow log: mostly an ordinary one, sometimes an odd one.
func logRecord(t *rapid.T, log []*llm.Message) *llm.Message {
	n := len(log)
	ids := []string{"a", "b", "c", "d"} // few, so that they are used again
	switch rapid.IntRange(0, 19).Draw(t, "kind") {
	case 0, 1, 2:
		return userSays(fmt.Sprint("u", n))
	case 3, 4:
		return modelSays(fmt.Sprint("m", n))
	case 5, 6, 7, 8:
		calls := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, 3, rapid.ID).Draw(t, "calls")
		return modelSays(rapid.SampledFrom([]string{"", fmt.Sprint("m", n)}).Draw(t, "text"), calls...)
	case 17:
		return retracts(rapid.SampledFrom(ids).Draw(t, "retracted"))
	case 18:
		if n > 0 {
			return rewinds(rapid.IntRange(1, n+1).Draw(t, "rewind"))
		}
	case 19:
		if n > 0 {
			from := rapid.IntRange(1, n).Draw(t, "from")
			return sumsUp(from, rapid.IntRange(from, n).Draw(t, "to"))
		}
	}
	return toolSays(rapid.SampledFrom(append(ids, "unknown")).Draw(t, "answers"), fmt.Sprint("t", n))
}

// checkView checks the contract of a view: its messages can be sent to a provider once the open
// calls are answered.
func checkView(t interface{ Fatalf(string, ...any) }, msgs []*llm.Message) {
	last := -1
	for i, m := range msgs {
		if len(m.ToolCalls) > 0 {
			last = i
		}
	}
	fail := func(i int, what string) {
		t.Fatalf("message %d: %s\n%s", i, what, strings.Join(sketch(msgs), "\n"))
	}
	for i := 0; i < len(msgs); {
		at, m := i, msgs[i]
		i++
		if m.Role == llm.ToolRole {
			fail(at, "answers nothing that was asked before it")
		}
		if m.Empty() {
			fail(at, "says nothing")
		}
		for _, c := range m.ToolCalls {
			switch {
			case i < len(msgs) && msgs[i].Role == llm.ToolRole && msgs[i].ToolCallID == c.ID:
				if msgs[i].IsInternal() {
					fail(i, "is a retraction")
				}
				i++
			case at != last:
				fail(at, "call "+c.ID+" is not answered in its place")
			}
		}
	}
}

func TestView_HistoryKeepsWhatSummariesStandFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		log  []*llm.Message
		want []string
	}{
		{"plain", []*llm.Message{userSays("hi"), modelSays("yes")}, []string{"hi", "model:yes"}},
		{"a summary", []*llm.Message{userSays("1"), userSays("2"), userSays("3"), sumsUp(1, 2), userSays("4")}, []string{"1", "2", "3", "sum 1-2", "4"}},
		{"two summaries", []*llm.Message{userSays("1"), sumsUp(1, 1), userSays("2"), sumsUp(1, 3), userSays("3")}, []string{"1", "sum 1-1", "2", "sum 1-3", "3"}},
		{"calls behind a summary", []*llm.Message{modelSays("", "a"), toolSays("a", "1"), sumsUp(1, 2), userSays("2")}, []string{"model: ->a", "a=1", "sum 1-2", "2"}},
		{"a rewind", []*llm.Message{userSays("1"), sumsUp(1, 1), userSays("2"), userSays("3"), rewinds(4), userSays("4")}, []string{"1", "sum 1-1", "2", "4"}},
		{"a rewind to before a summary", []*llm.Message{userSays("1"), userSays("2"), sumsUp(1, 2), rewinds(2), userSays("3")}, []string{"1", "3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var v View
			for _, m := range tt.log {
				v.Append(m)
			}
			if diff := cmp.Diff(tt.want, sketch(v.History())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestView_IncrementalEqualsFromScratch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var v View
		var log []*llm.Message
		type handedOut struct{ view, copied []*llm.Message }
		var given []handedOut
		for range rapid.IntRange(1, 25).Draw(t, "commits") {
			var batch []*llm.Message
			for range rapid.IntRange(1, 4).Draw(t, "records") {
				batch = append(batch, logRecord(t, slices.Concat(log, batch)))
			}
			v.Append(batch...)
			log = append(log, batch...)
			got := v.Messages()
			if diff := cmp.Diff(sketch(fold(log, compact)), sketch(got)); diff != "" {
				t.Fatalf("log:\n%s\n(-from scratch +grown):\n%s", strings.Join(sketch(log), "\n"), diff)
			}
			checkView(t, got)
			checkIndex(t, &v)
			given = append(given, handedOut{got, slices.Clone(got)})
		}
		for i, g := range given {
			if !slices.Equal(g.view, g.copied) {
				t.Fatalf("view %d changed after it was handed out:\nwas %q\nis  %q", i, sketch(g.copied), sketch(g.view))
			}
		}
		if !slices.Equal(v.Log(), log) {
			t.Fatalf("the log is not what was appended")
		}
	})
}

// checkIndex checks that the index of a view knows what the view has, whatever was folded since.
func checkIndex(t interface{ Fatalf(string, ...any) }, v *View) {
	known, plain := llm.Indexed(v.Index(), v.Messages()...), llm.NewMessages(v.Messages()...)
	for _, id := range []string{"a", "b", "c", "d", "unknown"} {
		if known.HasCall(id) != plain.HasCall(id) {
			t.Fatalf("%d messages: HasCall(%q) is %t, want %t", plain.Len(), id, known.HasCall(id), plain.HasCall(id))
		}
	}
	if got, want := (&llm.Request{Messages: known}).Digest(nil), (&llm.Request{Messages: plain}).Digest(nil); got != want {
		t.Fatalf("%d messages: the digest is %v, want %v", plain.Len(), got, want)
	}
}

// A view has an index when it is long, and another one when a rewind or a summary changed what it shows.
func TestView_IndexIsOfWhatIsShown(t *testing.T) {
	t.Parallel()
	var v View
	for i := range 2 * indexed {
		v.Append(modelSays("", fmt.Sprint("call", i)), toolSays(fmt.Sprint("call", i), "done"))
		checkIndex(t, &v)
	}
	has := func(id string) bool { return llm.Indexed(v.Index(), v.Messages()...).HasCall(id) }
	before := v.Index()
	if before == nil || !has("call5") || !has("call127") || has("call128") {
		t.Fatalf("index is %v; call5, call127 and call128: %t, %t, %t", before, has("call5"), has("call127"), has("call128"))
	}
	v.Append(rewinds(2*2*indexed - 9))
	if v.Index() == before || has("call127") || !has("call5") {
		t.Errorf("after a rewind: the same index %t; call127 and call5: %t, %t", v.Index() == before, has("call127"), has("call5"))
	}
	v.Append(sumsUp(1, 20))
	if has("call5") || !has("call15") {
		t.Errorf("after a summary: call5 and call15: %t, %t", has("call5"), has("call15"))
	}
	v.Append(userSays("again"), modelSays("", "call5"))
	if checkIndex(t, &v); !has("call5") {
		t.Error("call5 was made again, and is not there")
	}
}

// The owner may append to the messages of a view without changing the store's.
func TestView_MessagesDoNotShareCapacity(t *testing.T) {
	t.Parallel()
	var v View
	v.Append(userSays("1"), userSays("2"))
	mine := append(v.Messages(), userSays("mine"))
	v.Append(userSays("3"))
	if diff := cmp.Diff([]string{"1", "2", "mine"}, sketch(mine)); diff != "" {
		t.Errorf("mine (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, sketch(v.Messages())); diff != "" {
		t.Errorf("the store's (-want +got):\n%s", diff)
	}
}
