package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Source provides skills.
type Source interface {
	// Load reads all skills of the source. The warnings say what it left out, and why.
	Load() (list []*Skill, warnings []string, err error)
}

// Folder returns the skills in a folder: one folder each, with a SKILL.md. Links are not followed,
// hidden files are skipped. What the skills hold is read once: a file that is replaced afterwards
// does not change them. Loading again reads files only if one has changed.
func Folder(name string) Source { return &folder{name: name} }

type folder struct {
	name string

	mu       sync.Mutex
	outline  string // of the folder when it was read
	settled  bool   // no file had changed shortly before
	list     []*Skill
	warnings []string
	reads    int
}

// settling is how long ago a file must have changed for its time to show a further change.
const settling = 2 * time.Second

func (f *folder) Load() ([]*Skill, []string, error) {
	root, err := os.OpenRoot(f.name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	began := time.Now()
	outline, latest, err := outlineOf(root.FS())
	if err != nil {
		return nil, nil, err
	}
	if f.settled && outline == f.outline {
		return f.list, f.warnings, nil
	}
	l := &loader{fsys: root.FS(), open: func(name string) (fs.File, error) { return openIn(root, name) }}
	list, warnings, err := l.load(f.name)
	if err != nil {
		return nil, nil, err
	}
	f.outline, f.settled, f.list, f.warnings = outline, latest.Before(began.Add(-settling)), list, warnings
	f.reads++
	return list, warnings, nil
}

// outlineOf hashes what is known about the files without reading them, and returns the time of the
// latest change.
func outlineOf(fsys fs.FS) (outline string, latest time.Time, err error) {
	h := sha256.New()
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil && name != "." { // removed meanwhile, or not readable, which is reported when it is read
			fmt.Fprintf(h, "%q %v\n", name, err)
			return nil
		}
		if err != nil {
			return err
		}
		if name != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // removed meanwhile
		}
		if info.ModTime().After(latest) {
			latest = info.ModTime()
		}
		fmt.Fprintf(h, "%q %v %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), latest, err
}

// openIn opens a regular file below root. Whatever replaces the file meanwhile, the result is the
// regular file that was there: never one that a link leads to, and never a pipe that blocks.
func openIn(root *os.Root, name string) (fs.File, error) {
	was, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !was.Mode().IsRegular() {
		return nil, errors.New("is no regular file")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && (!is.Mode().IsRegular() || !os.SameFile(was, is)) {
		err = errors.New("was replaced while it was read")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// FS returns the skills in a file system, such as one that is embedded in the program. For a
// folder of the machine use [Folder], which is safe against links.
func FS(fsys fs.FS) Source { return embedded{fsys} }

type embedded struct{ fsys fs.FS }

func (e embedded) Load() ([]*Skill, []string, error) {
	l := &loader{fsys: e.fsys, open: e.fsys.Open}
	return l.load("file system")
}

// Fixed returns skills that never change. They must be sealed; see [Skill.Seal].
func Fixed(list ...*Skill) Source { return fixed(list) }

type fixed []*Skill

func (f fixed) Load() ([]*Skill, []string, error) { return f, nil, nil }

// loader reads the skills of a file system.
type loader struct {
	fsys     fs.FS
	open     func(name string) (fs.File, error)
	warnings []string
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// load reads the skills in the folders of the file system. What cannot be read is left out.
func (l *loader) load(where string) ([]*Skill, []string, error) {
	entries, err := fs.ReadDir(l.fsys, ".")
	if err != nil {
		return nil, nil, err
	}
	var list []*Skill
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if len(list) == maxSkills {
			l.warn("%s: more than %d skills, the others are left out", where, maxSkills)
			break
		}
		s, warnings, err := l.skill(e)
		switch {
		case errors.Is(err, errNoSkill):
		case err != nil:
			l.warn("%s: skill %q is left out: %v", where, e.Name(), err)
		case slices.ContainsFunc(list, func(o *Skill) bool { return o.Name == s.Name }):
			l.warn("%s: skill %q is left out: another folder has a skill of the same name, %q", where, e.Name(), s.Name)
		default:
			list = append(list, s)
		}
		for _, w := range warnings {
			l.warn("%s: skill %q: %s", where, e.Name(), w)
		}
	}
	return list, l.warnings, nil
}

// errNoSkill is the error of a folder that holds no skill.
var errNoSkill = errors.New("no SKILL.md")

func (l *loader) skill(dir fs.DirEntry) (*Skill, []string, error) {
	if !dir.IsDir() {
		return nil, nil, errors.New("it is a link")
	}
	text, _, err := l.read(path.Join(dir.Name(), "SKILL.md"), maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errNoSkill
	}
	if err != nil {
		return nil, nil, fmt.Errorf("SKILL.md: %w", err)
	}
	s, warnings, err := Parse(dir.Name(), text)
	if err != nil {
		return nil, warnings, err
	}
	b := &bundle{loader: l, files: map[string]File{}, warnings: warnings}
	if err := b.add(dir.Name(), "", 0); err != nil {
		return nil, b.warnings, err
	}
	s.Files = b.files
	s, err = s.Seal()
	return s, b.warnings, err
}

// read returns the content of a regular file of at most most bytes.
func (l *loader) read(name string, most int64) (data []byte, exec bool, err error) {
	f, err := l.open(name)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, errors.New("is no regular file")
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("has more than %d bytes", most)
	}
	return data, info.Mode()&0o111 != 0, err
}

// bundle collects the files of a skill.
type bundle struct {
	*loader
	files    map[string]File
	bytes    int
	warnings []string
}

func (b *bundle) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// add reads the files in the folder at, which is below dir. Files that cannot be read are left
// out; a skill that is too large is refused.
func (b *bundle) add(dir, at string, depth int) error {
	entries, err := fs.ReadDir(b.fsys, path.Join(dir, at))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		if strings.HasPrefix(e.Name(), ".") || name == "SKILL.md" {
			continue
		}
		if _, err := cleanPath(name); err != nil {
			b.warn("file %q is left out: %v", name, err)
			continue
		}
		switch {
		case e.IsDir() && depth == maxDepth:
			b.warn("folder %q is left out: more than %d folders deep", name, maxDepth)
		case e.IsDir():
			if err := b.add(dir, name, depth+1); err != nil {
				return err
			}
		case !e.Type().IsRegular():
			b.warn("file %q is left out: it is a link or a device", name)
		case len(b.files) == maxFiles:
			return fmt.Errorf("it has more than %d files", maxFiles)
		default:
			data, exec, err := b.read(path.Join(dir, name), maxFileBytes)
			if err != nil {
				b.warn("file %q is left out: %v", name, err)
				continue
			}
			if b.bytes += len(data); b.bytes > maxSkillBytes {
				return fmt.Errorf("its files have more than %d bytes", maxSkillBytes)
			}
			b.files[name] = File{data, exec}
		}
	}
	return nil
}
