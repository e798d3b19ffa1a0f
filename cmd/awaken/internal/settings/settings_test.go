package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTable_NamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Defaults().Values() {
		for _, name := range []string{v.Name, v.Env, "--" + v.Flag} {
			if name != "--" && seen[name] {
				t.Errorf("%s is defined twice", name)
			}
			seen[name] = true
		}
		if v.String() == "" || v.to == nil {
			t.Errorf("%s has no value", v.Name)
		}
		if u := v.unit(); u != 0 && strings.HasSuffix(v.String(), "s") {
			t.Errorf("%s is %s", v.Name, v)
		}
	}
}

// Printed values can be set again, in the environment and in a file.
func TestValues_RoundTrip(t *testing.T) {
	var env []string
	var file strings.Builder
	for _, v := range Defaults().Values() {
		text := v.String()
		if text == `""` || text == "0" && v.check != nil {
			continue
		}
		env = append(env, v.Env+"="+strings.Trim(text, "[]"))
		file.WriteString(strings.ReplaceAll(v.Name, ".", ": {") + ": " + text + strings.Repeat("}", strings.Count(v.Name, ".")) + "\n")
	}
	s, err := Load(Sources{Env: env, File: write(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, s)
	for line := range strings.Lines(file.String()) {
		if s, err = Load(Sources{File: write(t, line)}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		same(t, s)
	}
}

func same(t *testing.T, s *Settings) {
	t.Helper()
	for i, v := range Defaults().Values() {
		if got := s.values[i].String(); got != v.String() {
			t.Errorf("%s is %s, want %s", v.Name, got, v)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "awaken.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad_LaterSourcesOverride(t *testing.T) {
	file := write(t, "server: {address: 127.0.0.1:1}\nlog: {level: warn}\nmailbox: {lease_ms: 20000}\n")
	s, err := Load(Sources{File: file, Env: []string{"AWAKEN_HTTP_ADDR=127.0.0.1:2", "AWAKEN_LOG_LEVEL=error", "AWAKEN_LOG_FORMAT="}, Flags: map[string]string{"address": "127.0.0.1:3"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Server.Address != "127.0.0.1:3" || s.Log.Level != "error" || s.Mailbox.Lease != 20*time.Second || s.Log.Format != "text" {
		t.Errorf("%+v", s)
	}
	for name, want := range map[string]string{"server.address": "--address", "log.level": "AWAKEN_LOG_LEVEL", "mailbox.lease_ms": file + ":3", "log.format": "default"} {
		if got := s.find(name).Source; got != want {
			t.Errorf("%s is from %s, want %s", name, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	s := Defaults()
	for name, want := range map[string]string{"server.adress": "server.address", "sever.address": "server.address", "address": "server.address",
		"mailbox.lease": "mailbox.lease_ms", "server.bearer_token": "admin.bearer_token", "storagedir": "storage_dir"} {
		if got := s.nearest(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// No file makes Load panic, and every error has a message.
func FuzzLoad(f *testing.F) {
	f.Add("server: {address: 127.0.0.1:3000}")
	f.Add("mailbox:\n  lease_ms: -1\n  gc_ttl: 9999999999h\n")
	f.Add("limits: {key_rate: .inf, body_bytes: 1e400}")
	f.Add("admin: {cors_allowed_origins: [1, {a: b}], bearer_token: [x]}")
	f.Add("a: &a [*a]")
	f.Add("server: null")
	path := filepath.Join(f.TempDir(), "fuzz.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(Sources{File: path})
		if s == nil {
			t.Fatal("no settings")
		}
		if err != nil && err.Error() == "" {
			t.Error("an error without a message")
		}
		for _, v := range s.Values() {
			_ = v.String()
		}
	})
}
