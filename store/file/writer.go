package file

import (
	"bytes"
	"errors"
)

// writer applies changes to threads, first on disk and then in memory.
type writer struct {
	table    *table
	journals *journals
	bodies   *bodies
}

// append makes a change durable and then visible. Requires t.writing.
func (w *writer) append(t *thread, r *record) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer recycle(buf)
	entries, err := r.encode(buf)
	if err != nil {
		return err
	}
	at, err := w.journals.write(&t.journal, buf.Bytes())
	if err != nil {
		return err
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.table.apply(t, &r.summary, at)
	w.table.grown += at.Len
	if t.body != nil {
		w.bodies.grow(t, t.body.apply(&r.summary, &r.contents, at, r.entries, entries))
		w.bodies.evict()
	}
	return nil
}

// create creates the journal of a new thread. If it fails the thread does not exist.
// Requires t.writing.
func (w *writer) create(t *thread, first *record) (err error) {
	defer func() {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		t.life = alive
		if err != nil {
			t.life = gone
			delete(w.table.threads, t.ID)
			w.bodies.drop(t)
		}
	}()
	if err := w.journals.create(&t.journal); err != nil {
		return err
	}
	defer w.journals.put(&t.journal)
	if first.Base == nil { // the log is empty, so there is nothing to load
		w.table.mu.Lock()
		w.bodies.add(t, &body{})
		w.table.mu.Unlock()
	}
	first.Thread, first.Nonce = t.ID, t.journal.nonce
	err = w.append(t, first)
	if err == nil {
		err = w.journals.syncDir(".")
	}
	if err != nil {
		return errors.Join(err, w.journals.remove(&t.journal))
	}
	return nil
}
