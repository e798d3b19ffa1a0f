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
}

func (j *jail) listTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "file_list", Effect: awaken.ReadOnly, Description: "Lists the files and folders of the workspace."},
		func(ctx context.Context, _ *awaken.ToolCall, in listArgs) (listing, error) {
			name, root, err := j.enter(in.Path)
			if err != nil {
				return listing{}, err
			}
			defer root.Close()
			out := listing{Entries: []entry{}}
			err = j.walk(ctx, root, name, in.Recursive, func(name string, info fs.FileInfo) bool {
				if out.Truncated = len(out.Entries) == j.MaxResults; out.Truncated {
					return false
				}
				e := entry{Path: name, Type: kind(info.Mode())}
				if e.Type == "file" {
					e.Size = info.Size()
				}
				out.Entries = append(out.Entries, e)
				return true
			})
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

// enter checks a path and opens the workspace.
func (j *jail) enter(name string) (string, *os.Root, error) {
	name, err := j.check(name)
	if err != nil {
		return "", nil, err
	}
	root, err := j.open()
	return name, root, err
}

// maxVisits limits how many files a call looks at.
const maxVisits = 100_000

// walk calls f for what is in a folder, in the order of names, until f returns false. It follows no links.
func (j *jail) walk(ctx context.Context, root *os.Root, name string, deep bool, f func(name string, info fs.FileInfo) bool) error {
	visits := 0
	stop := errors.New("stop")
	var list func(dir string, depth int) error
	list = func(dir string, depth int) error {
		entries, err := fs.ReadDir(root.FS(), dir)
		if err != nil && dir == name {
			return plain(dir, err)
		}
		for _, e := range entries {
			if visits++; visits > maxVisits || ctx.Err() != nil {
				return stop
			}
			at := path.Join(dir, e.Name())
			if !j.Hidden && hidden(e.Name()) {
				continue
			}
			info, err := root.Lstat(at)
			if err != nil {
				continue // it is gone
			}
			if !f(at, info) {
				return stop
			}
			if deep && info.IsDir() && depth < 64 {
				if err := list(at, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if info, err := root.Stat(name); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder", name)
	}
	err := list(name, 0)
	if errors.Is(err, stop) {
		err = context.Cause(ctx)
	}
	return err
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
	return awaken.NewTool(awaken.ToolSpec{ID: "file_read", Effect: awaken.ReadOnly, Description: "Reads a text file of the workspace."},
		func(_ context.Context, _ *awaken.ToolCall, in readArgs) (fileText, error) {
			name, root, err := j.enter(in.Path)
			if err != nil {
				return fileText{}, err
			}
			defer root.Close()
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
		return "", fmt.Errorf("%s is not a text file", name)
	}
	return string(data), nil
}

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
	Truncated bool    `json:"truncated,omitempty"`
}

// maxLine limits how much of a line a search shows.
const maxLine = 300

func (j *jail) searchTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "file_search", Effect: awaken.ReadOnly, Description: "Finds the lines with a text in the files of the workspace."},
		func(ctx context.Context, _ *awaken.ToolCall, in searchArgs) (findings, error) {
			if in.Text == "" || len(in.Text) > 1000 || strings.Contains(in.Text, "\n") {
				return findings{}, fmt.Errorf("text is %d bytes long, want one line of 1 to 1000", len(in.Text))
			}
			if _, err := path.Match(in.Name, ""); err != nil || len(in.Name) > 200 {
				return findings{}, fmt.Errorf("name is %.100q, want a pattern such as *.go", in.Name)
			}
			name, root, err := j.enter(in.Path)
			if err != nil {
				return findings{}, err
			}
			defer root.Close()
			out := findings{Found: []found{}}
			err = j.walk(ctx, root, name, true, func(name string, info fs.FileInfo) bool {
				if ok, _ := path.Match(in.Name, path.Base(name)); !info.Mode().IsRegular() || in.Name != "" && !ok {
					return true
				}
				text, err := j.text(root, name)
				if err != nil {
					return true // too large, not text, or gone
				}
				return out.add(name, text, in.Text, j.MaxResults)
			})
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
	return awaken.NewTool(awaken.ToolSpec{ID: "file_write", Effect: awaken.Idempotent, Description: "Writes a text file of the workspace: creates it, or replaces its content."},
		func(_ context.Context, call *awaken.ToolCall, in writeArgs) (written, error) {
			name, root, err := j.enter(in.Path)
			if err != nil {
				return written{}, err
			}
			defer root.Close()
			j.edits.Lock()
			defer j.edits.Unlock()
			return written{name, len(in.Text)}, j.write(root, name, []byte(in.Text), unique(call))
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
	return awaken.NewTool(awaken.ToolSpec{ID: "file_edit", Effect: awaken.Idempotent, Description: "Replaces one text in a file of the workspace by another."},
		func(ctx context.Context, call *awaken.ToolCall, in editArgs) (written, error) {
			if in.Old == "" || in.Old == in.New {
				return written{}, errors.New("old is empty or the same as new, want the text to replace")
			}
			name, root, err := j.enter(in.Path)
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
			return awaken.Step(ctx, call, "write", awaken.Idempotent, func(context.Context, string) (written, error) {
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
				return written{name, len(text)}, j.write(root, name, []byte(text), unique(call))
			})
		})
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
