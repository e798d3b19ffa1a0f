// Package workspace gives agents tools to work with the files of one folder: file_list, file_read, file_search, file_write
// and file_edit.
//
//	cfg.Plugins = append(cfg.Plugins, workspace.New("/srv/projects"))
//
// An agent that lists "workspace" in plugin_ids works in the folder that its section names, below the one
// of the program:
//
//	"workspace": {"folder": "site", "write": true, "max_file_bytes": 262144}
//
// Without "write" it has only the tools that read. The folder is a jail: the tools open every path with
// [os.Root], which follows no link out of it, also not one that changes in the middle of a call. Paths are
// relative, with slashes. Only regular files and folders are opened: no devices, pipes or sockets.
//
// file_write and file_edit are idempotent: a call that is repeated after a crash leaves the same file. An edit says
// which text it replaces, and that text must be in the file once; it records what it is about to do, so it is not made twice.
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
)

// Name is the name of the plugin and of its section.
const Name = "workspace"

// Config is the section "workspace".
type Config struct {
	Folder       string `json:"folder" jsonschema:"the agent's folder, below that of the program; it must exist; empty means that folder itself"`
	Write        bool   `json:"write" jsonschema:"whether the agent may write and edit files"`
	MaxFileBytes int    `json:"max_file_bytes" jsonschema:"files that are larger are neither read nor written"`
	MaxResults   int    `json:"max_results" jsonschema:"maximum number of entries of a list and of lines that a search finds"`
	Hidden       bool   `json:"hidden" jsonschema:"whether files and folders whose names begin with a dot can be used"`
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error {
	var errs []error
	if c.Folder != "" && !fs.ValidPath(c.Folder) {
		errs = append(errs, fmt.Errorf("folder is %q, want a relative path with slashes, without the element .. in it", c.Folder))
	}
	if c.MaxFileBytes < 1 || c.MaxFileBytes > 16<<20 {
		errs = append(errs, fmt.Errorf("max_file_bytes is %d, want 1 to %d", c.MaxFileBytes, 16<<20))
	}
	if c.MaxResults < 1 || c.MaxResults > 10_000 {
		errs = append(errs, fmt.Errorf("max_results is %d, want 1 to 10000", c.MaxResults))
	}
	return errors.Join(errs...)
}

// New returns the plugin. Agents work in the folder dir, or below it.
func New(dir string) awaken.Plugin {
	s := awaken.NewSection(Name, Config{MaxFileBytes: 256 << 10, MaxResults: 500})
	s.Info = awaken.SectionInfo{DisplayName: "Workspace", Category: "tools", Description: "Tools to read, search, write and edit the files of a folder."}
	return &plugin{dir: dir, section: s}
}

type plugin struct {
	dir     string
	section *awaken.Section[Config]
	edits   sync.Mutex
}

func (*plugin) Name() string { return Name }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	j := &jail{dir: p.dir, edits: &p.edits, Config: cfg}
	r.Tool(j.listTool(), j.readTool(), j.searchTool())
	if cfg.Write {
		r.Tool(j.writeTool(), j.editTool())
	}
	return nil
}

// jail is the folder of an agent.
type jail struct {
	dir   string      // of the program
	edits *sync.Mutex // held while a file is read and written: the calls of a step, and runs, may edit the same one
	Config
}

// open opens the agent's folder. Every call opens it anew, so that none holds one that was removed.
func (j *jail) open() (*os.Root, error) {
	root, err := os.OpenRoot(j.dir)
	if err != nil {
		return nil, errors.New("the workspace is not available") // its place is none of a model's business
	}
	if j.Folder == "" || j.Folder == "." {
		return root, nil
	}
	defer root.Close()
	below, err := root.OpenRoot(j.Folder)
	if err != nil {
		return nil, errors.New("the workspace is not available")
	}
	return below, nil
}

// check returns a path that a model has named, in its simplest form, or an error.
func (j *jail) check(name string) (string, error) {
	name = strings.TrimPrefix(name, "./")
	if name = strings.TrimSuffix(name, "/"); name == "" {
		name = "."
	}
	switch {
	case len(name) > 1024 || !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\\:") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		return "", fmt.Errorf("path is %.100q, want a relative path of at most 1024 bytes with slashes, without control characters, colons and backslashes", name)
	case !fs.ValidPath(name):
		return "", fmt.Errorf("path is %.100q, want a relative path in the workspace, without .. and empty parts", name)
	case !j.Hidden && hidden(name):
		return "", fmt.Errorf("path is %.100q: names that begin with a dot are not available in this workspace", name)
	}
	return name, nil
}

// hidden reports whether a part of a path begins with a dot.
func hidden(name string) bool {
	return name != "." && slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

// plain returns an error of the file system without the place of the workspace.
func plain(name string, err error) error {
	var why *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", name)
	case errors.As(err, &why):
		return fmt.Errorf("%s: %v", name, why.Err)
	}
	return fmt.Errorf("%s: cannot be used", name)
}

// read returns the content of a regular file.
func (j *jail) read(root *os.Root, name string) ([]byte, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(j.MaxFileBytes)+1))
	if err != nil { // what was read is not the whole file
		return nil, plain(name, err)
	}
	if len(data) > j.MaxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, j.MaxFileBytes)
	}
	return data, nil
}

// openRegular opens a regular file for reading. It does not wait for what is none, such as a pipe.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, plain(name, err)
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return f, nil
}

// write replaces a file, with the folders above it. Readers see the old content or the new one: it is
// written beside the file and renamed. A link is replaced, not followed.
func (j *jail) write(root *os.Root, name string, data []byte, unique string) error {
	if len(data) > j.MaxFileBytes {
		return fmt.Errorf("the content is %d bytes long, want at most %d", len(data), j.MaxFileBytes)
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder", name)
	}
	mode := fs.FileMode(0o644)
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return plain(dir, err)
	}
	temp := path.Join(dir, ".awaken-"+unique)
	_ = root.Remove(temp) // of the call that was cut off
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return plain(name, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return plain(name, err)
	}
	return nil
}
