package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// inMemoryMain is awaken serve with a store in memory.
func inMemoryMain() {
	s, err := settings.Load(settings.Sources{Env: os.Environ()})
	if err == nil {
		db, system := memory.NewDB(), memory.NewProfile()
		b := &backend{queue: db, keys: system, config: db.Config(), profile: func(string) profile.Store { return memory.NewProfile() }, place: placeless, name: "memory"}
		sig := listen()
		sig.during(context.Background(), func(ctx context.Context) {
			err = serveFrom(ctx, b, newConsole(os.Stdin, os.Stdout, os.Stderr), s, newCode(s))
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// attacker is a process that attacks a server, with half a core.
type attacker struct {
	addr        string
	runs, reads string // its keys
	http        *http.Client
	begin       time.Time     // of the attack
	used        time.Duration // CPU time before it
}

// ahead returns by how much the process has used more than half of the time since it began.
func (a *attacker) ahead() time.Duration {
	used, err := testenv.CPU(os.Getpid())
	if err != nil {
		return 0
	}
	return 2*(used-a.used) - time.Since(a.begin)
}

// pace waits until the process has used no more than half of the time since it began.
func (a *attacker) pace() {
	for d := a.ahead(); d > 0; d = a.ahead() {
		time.Sleep(max(d, 10*time.Millisecond))
	}
}

// many repeats work for ever, in more and more goroutines: until the process uses half a core, or there are most.
func (a *attacker) many(most int, work func()) {
	n := 0
	more := func(k int) {
		for ; k > 0 && n < most; k-- {
			n++
			go func() {
				for {
					a.pace()
					work()
				}
			}()
		}
	}
	more(32)
	go func() {
		for n < most {
			time.Sleep(100 * time.Millisecond)
			if a.ahead() < 0 {
				more(n / 4)
			}
		}
	}()
}

// post sends bodies, on up to most connections.
func (a *attacker) post(most int, path string, body func() string) {
	a.many(most, func() {
		req, _ := http.NewRequest("POST", "http://"+a.addr+path, strings.NewReader(body()))
		req.Header.Set("Authorization", "Bearer "+a.runs)
		req.Header.Set("Content-Type", "application/json")
		if resp, err := a.http.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

// raw sends the beginning of a request on each of up to most connections, and then a few bytes now and
// then. It never reads. Connections that the server closes are replaced.
func (a *attacker) raw(most int, begin, more string, every time.Duration) {
	a.many(most, func() {
		conn, err := net.Dial("tcp", a.addr)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			return
		}
		defer conn.Close()
		_, err = io.WriteString(conn, begin)
		for err == nil {
			time.Sleep(every)
			_, err = io.WriteString(conn, more)
		}
	})
}

// watch opens n streams, or as many as the server permits, and keeps them.
func (a *attacker) watch(n int, thread string) {
	begin := "GET /v1/threads/" + thread + "/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + a.reads + "\r\n\r\n"
	for range n {
		a.pace()
		conn, err := net.Dial("tcp", a.addr)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, begin)
		resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		if err != nil || resp.StatusCode != 200 {
			conn.Close()
			return
		}
		go func() { // the connection stays open
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}()
	}
}

// begun returns the beginning of a request whose body has length bytes.
func (a *attacker) begun(path string, length int, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, a.runs, length, body)
}

func hostileRun(more, text string) string {
	return `{"agent_id":"default","stream":false,` + more + `"messages":[{"role":"user","content":"` + text + `"}]}`
}

func withTools(tools, text string) string { return hostileRun(`"frontend_tools":`+tools+`,`, text) }

// listOf returns a list of n items, which may contain their number as %d.
func listOf(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.Replace(item, "%d", strconv.Itoa(i), 1)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// tower returns a schema that references itself ten times on each of fifteen levels.
func tower() string {
	var sb strings.Builder
	sb.WriteString(`{"type":"object","allOf":[{"$ref":"#/$defs/l0"}],"$defs":{`)
	for i := range 15 {
		fmt.Fprintf(&sb, `"l%d":{"allOf":%s},`, i, listOf(10, fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)))
	}
	return sb.String() + `"l15":{"type":"object"}}}`
}

// attacks are what a hostile tenant does, by name. Each returns when it has begun; begin starts the clock.
var attacks = map[string]func(a *attacker, begin func()){
	"schemas": func(a *attacker, begin func()) {
		tools := func(n int, parameters string) string {
			return withTools(listOf(n, `{"id":"t%d","name":"t","description":"d","parameters":`+parameters+`}`), "RUN_TOOL t0 {}")
		}
		wide := `{"type":"object","allOf":` + listOf(3900, `{"minProperties":%d}`) + `}`
		pattern := func(p string) string {
			return `{"type":"object","properties":{"a":{"type":"string","pattern":"` + p + `"}}}`
		}
		bodies := []string{
			tools(20, tower()), tools(1, wide), tools(250, pattern("(a{1,1000}){1,1000}")), tools(250, pattern(strings.Repeat("(a|b)?", 100))),
			tools(1, pattern(strings.Repeat("(a|b)?", 1000))), tools(250, `{"type":"object"}`), hostileRun(`"output_schema":`+wide+`,`, "hello"),
		}
		begin()
		a.post(2000, "/v1/runs", func() string { return bodies[rand.N(len(bodies))] })
	},
	"slow bodies": func(a *attacker, begin func()) {
		long, short := a.begun("/v1/runs", 10<<20, `{"agent_id":"`+strings.Repeat("x", 100_000)), a.begun("/v1/runs", 10<<20, `{"agent_id":"`)
		begin()
		a.raw(3000, long, "x", 100*time.Millisecond)
		a.raw(3000, short, strings.Repeat("x", 2000), time.Second)
	},
	"hoards": func(a *attacker, begin func()) {
		tools := withTools(listOf(100_000, `{"id":"t%d","name":"t","parameters":{}}`), "hello")
		half := a.begun("/v1/runs", 19<<20, `{"agent_id":"`+strings.Repeat("x", 10<<20))
		title := `{"title":"` + strings.Repeat("x", 4000) + `"}`
		n, _ := strconv.Atoi(os.Getenv("STREAMS"))
		begin()
		a.watch(n, os.Getenv("THREAD"))
		begin()
		a.post(4, "/v1/threads", func() string { return title })
		a.raw(50, "GET /v1/threads/summaries?limit=200 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+a.reads+"\r\n\r\n", "", time.Second)
		a.raw(50, half, "", time.Second)
		a.post(4, "/v1/runs", func() string { return tools })
	},
	"labels": func(a *attacker, begin func()) {
		begin()
		a.post(1000, "/v1/runs", func() string {
			word := fmt.Sprintf("word%d", rand.Uint64())
			return hostileRun(`"overrides":{"upstream_model":"`+word+`"},"frontend_tools":[{"id":"`+word+`","name":"`+word+`","description":"d","parameters":{"type":"object"}}],`, "RUN_TOOL "+word+" {}")
		})
	},
}

// attackMain is the process of an attacker. It prints "ready" once it has begun, and ends with its
// standard input.
func attackMain() {
	a := &attacker{addr: os.Getenv("ADDR"), runs: os.Getenv("RUNS"), reads: os.Getenv("READS"), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10_000}}}
	attacks[os.Getenv("ATTACK")](a, func() {
		a.used, _ = testenv.CPU(os.Getpid())
		a.begin = time.Now()
	})
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// memoryOf returns a field of the memory of a process, in bytes: VmRSS, or VmHWM for the most it was.
func memoryOf(pid int, field string) (n int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, rest, ok := bytes.Cut(data, []byte(field+":")); ok {
		_, err = fmt.Sscan(string(rest), &n)
	}
	return n << 10, err
}

// besieged is a server process with two tenants.
type besieged struct {
	t          *testing.T
	cmd        *exec.Cmd
	ended      chan struct{}
	url, admin string
	runs       map[string]string // keys by tenant
	reads      map[string]string
}

// besiege starts a server on its default settings, with a store: sqlite, memory, or the URL of a PostgreSQL
// database.
func besiege(t *testing.T, store string) *besieged {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &besieged{t: t, ended: make(chan struct{}), admin: "admin-key-of-the-siege-7f3c", runs: map[string]string{}, reads: map[string]string{}}
	name, env := "awaken", append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "AWAKEN_") || strings.HasPrefix(kv, "AGENT_") || strings.HasPrefix(kv, "OPENAI_") || strings.HasPrefix(kv, "GOMEMLIMIT=")
	}), "AWAKEN_HTTP_ADDR=127.0.0.1:0", "AWAKEN_ADMIN_API_BEARER_TOKEN="+b.admin)
	switch store {
	case "sqlite":
		env = append(env, "AWAKEN_STORAGE_DIR="+t.TempDir())
	case "memory":
		name = "awaken-in-memory"
	default:
		env = append(env, "AWAKEN_DATABASE_URL="+store)
	}
	if at := os.Getenv("AWAKEN_DEBUG_ADDRESS"); at != "" { // for profiles of the attack
		env = append(env, "AWAKEN_DEBUG_ADDRESS="+at)
	}
	out, log := &watched{text: "Ctrl-C stops", seen: make(chan struct{})}, &watched{text: "\x00", seen: make(chan struct{})}
	b.cmd = &exec.Cmd{Path: exe, Args: []string{name, "serve"}, Env: env, Dir: t.TempDir(), Stdout: out, Stderr: log}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = b.cmd.Wait()
		close(b.ended)
	}()
	t.Cleanup(func() {
		_ = b.cmd.Process.Kill()
		<-b.ended
		if t.Failed() {
			text := log.String()
			t.Logf("the server logged %d bytes that end with %s", len(text), text[max(0, len(text)-500):])
		}
	})
	select {
	case <-out.seen:
	case <-b.ended:
		t.Fatalf("the server ended: %s", log)
	case <-time.After(2 * time.Minute):
		t.Fatalf("the server does not start: %s", log)
	}
	b.url = listening.FindStringSubmatch(out.String())[1]
	for _, tenant := range []string{"attacker", "victim"} {
		for kind, keys := range map[string]map[string]string{"run": b.runs, "read": b.reads} {
			var made struct{ Secret string }
			if status, text := b.ask(b.admin, "POST", "/v1/keys", fmt.Sprintf(`{"kind":%q,"tenant":%q}`, kind, tenant)); status != 201 || json.Unmarshal([]byte(text), &made) != nil {
				t.Fatalf("a key: %d %s", status, text)
			}
			keys[tenant] = made.Secret
		}
	}
	return b
}

// ask sends a request with a key, and returns the status and the body.
func (b *besieged) ask(key, method, path, body string) (int, string) {
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// run runs the agent for a tenant, and returns how long that took.
func (b *besieged) run(tenant, thread string) time.Duration {
	from := time.Now()
	if status, text := b.ask(b.runs[tenant], "POST", "/v1/runs", hostileRun(`"thread_id":"`+thread+`",`, "hello")); status != 200 {
		b.t.Errorf("a run of tenant %s: %d %s", tenant, status, text)
	}
	return time.Since(from)
}

// memory returns a field of the memory of the server.
func (b *besieged) memory(field string) int64 {
	b.t.Helper()
	n, err := memoryOf(b.cmd.Process.Pid, field)
	if err != nil {
		b.t.Skip("there is no /proc: ", err)
	}
	return n
}

// attacked starts an attacker, and returns a function that tells the CPU time it has used.
func (b *besieged) attacked(attack, thread string, streams int) (used func() time.Duration) {
	b.t.Helper()
	bad := &exec.Cmd{Path: b.cmd.Path, Args: []string{"attacker"}, Stderr: os.Stderr, Env: append(os.Environ(), "ADDR="+strings.TrimPrefix(b.url, "http://"),
		"RUNS="+b.runs["attacker"], "READS="+b.reads["attacker"], "ATTACK="+attack, "THREAD="+thread, fmt.Sprint("STREAMS=", streams))}
	in, err := bad.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := bad.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := bad.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		in.Close()
		_ = bad.Wait()
	})
	if s, err := bufio.NewReader(out).ReadString('\n'); s != "ready\n" {
		b.t.Fatalf("the attacker says %q, %v", s, err)
	}
	return func() time.Duration {
		used, _ := testenv.CPU(bad.Process.Pid)
		return used
	}
}

// TestBudget_AHostileTenantHarmsNoOther: while a tenant does what it can with half a core, a server on
// its default settings stays small, serves other tenants soon, and stops in time. The short form
// allows for other work beside it; the long one wants a machine to itself.
func TestBudget_AHostileTenantHarmsNoOther(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector takes the memory and the time that this test bounds; the budgets are tested without it")
	}
	bounds := siegeBounds{span: 2 * time.Second, streams: 500, memory: 512 << 20, wait: 5 * time.Second, stop: 35 * time.Second}
	stores := []string{"sqlite"}
	var pg *testenv.Postgres
	if testenv.Long() {
		bounds.span, bounds.streams, bounds.wait = 30*time.Second, 100_000, time.Second // as many streams as there are
		stores = []string{"sqlite", "postgres", "memory"}
		var err error
		if pg, err = testenv.StartPostgres(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pg.Stop() })
	}
	for _, store := range stores {
		for _, attack := range slices.Sorted(maps.Keys(attacks)) {
			t.Run(store+"/"+strings.ReplaceAll(attack, " ", "-"), func(t *testing.T) {
				at, within := store, bounds
				if store == "postgres" {
					at = pg.Database()
				}
				if store == "memory" && attack == "labels" {
					within.memory = 1 << 40 // it holds what is stored, and nothing limits that
				}
				besiege(t, at).siege(attack, within)
			})
		}
	}
}

// siegeBounds are what an attack may cost.
type siegeBounds struct {
	span    time.Duration // of the attack
	streams int           // that the attacker opens, or as many as it gets
	memory  int64         // over idle
	wait    time.Duration // of other tenants' runs, at the 99th percentile
	stop    time.Duration // after SIGTERM
}

// mostPage is how many bytes of metrics there may be.
const mostPage = 256 << 10

// siege attacks the server.
func (b *besieged) siege(attack string, bounds siegeBounds) {
	t := b.t
	b.run("attacker", "first") // the thread that is watched
	b.run("victim", "first")
	most := bounds.wait
	if !testenv.Long() { // then what others may wait grows with what a run takes without an attacker
		var calm time.Duration
		for range 10 {
			calm += b.run("victim", "calm")
		}
		most = max(most, 50*calm/10)
	}
	idle := b.memory("VmRSS")
	used := b.attacked(attack, "first", bounds.streams)
	began, before := time.Now(), used()
	var mu sync.Mutex
	var took []time.Duration
	var victims sync.WaitGroup
	for v := range 2 {
		victims.Go(func() {
			for n := 0; time.Since(began) < bounds.span; n++ {
				d := b.run("victim", fmt.Sprintf("v%d-%d", v, n))
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	victims.Wait()
	share := float64(used()-before) / float64(time.Since(began))
	_, page := b.ask(b.admin, "GET", "/metrics", "")
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	if p99 > most {
		t.Errorf("other tenants wait %s at the 99th percentile, want at most %s", p99, most)
	}
	if len(page) > mostPage || len(page) == 0 {
		t.Errorf("the page of metrics has %d bytes, want at most %d", len(page), mostPage)
	}
	grown := b.memory("VmHWM") - idle
	stop := time.Now()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.ended:
	case <-time.After(bounds.stop):
		t.Errorf("the server is not gone %s after SIGTERM", bounds.stop)
	}
	if grown > bounds.memory {
		t.Errorf("the server took %d MiB more than idle, want at most %d", grown>>20, bounds.memory>>20)
	}
	open := ""
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, "awaken_sse_connections "); ok {
			open = strings.TrimSpace(rest)
		}
	}
	t.Logf("the attacker had %.2f of a core and %v streams; memory %d MiB over %d idle; %d runs of others: 50th percentile %s, 99th %s, most %s; %d bytes of metrics; stopped after %s",
		share, open, grown>>20, idle>>20, len(took), took[len(took)/2].Round(time.Microsecond), p99.Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond), len(page), time.Since(stop).Round(time.Millisecond))
}
