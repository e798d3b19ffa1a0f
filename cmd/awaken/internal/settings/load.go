package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/cmd/awaken/internal/specfile"
	"github.com/awaken-go/awaken/internal/strict"
)

// DefaultFile is the settings file that is read, if it exists, when no other is named.
const DefaultFile = "awaken.yaml"

// Sources are the sources of settings.
type Sources struct {
	File  string            // "" means $AWAKEN_CONFIG, or DefaultFile if it exists
	Env   []string          // as os.Environ returns it
	Flags map[string]string // the flags that were given, by name
	// Folder has DefaultFile and, unless a source says otherwise, the store. "" is the working
	// directory, with the store in .awaken.
	Folder string
}

// Load reads all settings. It reports all mistakes at once, each with its source, and returns
// the settings even then.
func Load(src Sources) (*Settings, error) {
	s := Defaults()
	env := map[string]string{}
	for _, kv := range src.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && v != "" {
			env[k] = v
		}
	}
	if src.Folder != "" {
		s.StorageDir = src.Folder
	}
	errs := s.readFile(cmp.Or(src.File, env["AWAKEN_CONFIG"]), src.Folder)
	for _, v := range s.values {
		if text, ok := env[v.Env]; ok {
			errs = append(errs, v.from(v.Env, text))
		}
		if text, ok := src.Flags[v.Flag]; ok && v.Flag != "" {
			errs = append(errs, v.from("--"+v.Flag, text))
		}
	}
	if m := s.Mailbox; m.Renew >= m.Lease {
		errs = append(errs, fmt.Errorf("mailbox.lease_renewal_interval is %s, want less than mailbox.lease_ms, which is %s", m.Renew, m.Lease))
	}
	return s, errors.Join(errs...)
}

// from sets v to the value of a variable or a flag.
func (v *Value) from(source, text string) error {
	if err := v.set(text); err != nil {
		return mistake(source, v, text, err)
	}
	v.Source = source
	return nil
}

// mistake reports an invalid value. It does not show secrets.
func mistake(name string, v *Value, text string, want error) error {
	text = quoted(text)
	if v.Secret() {
		text = "***"
	}
	return fmt.Errorf("%s is %s, %w", name, text, want)
}

// readFile reads the settings file, or DefaultFile in a folder if none is named.
func (s *Settings) readFile(name, folder string) (errs []error) {
	optional := name == ""
	name = cmp.Or(name, filepath.Join(folder, DefaultFile))
	data, err := os.ReadFile(name)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []error{err}
	}
	fields, err := specfile.Fields(name, data)
	if err != nil {
		return []error{err}
	}
	for _, f := range fields {
		v := s.find(f.Path)
		if v == nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s is not a setting; did you mean %s?", name, f.Line, f.Path, s.nearest(f.Path)))
			continue
		}
		if err := v.setJSON(f.Value); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, f.Line, mistake(v.Name, v, strings.Trim(string(f.Value), `"`), err)))
			continue
		}
		v.Source = fmt.Sprintf("%s:%d", name, f.Line)
	}
	return errs
}

func (s *Settings) find(name string) *Value {
	if i := slices.IndexFunc(s.values, func(v *Value) bool { return v.Name == name }); i >= 0 {
		return s.values[i]
	}
	return nil
}

// nearest returns the setting whose name is most similar to name.
func (s *Settings) nearest(name string) string {
	distance := func(v *Value) int {
		d := strict.Distance(name, v.Name)
		if lastName(v.Name) == lastName(name) {
			d = min(d, 2) // right name, wrong section
		}
		return d
	}
	return slices.MinFunc(s.values, func(a, b *Value) int { return cmp.Compare(distance(a), distance(b)) }).Name
}

func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// Strangers returns a message for each environment variable that looks like a misspelled
// setting.
func (s *Settings) Strangers(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "AWAKEN_") || name == "AWAKEN_CONFIG" || strings.HasPrefix(name, "AWAKEN_TEST_") {
			continue
		}
		best, least := "", 4 // more distant names belong to other programs
		for _, v := range s.values {
			if d := strict.Distance(name, v.Env); d < least {
				best, least = v.Env, d
			}
		}
		if least > 0 && best != "" {
			out = append(out, fmt.Sprintf("%s is not a setting; did you mean %s?", name, best))
		}
	}
	return out
}
