package access

import (
	"context"
	"sync"
	"time"

	"github.com/awaken-go/awaken/server"
)

// recheckEvery is how often the key of an open stream is looked up again. With [seenFor], a stream
// ends less than five seconds after its key was revoked, wherever that happened, and at once if this
// process is told.
const recheckEvery = time.Second

// Watch calls end if the key or the session of a credential ends before stop is called.
func (k *Keys) Watch(c server.Credential, end func()) (stop func()) { return k.watches.add(c, end) }

// watches ends streams whose key was revoked. However many streams a key has open, it is looked up
// once per interval. It is safe for concurrent use.
type watches struct {
	keys *Keys

	mu   sync.Mutex
	open map[server.Credential]*watch
}

// watch has the open streams of one key.
type watch struct {
	streams map[*stream]bool // guarded by watches.mu
	idle    chan struct{}    // closed when the last stream ends
}

type stream struct{ end func() }

// add calls end if the key or the session of a credential ends before stop is called.
func (w *watches) add(c server.Credential, end func()) (stop func()) {
	s := &stream{end}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.open[c]
	if k == nil {
		k = &watch{streams: map[*stream]bool{}, idle: make(chan struct{})}
		w.open[c] = k
		go w.check(c, k, w.keys.revoked())
	}
	k.streams[s] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(k.streams, s)
		if len(k.streams) == 0 && w.open[c] == k {
			delete(w.open, c)
			close(k.idle)
		}
	}
}

// check looks the key up until it is gone or has no stream. A lookup that fails says nothing about
// the key: the next one decides.
func (w *watches) check(c server.Credential, k *watch, news <-chan struct{}) {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-news:
			news = w.keys.revoked() // before the lookup, so that none is missed
		case <-k.idle:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), recheckEvery)
		key, err := w.keys.Find(ctx, c)
		cancel()
		if key != nil || err != nil {
			continue
		}
		w.mu.Lock()
		if w.open[c] == k {
			delete(w.open, c)
		}
		for s := range k.streams {
			s.end()
		}
		w.mu.Unlock()
		return
	}
}
