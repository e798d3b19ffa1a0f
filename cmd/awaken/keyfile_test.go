package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// Authors of documents must not be able to read files of the machine through a key file.
func TestProvider_KeyFilesMustBeInTheKeyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("sk-x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, file, want string
	}{
		{"", "/etc/passwd", "providers.key_dir"},
		{dir, "/etc/passwd", "want a file in"},
		{dir, "../../etc/passwd", "want a file in"},
		{dir, "key", ""},
		{dir, filepath.Join(dir, "key"), ""},
	} {
		name, err := json.Marshal(c.file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = outbound{guarded: true, keyDir: c.dir}.openProvider(&awaken.ProviderSpec{ID: "p", Adapter: "anthropic", AdapterOptions: map[string]json.RawMessage{"key_file": name}}, "")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("key_file %s in %q: %v, want %q", c.file, c.dir, err, c.want)
		}
	}
}

func TestProvider_UsesNoEnvironmentKeyIfNotAllowed(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-env")
	for options, want := range map[string]string{`{}`: "", `{"allow_env_credentials":true}`: "", `{"allow_env_credentials":false}`: "allow_env_credentials is false"} {
		p := &awaken.ProviderSpec{ID: "p", Adapter: "anthropic"}
		if err := json.Unmarshal([]byte(options), &p.AdapterOptions); err != nil {
			t.Fatal(err)
		}
		_, err := outbound{guarded: true}.openProvider(p, "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}

// Authors of documents must not be able to send the operator's keys to a server of theirs.
func TestProvider_EnvironmentKeysAreSentOnlyToTheProvidersOwnHost(t *testing.T) {
	for name, value := range map[string]string{"ANTHROPIC_API_KEY": "sk-env", "OPENAI_API_KEY": "sk-env", "GEMINI_API_KEY": "sk-env", "OPENAI_BASE_URL": ""} {
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		adapter, url string
		out          outbound
		ok           bool
	}{
		{"anthropic", "", outbound{guarded: true}, true},
		{"anthropic", "https://api.anthropic.com", outbound{guarded: true}, true},
		{"anthropic", "https://collect.example", outbound{guarded: true}, false},
		{"anthropic", "https://api.anthropic.com.collect.example", outbound{guarded: true}, false},
		{"anthropic", "https://proxy.example/v1", outbound{guarded: true, envHosts: []string{"proxy.example"}}, true},
		{"anthropic", "https://collect.example", outbound{}, true}, // the command line is the operator's
		{"openai", "https://eu.api.openai.com/v1", outbound{guarded: true}, true},
		{"openai", "https://collect.example/v1", outbound{guarded: true}, false},
		{"gemini", "https://generativelanguage.googleapis.com", outbound{guarded: true}, true},
		{"gemini", "https://collect.example", outbound{guarded: true}, false},
		{"vertex", "https://collect.example", outbound{guarded: true}, false},
	} {
		_, err := c.out.openProvider(&awaken.ProviderSpec{ID: "p", Adapter: c.adapter, BaseURL: c.url}, "")
		if (err == nil) != c.ok {
			t.Errorf("%s at %q: error is %v, allowed should be %v", c.adapter, c.url, err, c.ok)
		}
		if _, err := c.out.openProvider(&awaken.ProviderSpec{ID: "p", Adapter: c.adapter, BaseURL: c.url, APIKey: awaken.NewSecret("own")}, ""); err != nil && c.adapter != "vertex" {
			t.Errorf("%s at %q with a key of its own: %v", c.adapter, c.url, err)
		}
	}
}
