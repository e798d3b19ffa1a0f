package file_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/store/file"
)

func openConfig(t testing.TB, dir string, opts *file.ConfigOptions) *file.Config {
	t.Helper()
	c, err := file.OpenConfigUnsynced(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestConfig(t *testing.T) {
	t.Parallel()
	configtest.Test(t, func(t *testing.T) configtest.Backend {
		dir := filepath.Join(t.TempDir(), "config")
		var mu sync.Mutex
		var ahead time.Duration
		pins := map[int64]bool{}
		opts := &file.ConfigOptions{
			Now: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return time.Now().Add(ahead)
			},
			Pinned: func(context.Context) (out []config.Pin, err error) {
				mu.Lock()
				defer mu.Unlock()
				for n, pinned := range pins {
					if pinned {
						out = append(out, config.Pin{Version: n, AgentID: "a", Runs: 1})
					}
				}
				return out, nil
			},
		}
		c := openConfig(t, dir, opts)
		return configtest.Backend{
			Store: c,
			Advance: func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				ahead += d
			},
			Pin: func(n int64, pinned bool) {
				mu.Lock()
				defer mu.Unlock()
				pins[n] = pinned
			},
			Reopen: func(t *testing.T) config.Store {
				if err := c.Compact(); err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				c = openConfig(t, dir, opts)
				return c
			},
			Crash: func(t *testing.T) config.Store {
				c.Abandon()
				c = openConfig(t, dir, opts)
				return c
			},
		}
	})
}

// configSteps are changes that write one record of the log each.
func configSteps() []func(c *file.Config) error {
	ctx := context.Background()
	record := func(revision int64) *config.Record {
		return &config.Record{Spec: json.RawMessage(`{"name":"日本"}`), Meta: config.Meta{Revision: revision}}
	}
	a := config.Key{Namespace: config.Agents, ID: "a"}
	return []func(c *file.Config) error{
		func(c *file.Config) error {
			return c.Apply(ctx, &config.Change{Records: []config.RecordChange{{Key: a, Record: record(1)}},
				Audit: []*config.AuditEvent{{ID: "e1", Time: time.Unix(1, 0), Resource: "agents/a"}}})
		},
		func(c *file.Config) error {
			return c.Apply(ctx, &config.Change{Publish: &config.Publication{Number: 1, At: 1}, SetHead: &config.Head{Live: 1},
				Secrets: []config.SecretChange{{Ref: "s", Secret: &config.SealedSecret{Data: []byte("x"), Revision: 1}}}})
		},
		func(c *file.Config) error { return c.Tally(ctx, 1, config.Tally{Runs: 1, CostUSD: 0.5}) },
		func(c *file.Config) error {
			return c.Apply(ctx, &config.Change{Records: []config.RecordChange{{Key: a, Record: record(2), Expect: 1}, {Key: config.Key{Namespace: config.Models, ID: "m"}, Record: record(1)}}})
		},
		func(c *file.Config) error {
			return c.Apply(ctx, &config.Change{Records: []config.RecordChange{{Key: a, Expect: 2}}, Secrets: []config.SecretChange{{Ref: "s"}}})
		},
	}
}

// configDump returns the part of a configuration that configSteps change.
func configDump(t testing.TB, c *file.Config) string {
	t.Helper()
	ctx := context.Background()
	var sb strings.Builder
	add := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		sb.Write(append(data, '\n'))
	}
	head, err := c.Head(ctx)
	add(head, err)
	for _, ns := range config.Namespaces {
		records, err := c.Records(ctx, ns, "", 0)
		add(records, err)
	}
	pubs, err := c.Publications(ctx, 0, 0)
	add(pubs, err)
	secrets, err := c.Secrets(ctx)
	add(secrets, err)
	events, err := c.Audit(ctx, config.AuditQuery{})
	add(events, err)
	tallies, err := c.Tallies(ctx, 1)
	add(tallies, err)
	return sb.String()
}

// A process that dies while it writes a record leaves the state before the record, wherever
// the record is torn, and the log continues from there.
func TestConfig_TruncatesATornEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "config.log")
	c := openConfig(t, dir, nil)
	for i, step := range configSteps() {
		before := configDump(t, c)
		old, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if err := step(c); err != nil {
			t.Fatal(err)
		}
		after := configDump(t, c)
		if before == after {
			t.Fatalf("step %d changed nothing", i)
		}
		whole, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, data []byte) {
			t.Helper()
			torn := t.TempDir()
			if err := os.WriteFile(filepath.Join(torn, "config.log"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			c := openConfig(t, torn, nil)
			if got := configDump(t, c); got != before {
				t.Fatalf("step %d, %s: got\n%s\nwant\n%s", i, what, got, before)
			}
			if err := step(c); err != nil { // the log is writable
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			c = openConfig(t, torn, nil)
			if got := configDump(t, c); got != after {
				t.Fatalf("step %d, %s, made again: got\n%s\nwant\n%s", i, what, got, after)
			}
			_ = c.Close()
		}
		for n := len(old); n < len(whole); n += 7 {
			check(fmt.Sprintf("cut at %d of %d", n, len(whole)), whole[:n])
			flipped := slices.Clone(whole)
			flipped[n] ^= 0x10
			check(fmt.Sprintf("a flipped bit at %d of %d", n, len(whole)), flipped)
			zeros := slices.Clone(whole)
			clear(zeros[n:])
			check(fmt.Sprintf("zeros from %d of %d", n, len(whole)), zeros)
		}
	}
}

// configCrashSteps also compact the log.
func configCrashSteps() []func(c *file.Config) error {
	purge := func(c *file.Config) error {
		_, err := c.Purge(context.Background(), time.Hour, 0)
		return err
	}
	event := func(c *file.Config) error {
		return c.Apply(context.Background(), &config.Change{Audit: []*config.AuditEvent{{ID: "e2", Time: time.Unix(2, 0)}}})
	}
	return append(configSteps(), purge, event, purge)
}

// workOnConfig makes all changes and reports each after it returned.
func workOnConfig(dir string) {
	t := processT{background{}}
	if err := failpoint.EnableFromEnv(); err != nil {
		t.Fatal(err)
	}
	c, err := file.OpenConfig(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range configCrashSteps() {
		if err := step(c); err != nil {
			t.Fatal(err)
		}
		fmt.Println(i)
	}
}

// Wherever the process is killed, every change that it reported is stored, and at most the
// one in flight besides.
func TestConfig_Kill(t *testing.T) {
	t.Parallel()
	c := openConfig(t, t.TempDir(), nil)
	after := []string{configDump(t, c)}
	for _, step := range configCrashSteps() {
		if err := step(c); err != nil {
			t.Fatal(err)
		}
		after = append(after, configDump(t, c))
	}
	for point, want := range map[string]int{"file.before_write": 8, "file.after_write": 8, "file.after_sync": 8, "config.before_rename": 2, "config.after_rename": 2} {
		kills := 0
		for hit := 1; ; hit++ {
			dir := t.TempDir()
			out, killed := child(t, "config", dir, fmt.Sprintf("%s:%d", point, hit))
			if !killed {
				break
			}
			kills++
			acked := strings.Count(out, "\n")
			c := openConfig(t, dir, nil)
			if got := configDump(t, c); got != after[acked] && got != after[acked+1] {
				t.Errorf("killed at hit %d of %s, after %d changes: it is\n%s\nwant\n%s", hit, point, acked, got, after[acked])
			}
			if _, err := os.Stat(filepath.Join(dir, "config.log.tmp")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("killed at hit %d of %s: what was left is still there (%v)", hit, point, err)
			}
		}
		if kills != want {
			t.Errorf("%d processes were killed at %s, want %d", kills, point, want)
		}
	}
}

// A damaged record that is not the last one is never skipped and never truncated.
func TestConfig_ReportsDamageInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "config.log")
	c := openConfig(t, dir, nil)
	for _, step := range configSteps() {
		if err := step(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := file.Spans(log)
	if err != nil || len(spans) != len(configSteps()) {
		t.Fatalf("%d records, %v", len(spans), err)
	}
	for _, at := range spans[:len(spans)-1] {
		for i := at.Off; i < at.Off+at.Len; i += 5 {
			damaged := slices.Clone(whole)
			damaged[i] ^= 1 << (i % 8)
			if err := os.WriteFile(log, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			var de *file.DamagedError
			if _, err := file.OpenConfigUnsynced(dir, nil); !errors.As(err, &de) || de.File != "config.log" || de.Offset != at.Off {
				t.Fatalf("byte %d: error is %v, want one that names config.log and byte %d", i, err, at.Off)
			}
		}
	}
}

// Overwritten records do not make the log grow without bound.
func TestConfig_CompactsItsLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := openConfig(t, dir, nil)
	spec := json.RawMessage(`"` + strings.Repeat("x", 100<<10) + `"`)
	for i := range int64(100) {
		if err := c.Apply(t.Context(), &config.Change{Records: []config.RecordChange{{Key: config.Key{Namespace: config.Agents, ID: "a"}, Expect: i,
			Record: &config.Record{Spec: spec, Meta: config.Meta{Revision: i + 1}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	want := configDump(t, c)
	if n := size(t, filepath.Join(dir, "config.log")); n > 1500<<10 {
		t.Errorf("the log has %d bytes, want at most a little more than 1 MB", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := configDump(t, openConfig(t, dir, nil)); got != want {
		t.Error("it is another after it was opened again")
	}
}

// Purge removes data from the disk.
func TestConfig_PurgeRemovesFromTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := openConfig(t, dir, nil)
	if err := c.Apply(t.Context(), &config.Change{Audit: []*config.AuditEvent{{ID: "e", Time: time.Unix(1, 0), Actor: "alice"}}}); err != nil {
		t.Fatal(err)
	}
	if p, err := c.Purge(t.Context(), time.Hour, 0); err != nil || p.Events != 1 {
		t.Fatalf("purged %+v, %v", p, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "config.log")); err != nil || strings.Contains(string(data), "alice") {
		t.Errorf("the log is %q, %v", data, err)
	}
}

// Without Pinned, Purge removes no publication.
func TestConfig_PurgeKeepsPublicationsIfItDoesNotKnowTheRuns(t *testing.T) {
	t.Parallel()
	c := openConfig(t, t.TempDir(), nil)
	if err := c.Apply(t.Context(), &config.Change{Publish: &config.Publication{Number: 1}}); err != nil {
		t.Fatal(err)
	}
	if p, err := c.Purge(t.Context(), 0, time.Hour); err != nil || p != (config.Purged{}) {
		t.Errorf("purged %+v, %v", p, err)
	}
}

func TestConfig_RefusesASecondProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := openConfig(t, dir, nil)
	if _, err := file.OpenConfig(dir, nil); !errors.Is(err, file.ErrLocked) {
		t.Errorf("error is %v, want ErrLocked", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Head(t.Context()); !errors.Is(err, file.ErrClosed) {
		t.Errorf("error is %v, want ErrClosed", err)
	}
	again, err := file.OpenConfig(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A change that the disk refuses is not applied, and nothing is written after a failed
// sync.
func TestConfig_StopsWhenADiskFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fail := false
	c, err := file.OpenConfigSyncing(dir, nil, func(*os.File) error {
		if fail {
			return errors.New("disk on fire")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	steps := configSteps()
	if err := steps[0](c); err != nil {
		t.Fatal(err)
	}
	want := configDump(t, c)
	fail = true
	if err := steps[1](c); err == nil {
		t.Error("a change that was not synced was made")
	}
	fail = false
	if err := steps[1](c); err == nil || !strings.Contains(err.Error(), "until it is reopened") {
		t.Errorf("after a failed sync: %v", err)
	}
	if got := configDump(t, c); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzOpenConfig opens a folder with arbitrary bytes as the log. OpenConfig may refuse it;
// otherwise the configuration works, and is the same after it is reopened.
func FuzzOpenConfig(f *testing.F) {
	dir := f.TempDir()
	c := openConfig(f, dir, nil)
	for _, step := range configSteps() {
		if err := step(c); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "config.log"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)-3])
		f.Add(append(slices.Clone(data), data...))
		f.Add(append(slices.Clone(data), "awj1garbage and more of it"...))
	}
	for _, payload := range []string{`{}`, `null`, `{"records":[null]}`, `{"publications":[{"number":2},{"number":1}]}`, `{"events":[{"id":"x"},{"id":"x"}]}`,
		`{"gone":{"publications":[1,1],"documents":["x"],"events":["x"],"records":[{"namespace":"agents","id":"a"}]}}`, `{"head":{"live":-1}}`} {
		f.Add(file.Sealed([]byte(payload)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.log"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := file.OpenConfigUnsynced(dir, nil)
		if err != nil {
			return
		}
		if err := c.Apply(t.Context(), &config.Change{Records: []config.RecordChange{{Key: config.Key{Namespace: config.Agents, ID: "fuzz"}, Expect: -1,
			Record: &config.Record{Spec: json.RawMessage(`{}`), Meta: config.Meta{Revision: 1}}}}}); err != nil {
			t.Fatal(err)
		}
		want := configDump(t, c)
		if err := c.Compact(); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if got := configDump(t, openConfig(t, dir, nil)); got != want {
			t.Errorf("opened again it is\n%s\nwas\n%s", got, want)
		}
	})
}
