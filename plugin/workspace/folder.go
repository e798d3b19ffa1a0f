package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/internal/sandbox"
)

// Scope says which runs share a folder.
type Scope string

// The scopes of folders.
const (
	ScopeThread Scope = "thread" // the runs of a thread
	ScopeUser   Scope = "user"   // the runs of a user of a tenant; a run without one has the folder of its thread
	ScopeTenant Scope = "tenant" // the runs of a tenant
	ScopeAll    Scope = "all"    // all runs: the folder is that of the program
)

// owner is an owner of runs that knows their tenant.
type owner interface {
	For() (tenant string, background bool)
}

// holder is whose a folder of a scope is.
type holder struct {
	Tenant string `json:"tenant"`
	User   string `json:"user,omitempty"`
	Thread string `json:"thread,omitempty"`
	// Created is when the thread was created, Unix ms. A thread that is created anew after it was deleted has another folder.
	Created int64  `json:"created_at,omitempty"`
	Origin  string `json:"origin,omitempty"` // as in [Options]
}

// place returns the path of the folder, below that of the program.
func (h *holder) place() string {
	name := "tenant"
	switch {
	case h.User != "":
		name = "user-" + plainName(h.User)
	case h.Thread != "" && h.Created == 0:
		name = "thread-" + plainName(h.Thread)
	case h.Thread != "":
		name = "thread-" + plainName(h.Thread) + "." + strconv.FormatInt(h.Created, 36)
	}
	return path.Join("tenant-"+plainName(h.Tenant), name)
}

// holder returns the owner of the folder of a call, or nil if it is the program's folder.
func (j *jail) holder(ctx context.Context, call *awaken.ToolCall) (*holder, error) {
	if j.Scope == ScopeAll {
		return nil, nil
	}
	h := &holder{Origin: j.origin}
	if o, ok := ownership.Of[owner](ctx); ok {
		h.Tenant, _ = o.For()
	}
	run := call.Run
	if run == nil || run.ThreadID == "" {
		return nil, errors.New("the run has no thread, and so no workspace")
	}
	switch {
	case j.Scope == ScopeTenant:
		return h, nil
	case j.Scope == ScopeUser && run.UserID != "":
		h.User = run.UserID
		return h, nil
	}
	h.Thread = run.ThreadID
	if call.Host == nil {
		return h, nil
	}
	t, err := call.Host.Store().Thread(ctx, run.ThreadID)
	switch {
	case err == nil:
		h.Created = t.Metadata.CreatedAt
	case !errors.Is(err, awaken.ErrNotFound): // otherwise nothing of the thread is stored yet: the call only reads, and there is nothing
		return nil, err
	}
	return h, nil
}

// plainName returns a name of a folder for an id: the id itself, if it is short and has only lower-case letters, digits,
// hyphens and underscores, and otherwise a hash. Different ids have different names.
func plainName(id string) string {
	special := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' }
	if id != "" && len(id) <= 64 && !strings.ContainsFunc(id, special) {
		return id
	}
	return fmt.Sprintf("~%x", sha256.Sum256([]byte(id)))[:41]
}

var errNoFolder = errors.New("the workspace is not available") // its place is none of a model's business

// open opens the folder of a run. Every call opens it anew, so that none holds one that was removed. A folder of a thread, a user or a
// tenant is made when it is first used.
func (j *jail) open(ctx context.Context, call *awaken.ToolCall) (*os.Root, error) {
	h, err := j.holder(ctx, call)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(j.dir)
	if err != nil {
		return nil, errNoFolder
	}
	if h != nil {
		top := root
		root, err = openOwn(top, h)
		_ = top.Close()
		if err != nil {
			return nil, errNoFolder
		}
	}
	if j.Folder == "" || j.Folder == "." {
		return root, nil
	}
	defer func() { _ = root.Close() }()
	if h != nil {
		if err := makeFolders(root, j.Folder); err != nil {
			return nil, errNoFolder
		}
	}
	below, err := root.OpenRoot(j.Folder)
	if err != nil {
		return nil, errNoFolder
	}
	return below, nil
}

// openOwn opens a folder of a thread, a user or a tenant, and makes it first if need be. A process that is root gives it
// to a user without rights, which commands run as.
func openOwn(top *os.Root, h *holder) (*os.Root, error) {
	at := h.place()
	root, err := top.OpenRoot(at)
	if err != nil {
		if err := top.MkdirAll(path.Dir(at), 0o711); err != nil {
			return nil, err
		}
		if err := h.note(top); err != nil {
			return nil, err
		}
		if err := top.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if root, err = top.OpenRoot(at); err != nil {
			return nil, err
		}
	}
	if ofRoot(root) { // it is new, also if another call, or a process that was killed, has made it
		sum := sha256.Sum256([]byte(at))
		id := firstOwner + int(binary.BigEndian.Uint32(sum[:])%owners)
		if root.Chown(".", id, id) != nil {
			if err := root.Chown(".", noUser, noUser); err != nil { // a container may have no other
				_ = root.Close()
				return nil, err
			}
		}
	}
	return root, nil
}

// The users that folders belong to: no system has the first ones, all have the last.
const (
	firstOwner = 1_600_000_000
	owners     = 100_000_000
	noUser     = 65534
)

// makeFolders makes a folder of the workspace, with those above it. They belong to the owner of the workspace.
func makeFolders(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if err := makeFolders(root, path.Dir(name)); err != nil {
		return err
	}
	err := root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if info, err := root.Stat(name); err != nil || !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("not a folder")}
		}
		return nil
	}
	if err != nil {
		return err
	}
	return adopt(root, name)
}

// room returns an error unless the workspace has room for n more bytes and so many more files. What makes it smaller, or leaves it as it
// is, always has room: otherwise a full one could not be emptied.
func (j *jail) room(root *os.Root, n int64, files int) error {
	if n <= 0 && files <= 0 {
		return nil
	}
	used, have := sandbox.Measure(root)
	switch {
	case j.maxFiles > 0 && files > 0 && have > j.maxFiles-files:
		return fmt.Errorf("the workspace is full: it has at most %d files and folders (workspace.max_files); delete some first", j.maxFiles)
	case j.MaxBytes > 0 && n > 0 && used > j.MaxBytes-n:
		return fmt.Errorf("the workspace is full: it has at most %d bytes (max_bytes); delete files first", j.MaxBytes)
	}
	return nil
}

// growth returns by how many bytes and files the workspace grows if a file gets a content of size bytes.
func growth(root *os.Root, name string, size int) (bytes int64, files int) {
	bytes = max(512, int64(size))
	if info, err := root.Lstat(name); err == nil {
		return bytes - max(512, info.Size()), 0
	}
	files = 1
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := root.Lstat(dir); err == nil {
			break
		}
		files++
	}
	return bytes, files
}
