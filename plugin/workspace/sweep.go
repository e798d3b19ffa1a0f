package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/sandbox"
)

// noteSuffix is what the name of a note has beside that of its folder.
const noteSuffix = ".json"

// note records whose the folder of a thread is, beside it: its name may be a hash. It is written before the folder is made, so
// that no folder lacks one, and removed after it.
func (h *holder) note(top *os.Root) error {
	if h.Thread == "" {
		return nil
	}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	at := h.place() + noteSuffix
	temp := path.Join(path.Dir(at), ".note-"+rand.Text())
	f, err := top.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = top.Rename(temp, at)
	}
	if err != nil {
		_ = top.Remove(temp)
	}
	return err
}

// Sweeper removes the folders of threads that were deleted: by whatever process, and also if it was lost just then. Several
// processes may sweep the same folder. Folders of users and tenants stay.
//
//	s := &workspace.Sweeper{Dir: dir, Thread: func(ctx context.Context, _, id string) (*awaken.Thread, error) { return store.Thread(ctx, id) }}
//	go s.Run(ctx, time.Minute)
type Sweeper struct {
	Dir    string // as in [Options]
	Origin string // as in [Options]
	// Thread returns a thread of a tenant, or [awaken.ErrNotFound].
	Thread func(ctx context.Context, tenant, id string) (*awaken.Thread, error)
	Logger *slog.Logger // nil discards

	after string // the last folder that was looked at
}

// sweepMost is how many folders a sweep looks at.
const sweepMost = 1000

// Run sweeps at once and at every interval, until ctx is done.
func (s *Sweeper) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		n, err := s.Sweep(ctx)
		if s.Logger != nil && err != nil && ctx.Err() == nil {
			s.Logger.Error("cannot remove the workspaces of deleted threads", "error", err)
		}
		if s.Logger != nil && n > 0 {
			s.Logger.Info("removed the workspaces of deleted threads", "threads", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep looks at up to 1,000 folders, from the one at which the last call has stopped, and returns how many it has removed.
func (s *Sweeper) Sweep(ctx context.Context) (removed int, err error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	notes, err := s.next(root)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, at := range notes {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		s.after = at
		done, err := s.settle(ctx, root, at)
		if err != nil {
			errs = append(errs, err)
		}
		if done {
			removed++
		}
	}
	if len(notes) < sweepMost {
		s.after = ""
	}
	return removed, errors.Join(errs[:min(len(errs), 3)]...) // the others are alike
}

// next returns the notes to look at.
func (s *Sweeper) next(root *os.Root) (notes []string, err error) {
	tenants, err := readFolder(root, ".")
	if err != nil {
		return nil, err
	}
	for _, t := range tenants {
		if !t.IsDir() || !strings.HasPrefix(t.Name(), "tenant-") {
			continue
		}
		if at := path.Join(t.Name(), "\x7f"); at < s.after {
			continue
		}
		entries, err := readFolder(root, t.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, e := range entries {
			at := path.Join(t.Name(), e.Name())
			if at > s.after && e.Type().IsRegular() && strings.HasPrefix(e.Name(), "thread-") && strings.HasSuffix(e.Name(), noteSuffix) {
				notes = append(notes, at)
			}
		}
	}
	slices.Sort(notes)
	return notes[:min(len(notes), sweepMost)], nil
}

// settle removes the folder of a note if its thread was deleted, and then the note. What is cut off in between is done by the
// next sweep.
func (s *Sweeper) settle(ctx context.Context, root *os.Root, at string) (removed bool, err error) {
	data, err := readNote(root, at)
	if errors.Is(err, fs.ErrNotExist) { // another process was faster
		return false, nil
	} else if err != nil {
		return false, err
	}
	var h holder
	if json.Unmarshal(data, &h) != nil || h.place()+noteSuffix != at || h.Origin != s.Origin {
		return false, nil // it is not one of ours
	}
	t, err := s.Thread(ctx, h.Tenant, h.Thread)
	switch {
	case err == nil && t.Metadata.CreatedAt == h.Created:
		return false, nil
	case err != nil && !errors.Is(err, awaken.ErrNotFound):
		return false, err
	}
	folder := h.place()
	if err := sandbox.RemoveIn(root, folder); err != nil {
		return false, err
	}
	if err := root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}

// readNote reads a note.
func readNote(root *os.Root, at string) ([]byte, error) {
	info, err := root.Lstat(at)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return nil, &fs.PathError{Op: "read", Path: at, Err: errors.New("not a note of a workspace")}
	}
	return root.ReadFile(at)
}
