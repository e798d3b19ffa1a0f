package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/testenv"
)

var update = flag.Bool("update", false, "write the tables of settings into the documentation")

// The documentation lists every setting.
func TestDocs_Settings(t *testing.T) {
	used, unused := "| Setting | Default | Environment, flag | Meaning |\n|---|---|---|---|\n", "| Setting | Environment | Because |\n|---|---|---|\n"
	for _, v := range settings.Defaults().Values() {
		if v.Unused != "" {
			unused += fmt.Sprintf("| `%s` | `%s` | %s |\n", v.Name, v.Env, v.Unused)
			continue
		}
		from := "`" + v.Env + "`"
		if v.Flag != "" {
			from += ", `--" + v.Flag + "`"
		}
		def := v.String()
		if def == `""` || def == "[]" || def == "0" {
			def = ""
		} else {
			def = "`" + def + "`"
		}
		used += fmt.Sprintf("| `%s` | %s | %s | %s |\n", v.Name, def, from, v.Doc)
	}
	path := filepath.Join(testenv.ModuleRoot(t), "docs", "operations.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for name, table := range map[string]string{"settings": used, "unused": unused} {
		re := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]*-->\n).*?(<!-- /` + name + ` -->)`)
		want = re.ReplaceAllStringFunc(want, func(old string) string {
			m := re.FindStringSubmatch(old)
			return m[1] + "\n" + table + "\n" + m[2]
		})
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Error("docs/operations.md is out of date: go test ./cmd/awaken -run TestDocs_Settings -update")
	}
	if n := strings.Count(want, "\n| `"); n < len(settings.Defaults().Values()) {
		t.Errorf("docs/operations.md has %d settings", n)
	}
}

// The settings file in the documentation has no mistakes.
func TestDocs_SettingsFile(t *testing.T) {
	m := regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```").FindStringSubmatch(readDocs(t, "operations.md"))
	file := filepath.Join(t.TempDir(), "awaken.yaml")
	if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Load(settings.Sources{File: file}); err != nil {
		t.Error(err)
	}
}

// The settings of the Kubernetes manifest have no mistakes, its probes use existing
// routes, and the grace period is long enough.
func TestDeploy_Kubernetes(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "deploy", "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "  awaken.yaml: |\n")
	config, _, _ := strings.Cut(rest, "---")
	file := filepath.Join(t.TempDir(), "awaken.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	number := func(re string) int {
		m := regexp.MustCompile(re).FindStringSubmatch(string(data))
		if m == nil {
			t.Fatalf("there is no %s", re)
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	if grace, pause := number(`terminationGracePeriodSeconds: (\d+)`), number(`sleep: {seconds: (\d+)}`); grace <= pause+int(s.Limits.ShutdownTime.Seconds()) {
		t.Errorf("the grace period is %d s, the server wants %s after %d s", grace, s.Limits.ShutdownTime, pause)
	}
	h := host(t, func(*settings.Settings) {})
	probes := regexp.MustCompile(`httpGet: {path: (\S+),`).FindAllStringSubmatch(string(data), -1)
	if len(probes) != 3 {
		t.Errorf("there are %d probes, want 3", len(probes))
	}
	for _, p := range probes {
		if status, err := curl(t.Context(), []string{h.url + p[1]}, io.Discard); err != nil || status != 200 {
			t.Errorf("%s: %d, %v", p[1], status, err)
		}
	}
}

// Every metric is documented.
func TestDocs_Metrics(t *testing.T) {
	docs := readDocs(t, "operations.md")
	h := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	h.run("scenario", "scenario:approval")
	h.run("scenario", "scenario:tool")
	h.run("scenario", "scenario:error")
	var out strings.Builder
	if _, err := curl(t.Context(), []string{"-H", "Authorization: Bearer " + h.key, h.url + "/metrics"}, &out); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^# TYPE (awaken_\S+)`).FindAllStringSubmatch(out.String(), -1)
	if len(names) < 15 {
		t.Errorf("there are %d metrics", len(names))
	}
	for _, n := range names {
		if !strings.Contains(docs, "`"+n[1]+"`") {
			t.Errorf("docs/operations.md does not have %s", n[1])
		}
	}
}
