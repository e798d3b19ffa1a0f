//go:build linux

package soaktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

// program is a running server.
type program struct {
	*rigtest.Program
	store rigtest.Store
	debug *rigtest.Client // of its profiles
	began time.Time
}

// start starts the program on a fresh store, with the demo's agents and a provider.
func start(tb testing.TB, kind, provider string) *program {
	tb.Helper()
	debug := rigtest.FreeAddress(tb)
	p := &program{store: rigtest.NewStore(tb, kind, postgresServer), began: time.Now()}
	flags := append([]string{"--debug-address", debug, "--seed", "demo", "--log-level", "warn"}, p.store.Flags()...)
	p.Program = rigtest.Serve(tb, []string{"OPENAI_BASE_URL=" + provider, "OPENAI_API_KEY=soak", "AGENT_MODEL=soak"}, flags...)
	p.Key, p.Retry, p.HTTP = p.AdminKey, rigtest.Busy, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	tb.Cleanup(p.HTTP.CloseIdleConnections)
	// It listens on its debug address after it has said so.
	p.debug = &rigtest.Client{URLs: []string{"http://" + debug}, Key: p.AdminKey, Retry: rigtest.Away}
	return p
}

// sample is what the program takes at a moment.
type sample struct {
	at               time.Duration // since its start
	rss, heap        float64       // MB; heap is what a collection leaves
	goroutines, open int
	database, wal    float64       // MB
	cpu              time.Duration // so far
}

// sample takes a sample. It makes the program collect its garbage.
func (p *program) sample(ctx context.Context) (s sample, err error) {
	s.at = time.Since(p.began)
	s.rss = p.Memory()
	proc := fmt.Sprintf("/proc/%d/", p.PID())
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return s, err
	}
	if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 12 {
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		s.cpu = time.Duration(user+system) * (time.Second / 100) // the kernel's ticks
	}
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		return s, err
	}
	s.open = len(files)
	goroutines, err := p.profile(ctx, "goroutine?debug=1")
	if err != nil {
		return s, err
	}
	heap, err := p.profile(ctx, "heap?debug=1&gc=1")
	if err != nil {
		return s, err
	}
	s.goroutines, s.heap = int(number(goroutines, `total (\d+)`)), number(heap, `# HeapAlloc = (\d+)`)/(1<<20)
	s.database, s.wal, err = p.size(ctx)
	return s, err
}

func (p *program) profile(ctx context.Context, name string) (string, error) {
	a, err := p.debug.Send(ctx, "GET", "/debug/pprof/"+name, "")
	if err != nil {
		return "", err
	}
	return a.Text, a.Want(http.StatusOK)
}

// save writes a profile to a file, if the test keeps its artifacts (-artifacts).
func (p *program) save(t *testing.T, name string) {
	t.Helper()
	data, err := p.profile(t.Context(), name)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.ArtifactDir(), name+".pprof"), []byte(data), 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// number returns the number that the first group of a pattern matches, or 0.
func number(text, pattern string) float64 {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n
}

// size returns the sizes of the database and of its write-ahead log in MB.
func (p *program) size(ctx context.Context) (database, wal float64, err error) {
	if p.store.Kind == rigtest.SQLite {
		for path, to := range map[string]*float64{p.store.Where: &database, p.store.Where + "-wal": &wal} {
			st, err := os.Stat(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return 0, 0, err
			}
			if err == nil {
				*to = float64(st.Size()) / (1 << 20)
			}
		}
		return database, wal, nil
	}
	c, err := pgx.Connect(ctx, p.store.Where)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	err = c.QueryRow(ctx, `SELECT pg_database_size(current_database()) / 1048576.0, (SELECT coalesce(sum(size), 0) FROM pg_ls_waldir()) / 1048576.0`).Scan(&database, &wal)
	return database, wal, err
}

var postgresServer *testenv.Postgres

// A real server syncs and cleans up.
func TestMain(m *testing.M) {
	os.Exit(testenv.WithPostgres(m, &postgresServer, "fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on", "max_wal_size=128MB"))
}
