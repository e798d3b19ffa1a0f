package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// heard is what a part has heard.
type heard struct {
	mu    sync.Mutex
	texts []string
}

func (h *heard) add(_, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text)
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.texts)
}

func TestExchange_PartsOfOneNameHearEachOther(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		m := bustest.NewMemory(1000, bustest.Faults{})
		a, b := bus.NewExchange(m.Join()), bus.NewExchange(m.Join())
		var keysA, keysB, logB heard
		a.Listen("keys", keysA.add)
		b.Listen("keys", keysB.add)
		b.Listen("log", logB.add)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { a.Run(ctx) })
		running.Go(func() { b.Run(ctx) })
		synctest.Wait()
		a.Tell("keys", "k1")
		long := strings.Repeat("long ", 1000)
		if err := a.Send(ctx, "log", bus.Message{To: b.ID(), Text: long}, bus.Message{Text: "short"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		running.Wait()
		// The first text says that Run has begun to listen.
		for name, test := range map[string][2][]string{"keys of a": {keysA.all(), {""}}, "keys of b": {keysB.all(), {"", "k1"}}, "log of b": {logB.all(), {"", long, "short"}}} {
			if !slices.Equal(test[0], test[1]) {
				t.Errorf("%s: %.80q, want %.80q", name, test[0], test[1])
			}
		}
	})
}

// slowBus takes a second for each call of Publish.
type slowBus struct {
	bus.Bus
	mu   sync.Mutex
	sent []int
}

func (b *slowBus) Publish(ctx context.Context, messages ...bus.Message) error {
	time.Sleep(time.Second)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, len(messages))
	return b.Bus.Publish(ctx, messages...)
}

// Tell never waits, and what waits for a slow bus is bounded and sent once.
func TestExchange_TellDoesNotWaitForASlowBus(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		b := &slowBus{Bus: bustest.NewMemory(1000, bustest.Faults{}).Join()}
		x := bus.NewExchange(b)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { x.Run(ctx) })
		from := time.Now()
		x.Tell("keys", "first")
		synctest.Wait()
		for i := range 100_000 {
			x.Tell("keys", fmt.Sprint(i%10_000))
		}
		if took := time.Since(from); took > 0 {
			t.Errorf("Tell waited for %s", took)
		}
		time.Sleep(10 * time.Second)
		cancel()
		running.Wait()
		if b.sent[0] != 1 || len(b.sent) != 2 || b.sent[1] != 4096 {
			t.Errorf("messages sent at a time: %d, want the first, then what fits", b.sent)
		}
	})
}
