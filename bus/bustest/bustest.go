// Package bustest tests implementations of [bus.Bus], and has one in memory that makes faults.
package bustest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/bus"
)

// patience is how long a message may take before a test fails. It is far more than any takes.
const patience = 30 * time.Second

// Test tests the promises of a bus. Join returns the bus as another process has it.
func Test(t *testing.T, join func(t *testing.T) bus.Bus) {
	t.Run("AProcessGetsWhatIsSentToItAndToAll", func(t *testing.T) { delivers(t, join) })
	t.Run("TextsArriveAsTheyWereSent", func(t *testing.T) { keepsTexts(t, join) })
	t.Run("ALongTextArrivesInParts", func(t *testing.T) { carriesParts(t, join) })
	t.Run("ASenderIsNotDelayedByAProcessThatDoesNotListen", func(t *testing.T) { delaysNone(t, join) })
	t.Run("SubscribeEndsWithItsContext", func(t *testing.T) { ends(t, join) })
}

// Inbox receives the texts of one process.
type Inbox struct {
	t  testing.TB
	mu sync.Mutex

	began int
	texts []string
	news  chan struct{}
}

// Listen subscribes a process until the end of the test, and returns when it listens.
func Listen(t testing.TB, b bus.Bus, self string) *Inbox {
	t.Helper()
	in := &Inbox{t: t, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = b.Subscribe(ctx, self, in.add) })
	t.Cleanup(func() { cancel(); done.Wait() })
	in.Await("the beginning", func() bool { return in.began > 0 })
	return in
}

func (in *Inbox) add(text string) {
	in.mu.Lock()
	if text == "" {
		in.began++
	} else {
		in.texts = append(in.texts, text)
	}
	in.mu.Unlock()
	select {
	case in.news <- struct{}{}:
	default:
	}
}

// Began returns how often the process began to listen.
func (in *Inbox) Began() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.began
}

// Await waits until ok, which may read what has arrived.
func (in *Inbox) Await(what string, ok func() bool) {
	in.t.Helper()
	late := time.After(patience)
	for {
		in.mu.Lock()
		done := ok()
		in.mu.Unlock()
		if done {
			return
		}
		select {
		case <-in.news:
		case <-late:
			in.t.Fatalf("%s has not arrived after %s", what, patience)
		}
	}
}

// AwaitText waits for a text.
func (in *Inbox) AwaitText(text string) {
	in.t.Helper()
	in.Await(fmt.Sprintf("%.80q", text), func() bool {
		for _, have := range in.texts {
			if have == text {
				return true
			}
		}
		return false
	})
}

// Texts returns what has arrived.
func (in *Inbox) Texts() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]string(nil), in.texts...)
}

// send publishes until it succeeds: a bus may be reconnecting.
func send(t *testing.T, b bus.Bus, messages ...bus.Message) {
	t.Helper()
	if err := b.Publish(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
}

func delivers(t *testing.T, join func(t *testing.T) bus.Bus) {
	a, b := join(t), join(t)
	forA, forB := Listen(t, a, "process-a"), Listen(t, b, "process-b")
	send(t, a, bus.Message{To: "process-b", Text: "for b"}, bus.Message{Text: "for all"}, bus.Message{To: "process-c", Text: "for another"})
	send(t, b, bus.Message{To: "process-a", Text: "for a"})
	forA.AwaitText("for a")
	forA.AwaitText("for all")
	forB.AwaitText("for b")
	forB.AwaitText("for all")
	for _, text := range append(forA.Texts(), forB.Texts()...) {
		if text == "for another" {
			t.Error("a message for another process arrived")
		}
	}
	for _, text := range forA.Texts() {
		if text == "for b" {
			t.Error("process a got a message for process b")
		}
	}
}

func keepsTexts(t *testing.T, join func(t *testing.T) bus.Bus) {
	a, b := join(t), join(t)
	in := Listen(t, b, "b")
	long := strings.Repeat("ä", b.Limit()/2-1)
	for _, text := range []string{" ", "\n\r\t\"'\\$1 %s", "Zürich 🦊 \u2028", long, strings.Repeat("x", b.Limit())} {
		send(t, a, bus.Message{To: "b", Text: text})
		in.AwaitText(text)
	}
}

func carriesParts(t *testing.T, join func(t *testing.T) bus.Bus) {
	a, b := join(t), join(t)
	in := Listen(t, b, "b")
	text := strings.Repeat("Zürich 🦊 ", 20_000)
	var messages []bus.Message
	for _, part := range bus.Split("a", 7, text, a.Limit()) {
		messages = append(messages, bus.Message{To: "b", Text: part})
	}
	send(t, a, messages...)
	in.Await("a long text", func() bool {
		var j bus.Joiner
		for _, part := range in.texts {
			if from, got, ok := j.Add(part); ok {
				return from == "a" && got == text
			}
		}
		return false
	})
}

func delaysNone(t *testing.T, join func(t *testing.T) bus.Bus) {
	a, b := join(t), join(t)
	stuck, release := make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		_ = b.Subscribe(ctx, "b", func(text string) {
			if text != "" {
				select {
				case stuck <- struct{}{}:
				default:
				}
				<-release
			}
		})
	})
	defer func() { close(release); cancel(); done.Wait() }()
	c := Listen(t, join(t), "c")
	for waiting := true; waiting; { // b listens
		send(t, a, bus.Message{To: "b", Text: "wait"})
		select {
		case <-stuck:
			waiting = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	for i := range 200 {
		send(t, a, bus.Message{To: "b", Text: strings.Repeat("x", 7000)}, bus.Message{To: "c", Text: fmt.Sprint(i)})
	}
	c.AwaitText("199")
}

func ends(t *testing.T, join func(t *testing.T) bus.Bus) {
	b := join(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	began, done := make(chan struct{}, 1), make(chan error)
	go func() {
		done <- b.Subscribe(ctx, "b", func(string) {
			select {
			case began <- struct{}{}:
			default:
			}
		})
	}()
	<-began
	cancel(errEnd)
	if err := <-done; err != errEnd {
		t.Errorf("Subscribe returned %v, want the cause of its context", err)
	}
}

var errEnd = fmt.Errorf("the end")

// Reconnects tests that a bus is connected again after its server was away. Restart stops the
// server and starts it again.
func Reconnects(t *testing.T, join func(t *testing.T) bus.Bus, restart func()) {
	a, b := join(t), join(t)
	in := Listen(t, b, "b")
	send(t, a, bus.Message{To: "b", Text: "before"})
	in.AwaitText("before")
	restart()
	in.Await("a new connection", func() bool { return in.began > 1 })
	// What is sent before the sender knows that its connection is gone may be lost.
	in.awaitOneOf(a, bus.Message{To: "b", Text: "after"})
}

// awaitOneOf sends a message again and again until it arrives.
func (in *Inbox) awaitOneOf(from bus.Bus, m bus.Message) {
	in.t.Helper()
	ctx, cancel := context.WithCancel(in.t.Context())
	var sending sync.WaitGroup
	sending.Go(func() {
		for ctx.Err() == nil {
			_ = from.Publish(ctx, m)
			time.Sleep(20 * time.Millisecond)
		}
	})
	defer func() { cancel(); sending.Wait() }()
	in.AwaitText(m.Text)
}

// NoticesSilence tests that a bus notices that what it sends disappears, without being told, and is
// connected again once that is over. Join returns a bus that reaches its server through the proxy, and
// direct one that does not.
func NoticesSilence(t *testing.T, p *Proxy, join, direct func(t *testing.T) bus.Bus) {
	in, b := Listen(t, join(t), "b"), direct(t)
	send(t, b, bus.Message{To: "b", Text: "before"})
	in.AwaitText("before")
	began := in.Began()
	p.Silence(true)
	send(t, b, bus.Message{To: "b", Text: "lost"})
	p.Silence(false) // for new connections
	in.Await("a new connection", func() bool { return in.began > began })
	// On a busy machine the new connection may be given up again, because an answer to its check came late.
	in.awaitOneOf(b, bus.Message{To: "b", Text: "after"})
	for _, text := range in.Texts() {
		if text == "lost" {
			t.Error("a message passed the silence: the test proves nothing")
		}
	}
}
