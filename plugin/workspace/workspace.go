// Package workspace gives agents tools to work in a folder: file_list, file_read, file_search, file_write, file_edit,
// file_delete and shell.
//
//	cfg.Plugins = append(cfg.Plugins, workspace.New(workspace.Options{Dir: "/srv/projects"}))
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
// All runs share the folder, or those of a tenant, of a user or of a thread; see [Scope].
//
// A full folder can always be emptied: deleting files, and writing less than they have, needs no room.
//
// file_write, file_edit and file_delete are idempotent: a call that is repeated after a crash leaves the same file. An edit says
// which text it replaces, and that text must be in the file once; it records what it is about to do, so it is not made twice.
//
// The tool shell runs a command line in the folder, if the program ([Options.Shell]) and the section ("shell": {"enabled": true}) permit
// it. The kernel confines the command, with all that it starts: it can write only to the folder (nowhere without "write"), has no network,
// few variables of the environment, and limits of time, memory, processes, files and output. Where the kernel cannot, calls are refused.
// A person decides about each call, unless the section or permission rules say otherwise. A command whose run was cut off is in doubt, and not repeated.
//
// Files may hold text of authors who want to instruct the model. So results taint the run ([awaken.Taint]) if others can have written
// what they hold: if the folder is not that of a thread, unless the section says "trusted", and if commands have a network. In a
// trusted folder, what tainted runs wrote taints the runs that read it.
package workspace

import (
	"cmp"
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
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/schema"
)

// Name is the name of the plugin and of its section.
const Name = "workspace"

// Config is the section "workspace".
type Config struct {
	Folder       string      `json:"folder" jsonschema:"the agent's folder, below that of the program, tenant, user or thread; empty means that folder itself; below that of the program it must exist"`
	Scope        Scope       `json:"scope" jsonschema:"which runs share the folder: those of a thread, of a user, of a tenant, or all; empty means what the program says"`
	Write        bool        `json:"write" jsonschema:"whether the agent may write and edit files"`
	MaxBytes     int64       `json:"max_bytes" jsonschema:"bytes of all files in the folder; 0 means what the program says, which is the maximum"`
	MaxFileBytes int         `json:"max_file_bytes" jsonschema:"files that are larger are neither read nor written"`
	MaxResults   int         `json:"max_results" jsonschema:"maximum number of entries of a list and of lines that a search finds"`
	Hidden       bool        `json:"hidden" jsonschema:"whether files and folders whose names begin with a dot can be used; commands of the shell always can"`
	Trusted      bool        `json:"trusted" jsonschema:"only authors who may instruct the model write to the folder, so what tools read there does not taint the run, unless a tainted run wrote it"`
	Shell        ShellConfig `json:"shell" jsonschema:"commands"`
}

// DescribeSchema adds constraints that Go types cannot express.
func (*Config) DescribeSchema(s *schema.Node) {
	s.Property("scope").Enum("", string(ScopeThread), string(ScopeUser), string(ScopeTenant), string(ScopeAll))
	s.Property("shell").Property("approval").Enum(string(Ask), string(Allow))
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error {
	var bad check.Problems
	bad.When(c.Folder != "" && !fs.ValidPath(c.Folder), "folder is %q, want a relative path with slashes, without the element .. in it", c.Folder)
	if c.Scope != "" {
		bad.OneOf("scope", string(c.Scope), string(ScopeThread), string(ScopeUser), string(ScopeTenant), string(ScopeAll))
	}
	bad.When(c.MaxBytes < 0, "max_bytes is %d, want 0 or more", c.MaxBytes)
	inRange(&bad, "max_file_bytes", int64(c.MaxFileBytes), 1, 16<<20)
	inRange(&bad, "max_results", int64(c.MaxResults), 1, 10_000)
	c.Shell.validate(&bad)
	return bad.Err()
}

// Options configures the plugin.
type Options struct {
	Dir string // the folder that agents work in, or below; it must exist
	// Scope says which runs share a folder, if the agent's section does not; "" means [ScopeAll].
	Scope Scope
	// Origin names the database that the threads are in, if several use Dir: a [Sweeper] removes the folders of its own.
	Origin string
	// MaxBytes limits the files of a folder; 0 means no limit. A section may set a lower one.
	MaxBytes int64
	// MaxFiles limits the number of files and folders in a folder; 0 means no limit.
	MaxFiles int
	// Shell permits agents to run commands. With nil, none can.
	Shell *Shell
}

// Shell says what commands may do. The zero value gives them no network, and no variables of the environment.
type Shell struct {
	Network  bool     // commands of agents whose section says so may connect to all that this machine reaches
	Env      []string // variables of the environment that sections may give commands
	Parallel int      // commands that run at the same time; 0 means 4
}

// New returns the plugin.
func New(o Options) awaken.Plugin {
	s := awaken.NewSection(Name, Config{MaxFileBytes: 256 << 10, MaxResults: 500, Shell: defaultShell})
	s.Info = awaken.SectionInfo{DisplayName: "Workspace", Category: "tools", Description: "Tools to read, search, write and edit the files of a folder, and to run commands in it."}
	p := &plugin{options: o, section: s}
	if o.Shell != nil {
		p.shell = newShell(o.Shell)
	}
	return p
}

type plugin struct {
	options Options
	section *awaken.Section[Config]
	shell   *shell // nil if there are no commands
	edits   sync.Mutex
}

func (*plugin) Name() string { return Name }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	if err := p.shell.check(&cfg.Shell); err != nil {
		return err
	}
	cfg.Scope = cmp.Or(cfg.Scope, p.options.Scope, ScopeAll)
	if most := p.options.MaxBytes; most > 0 && (cfg.MaxBytes == 0 || cfg.MaxBytes > most) {
		cfg.MaxBytes = most
	}
	j := &jail{dir: p.options.Dir, origin: p.options.Origin, maxFiles: p.options.MaxFiles, edits: &p.edits, shell: p.shell, Config: cfg}
	r.Tool(j.listTool(), j.readTool(), j.searchTool())
	if cfg.Write {
		r.Tool(j.writeTool(), j.editTool(), j.deleteTool())
	}
	if cfg.Shell.Enabled {
		r.Tool(j.shellTool())
		if cfg.Shell.Approval == Ask && !slices.Contains(r.Agent.PluginIDs, "permission") { // which asks by its rules
			r.Gate(j.gate)
		}
	}
	return nil
}

// jail is the folder of an agent.
type jail struct {
	dir      string // of the program
	origin   string // of the threads
	maxFiles int
	edits    *sync.Mutex // held while a file is read and written: the calls of a step, and runs, may edit the same one
	shell    *shell
	Config
}

// shared reports whether authors that the model does not know of may have written files.
func (j *jail) shared() bool { return j.Scope != ScopeThread && !j.Trusted }

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
	case name == marksDir || strings.HasPrefix(name, marksDir+"/"):
		return "", fmt.Errorf("path is %.100q, which is not part of the workspace", name)
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

// readFolder lists a folder, in the order of names. It does not wait for a pipe that a command has put in its place.
func readFolder(root *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
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
	more, files := growth(root, name, len(data))
	if err := j.room(root, more, files); err != nil {
		return err
	}
	dir := path.Dir(name)
	if err := makeFolders(root, dir); err != nil {
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
		err = adopt(root, temp)
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return plain(name, err)
	}
	return nil
}
