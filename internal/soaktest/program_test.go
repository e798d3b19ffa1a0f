//go:build linux

package soaktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/internal/testenv"
)

// built is the program, built once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "awaken")
	out, err := exec.Command("go", "build", "-o", path, "github.com/awaken-go/awaken/cmd/awaken").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, err
})

// program is a running server.
type program struct {
	tb       testing.TB
	cmd      *exec.Cmd
	out      lines
	url, key string
	debug    string // URL
	where    string // file or URL of its database
	began    time.Time
}

// lines is what a program has written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buf.Len() > 1<<20 {
		return len(p), nil // enough to explain a failure
	}
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

var (
	listening = regexp.MustCompile(`Awaken listens on (http://\S+)`)
	adminKey  = regexp.MustCompile(`Admin key, shown only now: (\S+)`)
)

// start starts the program on a fresh store, with the demo's agents and a provider.
func start(tb testing.TB, store, provider string) *program {
	tb.Helper()
	path, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	p := &program{tb: tb, where: filepath.Join(dir, "awaken.db"), debug: freeAddress(tb), began: time.Now()}
	args := []string{"serve", "--address", "127.0.0.1:0", "--debug-address", p.debug, "--seed", "demo", "--storage-dir", dir, "--log-level", "warn"}
	if store == "postgres" {
		p.where = postgresServer.Database()
		args = append(args, "--database", p.where)
	}
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.out
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "AWAKEN_") && !strings.HasPrefix(kv, "AGENT_") && !strings.HasPrefix(kv, "OPENAI_") {
			p.cmd.Env = append(p.cmd.Env, kv)
		}
	}
	p.cmd.Env = append(p.cmd.Env, "OPENAI_BASE_URL="+provider, "OPENAI_API_KEY=soak", "AGENT_MODEL=soak")
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("the program ended with %v:\n%s", err, p.out.String())
			}
		case <-time.After(time.Minute):
			_ = p.cmd.Process.Kill()
			tb.Errorf("the program does not stop:\n%s", p.out.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if out := p.out.String(); strings.Contains(out, "Ctrl-C stops") {
			p.url, p.key = listening.FindStringSubmatch(out)[1], adminKey.FindStringSubmatch(out)[1]
			if _, err := p.profile(tb.Context(), "cmdline"); err == nil { // it listens on its debug address after it has said so
				return p
			}
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the program does not start:\n%s", p.out.String())
		}
	}
}

// freeAddress returns an address that was free a moment ago.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
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
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return s, err
	}
	s.rss = number(string(status), `VmRSS:\s+(\d+)`) / 1024
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
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+p.debug+"/debug/pprof/"+name, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+p.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("profile %s: %s %s", name, resp.Status, data)
	}
	return string(data), err
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
	if !strings.HasPrefix(p.where, "postgres:") {
		for path, to := range map[string]*float64{p.where: &database, p.where + "-wal": &wal} {
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
	c, err := pgx.Connect(ctx, p.where)
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
