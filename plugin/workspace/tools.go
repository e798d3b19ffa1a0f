package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
)

type listArgs struct {
	Path      string `json:"path,omitempty" jsonschema:"a folder; default: the whole workspace"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"list the folders below it too"`
}

type entry struct {
	Path string `json:"path"`
	Type string `json:"type"` // file, folder, link or other
	Size int64  `json:"size,omitempty"`
}

type listing struct {
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"` // there are more
	Note      string  `json:"note,omitempty"`      // what was left out, and why
}

func (j *jail) listTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "file_list",
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.ReadOnly,
		Untrusted:   j.shared(),
		Description: "Lists the files and folders of the workspace.",
	},
		func(ctx context.Context, call *awaken.ToolCall, in listArgs) (listing, error) {
			name, root, err := j.enter(ctx, call, in.Path)
			if err != nil {
				return listing{}, err
			}
			defer root.Close()
			marks, err := j.watch(ctx, call)
			if err != nil {
				return listing{}, err
			}
			defer marks.close()
			out := listing{Entries: []entry{}}
			w := &walk{jail: j, root: root, top: name, deep: in.Recursive}
			err = w.run(ctx, func(name string, info fs.FileInfo) bool {
				if out.Truncated = len(out.Entries) == j.MaxResults; out.Truncated {
					return false
				}
				e := entry{Path: name, Type: kind(info.Mode())}
				if e.Type == "file" {
					e.Size = info.Size()
				}
				out.Entries = append(out.Entries, e)
				call.ReadTainted(marks.of(name))
				return true
			})
			if out.Truncated {
				w.leave("there are more than %d entries (max_results): list a folder below", j.MaxResults)
			}
			out.Note, out.Truncated = w.note(), out.Truncated || w.partial()
			return out, err
		})
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

// enter checks a path and opens the workspace of a call.
func (j *jail) enter(ctx context.Context, call *awaken.ToolCall, name string) (string, *os.Root, error) {
	name, err := j.check(name)
	if err != nil {
		return "", nil, err
	}
	root, err := j.open(ctx, call)
	return name, root, err
}

// The limits of a walk: how many files it looks at, and how deep.
const (
	maxVisits = 100_000
	maxDepth  = 64
)

// walk visits what is in a folder.
type walk struct {
	*jail
	root    *os.Root
	top     string // the folder
	deep    bool   // the folders below it, too
	visits  int
	stopped bool     // at a limit of this type
	unread  int      // files and folders that could not be read
	left    []string // what was left out, for the model
}

// leave notes that something was left out, once.
func (w *walk) leave(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.left, text) {
		w.left = append(w.left, text)
	}
}

// note says what was left out, or "".
func (w *walk) note() string {
	if w.unread > 0 {
		w.leave("%d files or folders could not be read", w.unread)
	}
	return strings.Join(w.left, "; ")
}

// partial reports whether something was left out.
func (w *walk) partial() bool { return w.stopped || w.unread > 0 }

var errStop = errors.New("stop")

// run calls f for what is in the folder, in the order of names, until f returns false. It follows no links.
func (w *walk) run(ctx context.Context, f func(name string, info fs.FileInfo) bool) error {
	if info, err := w.root.Stat(w.top); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder", w.top)
	}
	err := w.folder(ctx, w.top, 0, f)
	if errors.Is(err, errStop) {
		err = context.Cause(ctx)
	}
	return err
}

func (w *walk) folder(ctx context.Context, dir string, depth int, f func(name string, info fs.FileInfo) bool) error {
	entries, err := readFolder(w.root, dir)
	if err != nil && dir == w.top {
		return plain(dir, err)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.unread++
	}
	for _, e := range entries {
		if w.visits++; w.visits > maxVisits {
			w.stopped = true
			w.leave("only %d files were looked at: name a folder below", maxVisits)
			return errStop
		}
		if ctx.Err() != nil {
			return errStop
		}
		at := path.Join(dir, e.Name())
		if !w.Hidden && hidden(e.Name()) || at == marksDir {
			continue
		}
		info, err := w.root.Lstat(at)
		if err != nil {
			continue // it is gone
		}
		if !f(at, info) {
			return errStop
		}
		if !w.deep || !info.IsDir() {
			continue
		}
		if depth == maxDepth {
			w.stopped = true
			w.leave("folders below %d levels were left out: name one of them", maxDepth)
			continue
		}
		if err := w.folder(ctx, at, depth+1, f); err != nil {
			return err
		}
	}
	return nil
}

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty" jsonschema:"minimum=0,description=lines to leave out"`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=0,description=maximum number of lines; default all"`
}

type fileText struct {
	Path  string `json:"path"`
	Text  string `json:"text"`
	Lines int    `json:"lines"` // of the whole file
}

func (j *jail) readTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "file_read",
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.ReadOnly,
		Untrusted:   j.shared(),
		Description: "Reads a text file of the workspace.",
	},
		func(ctx context.Context, call *awaken.ToolCall, in readArgs) (fileText, error) {
			name, root, err := j.enter(ctx, call, in.Path)
			if err != nil {
				return fileText{}, err
			}
			defer root.Close()
			marks, err := j.watch(ctx, call)
			if err != nil {
				return fileText{}, err
			}
			defer marks.close()
			call.ReadTainted(marks.of(name))
			text, err := j.text(root, name)
			if err != nil {
				return fileText{}, err
			}
			lines := strings.SplitAfter(text, "\n")
			if lines[len(lines)-1] == "" {
				lines = lines[:len(lines)-1]
			}
			from := min(in.Offset, len(lines))
			to := len(lines)
			if in.Limit > 0 {
				to = from + min(to-from, in.Limit)
			}
			return fileText{name, strings.Join(lines[from:to], ""), len(lines)}, nil
		})
}

// text returns the content of a text file.
func (j *jail) text(root *os.Root, name string) (string, error) {
	data, err := j.read(root, name)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return "", fmt.Errorf("%s is %w", name, errNotText)
	}
	return string(data), nil
}

var errNotText = errors.New("not a text file")

type searchArgs struct {
	Text string `json:"text" jsonschema:"what to look for; not a pattern"`
	Path string `json:"path,omitempty" jsonschema:"a folder; default: the whole workspace"`
	Name string `json:"name,omitempty" jsonschema:"only files with names that match, such as *.go"`
}

type found struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type findings struct {
	Found     []found `json:"found"`
	Truncated bool    `json:"truncated,omitempty"` // there may be more
	Note      string  `json:"note,omitempty"`      // what was left out, and why
}

// maxLine limits how much of a line a search shows.
const maxLine = 300

func (j *jail) searchTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "file_search",
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.ReadOnly,
		Untrusted:   j.shared(),
		Description: "Finds the lines with a text in the files of the workspace.",
	},
		func(ctx context.Context, call *awaken.ToolCall, in searchArgs) (findings, error) {
			if in.Text == "" || len(in.Text) > 1000 || strings.Contains(in.Text, "\n") {
				return findings{}, fmt.Errorf("text is %d bytes long, want one line of 1 to 1000", len(in.Text))
			}
			if _, err := path.Match(in.Name, ""); err != nil || len(in.Name) > 200 {
				return findings{}, fmt.Errorf("name is %.100q, want a pattern such as *.go", in.Name)
			}
			name, root, err := j.enter(ctx, call, in.Path)
			if err != nil {
				return findings{}, err
			}
			defer root.Close()
			marks, err := j.watch(ctx, call)
			if err != nil {
				return findings{}, err
			}
			defer marks.close()
			out := findings{Found: []found{}}
			w := &walk{jail: j, root: root, top: name, deep: true}
			large := 0
			err = w.run(ctx, func(name string, info fs.FileInfo) bool {
				if ok, _ := path.Match(in.Name, path.Base(name)); !info.Mode().IsRegular() || in.Name != "" && !ok {
					return true
				}
				if info.Size() > int64(j.MaxFileBytes) {
					large++
					return true
				}
				text, err := j.text(root, name)
				if err != nil {
					if _, gone := root.Lstat(name); gone == nil && !errors.Is(err, errNotText) {
						w.unread++
					}
					return true
				}
				before := len(out.Found)
				more := out.add(name, text, in.Text, j.MaxResults)
				if len(out.Found) > before {
					call.ReadTainted(marks.of(name))
				}
				return more
			})
			if large > 0 {
				w.leave("%d files are larger than %d bytes (max_file_bytes) and were not searched", large, j.MaxFileBytes)
			}
			if out.Truncated {
				w.leave("there are more than %d lines (max_results): search a folder, or for a longer text", j.MaxResults)
			}
			out.Note, out.Truncated = w.note(), out.Truncated || w.partial() || large > 0
			return out, err
		})
}

// add adds the lines with what, and reports whether there is room for more.
func (f *findings) add(name, text, what string, limit int) bool {
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		at := strings.Index(line, what)
		if at < 0 {
			continue
		}
		if f.Truncated = len(f.Found) == limit; f.Truncated {
			return false
		}
		from := max(0, at-maxLine/2)
		f.Found = append(f.Found, found{name, n, strings.ToValidUTF8(line[from:min(len(line), from+maxLine)], "")})
	}
	return true
}

type writeArgs struct {
	Path string `json:"path"`
	Text string `json:"text" jsonschema:"the whole content of the file"`
}

type written struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// unique returns a name for the temporary file of a call: the same if the call is repeated.
func unique(call *awaken.ToolCall) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(call.Key)))[:16]
}

func (j *jail) writeTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "file_write",
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.Idempotent,
		Description: "Writes a text file of the workspace: creates it, or replaces its content.",
	},
		func(ctx context.Context, call *awaken.ToolCall, in writeArgs) (written, error) {
			name, root, err := j.enter(ctx, call, in.Path)
			if err != nil {
				return written{}, err
			}
			defer root.Close()
			j.edits.Lock()
			defer j.edits.Unlock()
			return written{name, len(in.Text)}, j.put(ctx, call, root, name, []byte(in.Text), true)
		})
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old" jsonschema:"the text to replace; it must be in the file exactly once"`
	New  string `json:"new" jsonschema:"the text to put there"`
}

// plan is what an edit is about to do, by the hashes of the file before and after it.
type plan struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// editTool replaces a text. The plan is recorded before the file is written, so a call that is repeated sees
// whether it has been made.
func (j *jail) editTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "file_edit",
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.Idempotent,
		Description: "Replaces one text in a file of the workspace by another.",
	},
		func(ctx context.Context, call *awaken.ToolCall, in editArgs) (written, error) {
			if in.Old == "" || in.Old == in.New {
				return written{}, errors.New("old is empty or the same as new, want the text to replace")
			}
			name, root, err := j.enter(ctx, call, in.Path)
			if err != nil {
				return written{}, err
			}
			defer root.Close()
			planned, err := awaken.Step(ctx, call, "plan", awaken.ReadOnly, func(context.Context, string) (plan, error) {
				text, err := j.text(root, name)
				if err != nil {
					return plan{}, err
				}
				if n := strings.Count(text, in.Old); n != 1 {
					return plan{}, fmt.Errorf("old is in %s %d times, want once: add text around it", name, n)
				}
				return plan{digest(text), digest(strings.Replace(text, in.Old, in.New, 1))}, nil
			})
			if err != nil {
				return written{}, err
			}
			return awaken.Step(ctx, call, "write", awaken.Idempotent, func(ctx context.Context, _ string) (written, error) {
				j.edits.Lock()
				defer j.edits.Unlock()
				text, err := j.text(root, name)
				switch {
				case err != nil:
					return written{}, err
				case digest(text) == planned.After:
					return written{name, len(text)}, nil // it was written before the call was cut off
				case digest(text) != planned.Before:
					return written{}, fmt.Errorf("%s has changed in the meantime: read it again", name)
				}
				text = strings.Replace(text, in.Old, in.New, 1)
				return written{name, len(text)}, j.put(ctx, call, root, name, []byte(text), false)
			})
		})
}

type deleteArgs struct {
	Path      string `json:"path" jsonschema:"a file or a folder; . is the whole workspace"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"delete a folder with all that is in it"`
}

type deleted struct {
	Path    string `json:"path"`
	Deleted bool   `json:"deleted"` // false if it did not exist
}

func (j *jail) deleteTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "file_delete",
		Effect:      awaken.Idempotent,
		Description: "Deletes a file or a folder of the workspace.",
	},
		func(ctx context.Context, call *awaken.ToolCall, in deleteArgs) (deleted, error) {
			name, root, err := j.enter(ctx, call, in.Path)
			if err != nil {
				return deleted{}, err
			}
			defer root.Close()
			j.edits.Lock()
			defer j.edits.Unlock()
			names := []string{name}
			if name == "." { // the folder itself stays
				if !in.Recursive {
					return deleted{}, errors.New("path is the whole workspace, which needs recursive")
				}
				if names, err = j.visible(root); err != nil {
					return deleted{}, err
				}
			}
			out := deleted{Path: name}
			for _, one := range names {
				if _, err := root.Lstat(one); errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if in.Recursive {
					err = root.RemoveAll(one)
				} else {
					err = root.Remove(one)
				}
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return out, plain(one, err)
				}
				out.Deleted = true
			}
			return out, context.Cause(ctx)
		})
}

// visible returns the names at the top of the workspace that the agent may use.
func (j *jail) visible(root *os.Root) ([]string, error) {
	entries, err := readFolder(root, ".")
	if err != nil {
		return nil, plain(".", err)
	}
	var names []string
	for _, e := range entries {
		if j.Hidden || !hidden(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
