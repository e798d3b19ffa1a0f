package telemetry

import (
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// complaints logs errors of sending, each kind once in a while: a collector that is away fails every few seconds.
type complaints struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*complaint
}

type complaint struct {
	at   time.Time // of the last line
	more int       // since then
}

const (
	complainEvery = 10 * time.Minute
	mostKinds     = 100 // collectors say what they like
)

// Handle implements otel.ErrorHandler. Errors that differ only in numbers are of one kind.
func (c *complaints) Handle(err error) {
	kind := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kinds) >= mostKinds {
		c.kinds = nil
	}
	if c.kinds == nil {
		c.kinds = map[string]*complaint{}
	}
	k := c.kinds[kind]
	if k == nil {
		k = new(complaint)
		c.kinds[kind] = k
	}
	if !k.at.IsZero() && time.Since(k.at) < complainEvery {
		k.more++
		return
	}
	c.log.Warn("cannot send telemetry", "error", err, "repeated", k.more)
	*k = complaint{at: time.Now()}
}
