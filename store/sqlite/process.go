package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
)

// processes tells which processes live. Each has a file in a folder beside the database, with
// its id, which it locks: the system drops the lock when the process dies, however it dies.
// The file's modification time is until when the process may be silent, for one that is paused.
//
// It is no table, because a heartbeat must not wait: SQLite has one writer, and under load a
// write of one process waits seconds for those of others.
type processes struct {
	dir string

	mu   sync.Mutex
	mine map[string]*membership // by id
}

// membership is a process of this program.
type membership struct {
	path    string
	until   time.Time
	release func() error
}

// staging is the prefix of files that are not locked yet.
const staging = "new-"

// Join makes a process known.
func (q *queue) Join(_ context.Context, process string, limit time.Duration) error {
	if err := q.processes.join(process, q.db.clock().Add(limit)); err != nil {
		return fmt.Errorf("join process %s: %w", process, err)
	}
	return nil
}

func (p *processes) join(id string, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(id))
	name := hex.EncodeToString(sum[:16])
	// The file gets its name once it is locked, so that no other process finds it unlocked.
	staged, path := filepath.Join(p.dir, staging+name), filepath.Join(p.dir, name)
	if err := os.WriteFile(staged, []byte(id), 0o600); err != nil {
		return err
	}
	release, err := hold(staged)
	if err == nil {
		if err = os.Chtimes(staged, until, until); err == nil {
			err = os.Rename(staged, path)
		}
		if err != nil {
			err = errors.Join(err, release())
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(staged))
	}
	if p.mine == nil {
		p.mine = map[string]*membership{}
	}
	if old := p.mine[id]; old != nil {
		_ = old.release() // of the file that the new one has replaced
	}
	p.mine[id] = &membership{path, until, release}
	return nil
}

// Beat is a sign of life of a process. It does not use the database.
func (q *queue) Beat(_ context.Context, process string, limit time.Duration) error {
	p := &q.processes
	p.mu.Lock()
	defer p.mu.Unlock()
	m, now := p.mine[process], q.db.clock()
	if m == nil || !now.Before(m.until) {
		return fmt.Errorf("process %s: %w: it was silent for too long", process, awaken.ErrFenced)
	}
	until := now.Add(limit)
	err := os.Chtimes(m.path, until, until)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("process %s: %w: another process found it dead", process, awaken.ErrFenced)
	}
	if err != nil {
		return fmt.Errorf("process %s: %w", process, err)
	}
	m.until = until
	return nil
}

// live reports whether a process of this program lives at now. What a claim asks in its transaction
// holds for the whole of it: those that release claims wait for the transaction.
func (p *processes) live(id string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.mine[id]
	return m != nil && now.Before(m.until)
}

// Leave releases what a process has claimed and forgets the process.
func (q *queue) Leave(ctx context.Context, process string) error {
	p := &q.processes
	p.mu.Lock()
	m := p.mine[process]
	if m != nil {
		m.until = time.Time{} // a claim that is on its way comes too late
	}
	p.mu.Unlock()
	if _, err := q.releaseAll(ctx, process, false); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m == nil || p.mine[process] != m {
		return nil
	}
	delete(p.mine, process)
	err := os.Remove(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, m.release())
}

// buryDead requeues what dead processes have claimed, and removes their files.
func (q *queue) buryDead(ctx context.Context) (total int, err error) {
	now := q.db.clock()
	entries, err := os.ReadDir(q.processes.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		path := filepath.Join(q.processes.dir, e.Name())
		info, err := e.Info()
		if err != nil {
			continue // it was removed meanwhile
		}
		if strings.HasPrefix(e.Name(), staging) {
			if now.Sub(info.ModTime()) > time.Minute { // its process died while it joined
				_ = os.Remove(path)
			}
			continue
		}
		if info.ModTime().After(now) && held(path) {
			continue
		}
		id, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return total, err
		}
		n, err := q.releaseAll(ctx, string(id), true)
		if err != nil {
			return total, err
		}
		total += n
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return total, err
		}
	}
	return total, nil
}

// close releases the locks of this program: its processes are dead.
func (p *processes) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for id, m := range p.mine {
		errs = append(errs, m.release())
		delete(p.mine, id)
	}
	return errors.Join(errs...)
}
