package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/file"
)

// hostile are ids that try to escape from the folder or to reach the file of another id.
var hostile = []string{
	"", ".", "..", "../x", "../../etc/passwd", "/etc/passwd", "a/b", "a//b", `a\b`, `C:\x`, `\\host\share`, "a:b", "a:$DATA",
	"nul\x00byte", "\x00", "line\nbreak", "tab\t", "\x7f", "\u202eright to left", "日本語", "👩‍👩‍👧", "é", "e\u0301",
	"CON", "con", "Con", "nul", "NUL", "aux", "prn", "com1", "COM1", "lpt9", "com10", "con.txt", "dot.", "dots...", "space ", " space", ".hidden", "-rf", "~", "~root",
	"%", "%%", "%41", "A", "a", "AB", "aB", "Ab", "ab", "K", "k", "\u212a", "ſ", "s", "*", "?", `"`, "<>", "|", "$(rm)", "`rm`", "x.log", "x.tmp", "x.json.tmp", ".lock", "index",
	strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("x", 10_000), strings.Repeat("x", 9_999) + "y", strings.Repeat("é", 5_000), strings.Repeat("../", 3_000),
}

var safe = regexp.MustCompile(`^(%|[a-z0-9_%-]{1,128}|[a-z0-9_%-]{1,63}~[0-9a-f]{64})$`)

// decode reverts file.FileName for names that were not cut.
func decode(t testing.TB, name string) string {
	if name == "%" {
		return ""
	}
	var out []byte
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			out = append(out, name[i])
			continue
		}
		n, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, byte(n))
		i += 2
	}
	return string(out)
}

var device = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

func checkName(t testing.TB, id string) string {
	name := file.FileName(id)
	switch {
	case !safe.MatchString(name) || device.MatchString(name):
		t.Errorf("%.60q becomes %q, which is not safe", id, name)
	case !strings.Contains(name, "~") && decode(t, name) != id:
		t.Errorf("%.60q becomes %q, which means %q", id, name, decode(t, name))
	case strings.Contains(name, "~") && len(id) <= 42:
		t.Errorf("%q is cut, to %q", id, name)
	}
	return name
}

func TestFileName_IsSafeAndUnique(t *testing.T) {
	seen := map[string]string{}
	for _, id := range hostile {
		name := checkName(t, id)
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%.60q and %.60q both become %q", id, other, name)
		}
		seen[strings.ToLower(name)] = id
	}
}

func FuzzFileName(f *testing.F) {
	for i, id := range hostile {
		f.Add(id, hostile[(i+1)%len(hostile)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if checkName(t, a) == checkName(t, b) && a != b {
			t.Errorf("%q and %q both become %q", a, b, file.FileName(a))
		}
	})
}

func TestStore_HostileIDsStayInTheFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	dir := filepath.Join(outside, "data")
	s := quick(t, dir, nil)
	threads := hostile[1:] // a thread needs an id
	for i, id := range hostile {
		if id != "" {
			acquire(t, s, id, "run of "+id).commit(done, "text of "+id)
		}
		if err := s.Profile().Set(t.Context(), id, id, json.RawMessage(strconv.Itoa(i))); err != nil {
			t.Fatalf("profile of %.60q: %v", id, err)
		}
	}
	closing(t, s)
	s = quick(t, dir, nil)
	for _, id := range threads {
		equal(t, "texts", []string{"text of " + id}, texts(t, s, id))
		run, err := s.LoadRun(t.Context(), "run of "+id)
		if err != nil || run.ThreadID != id {
			t.Fatalf("run of %.60q: %+v, %v", id, run, err)
		}
	}
	for i, id := range hostile {
		e, err := s.Profile().Get(t.Context(), id, id)
		if err != nil || e == nil || e.Key != id || string(e.Value) != strconv.Itoa(i) {
			t.Fatalf("profile of %.60q: %+v, %v", id, e, err)
		}
	}
	for _, id := range threads {
		if err := s.DeleteThread(t.Context(), id, awaken.DetachChildren); err != nil {
			t.Fatalf("delete %.60q: %v", id, err)
		}
	}
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 1 {
		t.Errorf("beside the folder there is %v, %v", names, err)
	}
	left := slices.DeleteFunc(slices.Collect(keys(tree(t, dir))), func(name string) bool {
		return name == ".lock" || name == "store.json" || name == "index" || strings.HasPrefix(name, "profiles/")
	})
	if len(left) > 0 {
		t.Errorf("after all threads were deleted there is still %q", left)
	}
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestStore_FollowsNoLinkOutOfTheFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := quick(t, dir, nil)
	if err := os.Symlink(victim, journal(dir, "t")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), "t"); err == nil {
		t.Error("a journal outside the folder was opened")
	}
	if err := os.MkdirAll(filepath.Join(dir, "profiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "profiles", "n")); err != nil {
		t.Fatal(err)
	}
	if err := s.Profile().Set(t.Context(), "n", "k", json.RawMessage(`1`)); err == nil {
		t.Error("a profile entry was written outside the folder")
	}
	equal(t, "outside", map[string]string{"victim": "precious"}, tree(t, outside))
	if err := os.Remove(journal(dir, "t")); err != nil {
		t.Fatal(err)
	}
	acquire(t, s, "t", "r").commit(nil, "now it works")
}

func TestStore_RefusesIDsThatJSONCannotRepresent(t *testing.T) {
	t.Parallel()
	s := quick(t, t.TempDir(), nil)
	bad := "\xff"
	_, err := s.Acquire(t.Context(), bad)
	wantInvalid(t, "thread", err)
	o := acquire(t, s, "t", "r")
	wantInvalid(t, "run", o.try(func(c *awaken.Commit) { c.Run.RunID = bad }))
	wantInvalid(t, "item", s.Post(t.Context(), "t", awaken.InboxItem{ID: bad}))
	_, err = s.Fork(t.Context(), "t", 0, bad, nil)
	wantInvalid(t, "fork", err)
	wantInvalid(t, "profile", s.Profile().Set(t.Context(), "n", bad, json.RawMessage(`1`)))
}
