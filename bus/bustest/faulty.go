package bustest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/awaken-go/awaken/bus"
)

// Faulty returns a bus that makes faults with the messages that are published to another one.
func Faulty(b bus.Bus, f Faults) bus.Bus {
	if f.For == 0 {
		f.For = 100 * time.Millisecond
	}
	return &faulty{Bus: b, faults: f, rand: rand.New(rand.NewPCG(f.Seed, 2))}
}

type faulty struct {
	bus.Bus
	faults Faults

	mu   sync.Mutex
	rand *rand.Rand
}

func (b *faulty) Publish(ctx context.Context, messages ...bus.Message) error {
	b.mu.Lock()
	chance := func(rate int) bool { return rate > 0 && b.rand.IntN(1000) < rate }
	later := func(m bus.Message) {
		time.AfterFunc(time.Duration(b.rand.Int64N(int64(b.faults.For))), func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			_ = b.Bus.Publish(ctx, m)
		})
	}
	var out []bus.Message
	for _, m := range messages {
		if chance(b.faults.Lose) {
			continue
		}
		if chance(b.faults.Repeat) {
			later(m)
		}
		if chance(b.faults.Delay) {
			later(m)
			continue
		}
		out = append(out, m)
	}
	b.mu.Unlock()
	if len(out) == 0 {
		return nil
	}
	return b.Bus.Publish(ctx, out...)
}
