package workspace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/awaken-go/awaken"
)

// What a tainted run writes to a folder that other threads share is marked, so that it taints the runs that read it. A mark is a
// file of its own in marksDir, below the folder of the program, by the hash of the path that it is about: models cannot name it.
// It is written before the file, and removed after a clean run has replaced the whole file. A command may write anywhere, so a command
// of a tainted run marks its whole folder, for good. The folder of a thread needs no marks: the thread is tainted.

// marksDir has the marks, below the folder of the program.
const marksDir = ".awaken-taint"

// treeSuffix ends the name of a mark that is also about all that is below a folder.
const treeSuffix = ".tree"

// marks are the marks of the workspace of a call.
type marks struct {
	top    *os.Root // the folder of the program
	dir    string   // of the marks
	folder string   // the agent's, which paths are relative to
	exist  bool     // there may be some
}

// mark is the content of a mark.
type mark struct {
	Path  string        `json:"path"`
	Taint *awaken.Taint `json:"taint"`
}

// marks returns the marks of the workspace of a call, or nil if the thread carries the taint.
func (j *jail) marks(ctx context.Context, call *awaken.ToolCall) (*marks, error) {
	if j.Scope == ScopeThread {
		return nil, nil
	}
	h, err := j.holder(ctx, call)
	if err != nil || h != nil && h.Thread != "" {
		return nil, err
	}
	top, err := os.OpenRoot(j.dir)
	if err != nil {
		return nil, errNoFolder
	}
	m := &marks{top: top, dir: path.Join(marksDir, "all"), folder: path.Join(j.Folder, ".")}
	if h != nil {
		m.dir = path.Join(marksDir, h.place())
	}
	_, err = top.Stat(m.dir)
	m.exist = !errors.Is(err, fs.ErrNotExist)
	return m, nil
}

// close closes the marks. A nil marks has none.
func (m *marks) close() {
	if m != nil {
		_ = m.top.Close()
	}
}

// file returns the name of the mark of a path.
func (m *marks) file(at string) string {
	return path.Join(m.dir, fmt.Sprintf("%x", sha256.Sum256([]byte(at)))[:40])
}

// load returns the taint of a mark, or nil if there is none. One that cannot be read is a mark all the same.
func (m *marks) load(file string) *awaken.Taint {
	data, err := m.top.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var found mark
	if err != nil || json.Unmarshal(data, &found) != nil || found.Taint == nil {
		return &awaken.Taint{Tool: "unknown"}
	}
	return found.Taint
}

// of returns the taint of a file or folder, or nil.
func (m *marks) of(name string) *awaken.Taint {
	if m == nil || !m.exist {
		return nil
	}
	at := path.Join(m.folder, name)
	if t := m.load(m.file(at)); t != nil {
		return t
	}
	for {
		if t := m.load(m.file(at) + treeSuffix); t != nil || at == "." {
			return t
		}
		at = path.Dir(at)
	}
}

// any returns the taint of a file or folder of the workspace, or nil: a command can read all of them.
func (m *marks) any() *awaken.Taint {
	if m == nil || !m.exist {
		return nil
	}
	list, err := readFolder(m.top, m.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &awaken.Taint{Tool: "unknown"}
	}
	for _, e := range list {
		if t := m.load(path.Join(m.dir, e.Name())); t != nil && !e.IsDir() {
			return t
		}
	}
	return nil
}

// set marks a file or folder or, if tree is set, all that is below a folder.
func (m *marks) set(name string, tree bool, t *awaken.Taint) error {
	if m == nil || t == nil {
		return nil
	}
	at := path.Join(m.folder, name)
	data, err := json.Marshal(mark{at, t})
	if err != nil {
		return err
	}
	file, temp := m.file(at), path.Join(m.dir, ".mark-"+rand.Text())
	if tree {
		file += treeSuffix
	}
	if err = m.top.MkdirAll(m.dir, 0o700); err == nil {
		err = m.top.WriteFile(temp, data, 0o600)
	}
	if err == nil {
		err = m.top.Rename(temp, file)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be marked as written after untrusted content, so it was not written", name)
	}
	m.exist = true
	return nil
}

// setNew marks a file that is about to be written, and the folders that are made for it, since their names are text, too.
func (m *marks) setNew(root *os.Root, name string, t *awaken.Taint) error {
	if m == nil || t == nil {
		return nil
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := root.Lstat(dir); err == nil {
			break
		}
		if err := m.set(dir, false, t); err != nil {
			return err
		}
	}
	return m.set(name, false, t)
}

// clear removes the mark of a file that a clean run has replaced.
func (m *marks) clear(name string) {
	if m != nil && m.exist {
		_ = m.top.Remove(m.file(path.Join(m.folder, name))) // if it stays, the file counts as tainted
	}
}

// watch returns the marks for a call that reads. It is nil if results taint the run anyway.
func (j *jail) watch(ctx context.Context, call *awaken.ToolCall) (*marks, error) {
	if j.shared() {
		return nil, nil
	}
	return j.marks(ctx, call)
}

// put writes a file for a call, and marks it if the run is tainted. Whole says that nothing of the old content stays.
func (j *jail) put(ctx context.Context, call *awaken.ToolCall, root *os.Root, name string, data []byte, whole bool) error {
	m, err := j.marks(ctx, call)
	if err != nil {
		return err
	}
	defer m.close()
	taint := call.Taint()
	if err := m.setNew(root, name, taint); err != nil {
		return err
	}
	if err := j.write(root, name, data, unique(call)); err != nil {
		return err
	}
	if taint == nil && whole {
		m.clear(name)
	}
	return nil
}

// markCommand marks the workspace for a command that is about to run: it may read and write everything. It returns what marks it
// again when the command has ended, since a command can remove marks in the folder of the program.
func (j *jail) markCommand(ctx context.Context, call *awaken.ToolCall) (again func() error, err error) {
	m, err := j.marks(ctx, call)
	if err != nil {
		return nil, err
	}
	defer m.close()
	call.ReadTainted(m.any())
	taint := call.Taint()
	if taint == nil || !j.Write {
		return func() error { return nil }, nil
	}
	again = func() error {
		m, err := j.marks(context.WithoutCancel(ctx), call)
		if err != nil {
			return err
		}
		defer m.close()
		return m.set(".", true, taint)
	}
	return again, again()
}
