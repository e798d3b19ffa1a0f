package bustest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/awaken-go/awaken/bus"
)

// Faults says how often a [Memory] does what a bus may do. The rates are of one message in a
// thousand.
type Faults struct {
	Seed   uint64
	Lose   int           // messages lost
	Repeat int           // messages that arrive twice
	Delay  int           // messages that are overtaken by others
	For    time.Duration // how long a message is delayed at most; default 100 ms
}

// Memory is a bus in the memory of one process. Every value that Join returns is the end of one of
// its processes. It may be cut.
type Memory struct {
	limit  int
	faults Faults

	mu    sync.Mutex
	rand  *rand.Rand
	ends  map[*end]bool
	sent  int
	bytes int
	cut   bool
}

// NewMemory returns a bus whose texts have at most limit bytes.
func NewMemory(limit int, f Faults) *Memory {
	if f.For == 0 {
		f.For = 100 * time.Millisecond
	}
	return &Memory{limit: limit, faults: f, rand: rand.New(rand.NewPCG(f.Seed, 1)), ends: map[*end]bool{}}
}

// Join returns the bus as a process has it.
func (m *Memory) Join() bus.Bus { return &end{memory: m, queue: make(chan string, 1024)} }

// Sent returns how many messages were published, and their bytes.
func (m *Memory) Sent() (messages, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent, m.bytes
}

// Cut makes the bus lose everything, or stop doing so.
func (m *Memory) Cut(cut bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut = cut
}

// end is one process.
type end struct {
	memory *Memory
	self   string
	queue  chan string
}

func (e *end) Limit() int { return e.memory.limit }

func (e *end) Publish(_ context.Context, messages ...bus.Message) error {
	m := e.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, msg := range messages {
		m.sent++
		m.bytes += len(msg.Text)
		for to := range m.ends {
			if msg.To == "" || msg.To == to.self {
				m.deliver(to, msg.Text)
			}
		}
	}
	return nil
}

// deliver sends a text to a process, or makes a fault. Requires m.mu.
func (m *Memory) deliver(to *end, text string) {
	chance := func(rate int) bool { return rate > 0 && m.rand.IntN(1000) < rate }
	if m.cut || chance(m.faults.Lose) {
		return
	}
	if chance(m.faults.Repeat) {
		m.later(to, text)
	}
	if chance(m.faults.Delay) {
		m.later(to, text)
		return
	}
	to.put(text)
}

// later delivers a text after others. Requires m.mu.
func (m *Memory) later(to *end, text string) {
	time.AfterFunc(time.Duration(m.rand.Int64N(int64(m.faults.For))), func() { to.put(text) })
}

// put queues a text, or loses it.
func (e *end) put(text string) {
	select {
	case e.queue <- text:
	default:
	}
}

func (e *end) Subscribe(ctx context.Context, self string, fn func(text string)) error {
	m := e.memory
	m.mu.Lock()
	e.self = self
	m.ends[e] = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.ends, e)
	}()
	fn("")
	for {
		select {
		case text := <-e.queue:
			fn(text)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
