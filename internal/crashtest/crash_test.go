package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVar); text != "" {
		if err := work(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// store is what a crash test needs of a backend.
type store interface {
	awaken.Store
	awaken.EventLog
	Close() error
}

// backend is a store that survives its process.
type backend struct {
	open  func(where string) (store, error)
	place func(t *testing.T, dir string) (where string)
	own   string // prefix of its own failpoints
}

// kills is how many processes a test kills on each store.
func kills() int {
	if testenv.Long() {
		return 3000
	}
	return 100
}

var modes = []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming, awaken.ParallelBatchApproval}

func TestKill(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backends[name]
			points := slices.DeleteFunc(failpoint.Names(), func(p string) bool {
				for other, o := range backends {
					if other != name && strings.HasPrefix(p, o.own) {
						return true
					}
				}
				return p == "cancel.interrupted" // nobody cancels here
			})
			hit := map[string]int{}
			flying := map[string]int{}
			rng := rand.New(rand.NewPCG(7, uint64(len(name))))
			total := 0
			for i := 0; total < kills(); i++ {
				// Every point in turn, at a random one of its hits; then, half the time,
				// another one while the run is taken up.
				at := 1
				if i >= len(modes)*len(points) { // the first hit in every mode, then any
					at += rng.IntN(5)
				}
				plan := []string{fmt.Sprintf("%s:%d", points[i%len(points)], at)}
				if points[i%len(points)] == "resume.doubt" { // only after an effect was cut off
					plan = []string{"call.before:4", "resume.doubt:1"}
				}
				if rng.IntN(2) == 0 {
					plan = append(plan, fmt.Sprintf("%s:%d", points[rng.IntN(len(points))], 1+rng.IntN(3)))
				}
				total += trial(t, name, b, modes[i/len(points)%len(modes)], plan, hit, flying)
				if t.Failed() {
					return
				}
				if i > 20*kills() {
					t.Fatalf("%d trials, but only %d kills", i, total)
				}
			}
			var missed []string
			for _, p := range points {
				if hit[p] == 0 {
					missed = append(missed, p)
				}
			}
			t.Logf("%s: %d kills at %d points %v; in flight: %v", name, total, len(hit), hit, flying)
			if len(missed) > 0 {
				t.Errorf("no process was killed at %q", missed)
			}
			for _, class := range []string{"read", "idem", "effect", "suspended", "in doubt"} {
				if flying[class] == 0 {
					t.Errorf("no kill with a call in flight that was: %s", class)
				}
			}
		})
	}
}

// trial runs one conversation through the crashes of a plan, and checks what is left.
func trial(t *testing.T, name string, b backend, mode awaken.ExecutionMode, plan []string, hit, flying map[string]int) (killed int) {
	t.Helper()
	dir := t.TempDir()
	j := job{Store: name, Where: b.place(t, dir), Dir: dir, Mode: mode}
	fail := func(format string, args ...any) {
		t.Errorf("%s, %s, killed at %v: %s", name, mode, plan, fmt.Sprintf(format, args...))
	}
	for _, spec := range append(slices.Clone(plan), "") {
		dead, err := spawn(j, spec)
		if err != nil {
			fail("%v", err)
			return
		}
		if dead {
			killed++
			point, _, _ := strings.Cut(spec, ":")
			hit[point]++
			countFlying(t, b, j, flying)
		}
	}
	s, err := b.open(j.Where)
	if err != nil {
		fail("open: %v", err)
		return
	}
	defer s.Close()
	for _, problem := range check(t.Context(), s, j) {
		fail("%s", problem)
	}
	return killed
}

// spawn runs a worker and reports whether the failpoint killed it.
func spawn(j job, spec string) (killed bool, err error) {
	text, err := json.Marshal(j)
	if err != nil {
		return false, err
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), jobVar+"="+string(text), "AWAKEN_FAILPOINT="+spec)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL && spec != "" {
			return true, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("worker with failpoint %q: %w: %s", spec, err, out)
	}
	return false, nil
}

// countFlying counts which calls had begun or waited when the process died.
func countFlying(t *testing.T, b backend, j job, flying map[string]int) {
	t.Helper()
	s, err := b.open(j.Where)
	if err != nil {
		t.Errorf("open after a crash: %v", err)
		return
	}
	defer s.Close()
	calls, err := s.Calls(t.Context(), runID)
	if err != nil {
		return // it died before there was a run
	}
	for _, c := range calls {
		switch c.Status {
		case awaken.CallRunning, awaken.CallNew, awaken.CallResuming:
			flying[c.ToolName]++
		case awaken.CallSuspended:
			flying["suspended"]++
		}
		if c.Status == awaken.CallRunning && c.Effect == awaken.Effectful {
			flying["in doubt"]++
		}
	}
}

// check looks at what is left from outside.
func check(ctx context.Context, s store, j job) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	run, err := s.LoadRun(ctx, runID)
	if err != nil {
		return []string{fmt.Sprintf("the run is lost: %v", err)}
	}
	if run.Status != awaken.RunDone || run.Termination.Type != awaken.NaturalEnd {
		bad("the run is %s, %s", run.Status, run.Termination)
	}
	marked := readWorld(filepath.Join(j.Dir, "world"))
	calls, err := s.Calls(ctx, runID)
	if err != nil {
		bad("the ledger: %v", err)
	}
	wanted := 0
	for _, step := range script {
		wanted += len(step)
	}
	if len(calls) != wanted {
		bad("the ledger has %d calls, want %d", len(calls), wanted)
	}
	checkEffects(bad, calls, marked)
	checkMessages(ctx, bad, s, calls)
	checkEvents(ctx, bad, s, j)
	return problems
}

// readWorld counts the marks of each kind and key.
func readWorld(path string) map[string]int {
	data, _ := os.ReadFile(path)
	marked := map[string]int{}
	for line := range strings.Lines(string(data)) {
		marked[strings.TrimSpace(line)]++
	}
	return marked
}

// checkEffects compares the ledger with what happened in the world.
func checkEffects(bad func(string, ...any), calls []*awaken.CallState, marked map[string]int) {
	for _, c := range calls {
		n := marked[c.ToolName+" "+c.Key]
		doubt := c.Result != nil && c.Result.Metadata["in_doubt"] == true
		switch {
		case !c.Status.Terminal():
			bad("call %s is %s", c.CallID, c.Status)
		case c.ToolName == "effect" && n > 1:
			bad("the effect of call %s happened %d times", c.CallID, n)
		case c.ToolName == "effect" && c.Status == awaken.CallSucceeded && n != 1:
			bad("call %s succeeded, but its effect happened %d times", c.CallID, n)
		case c.ToolName == "effect" && c.Status != awaken.CallSucceeded && !doubt:
			bad("call %s is %s and not in doubt", c.CallID, c.Status)
		case c.ToolName != "effect" && c.Status != awaken.CallSucceeded:
			bad("call %s of %s is %s, want it made again", c.CallID, c.ToolName, c.Status)
		case c.ToolName != "effect" && c.ToolName != "ask" && n == 0:
			bad("call %s succeeded, but never happened", c.CallID)
		}
	}
	for mark, n := range marked {
		if strings.HasPrefix(mark, "stepped ") && n > 1 {
			bad("the plugin's effect %q happened %d times", mark, n)
		}
	}
}

// checkMessages checks that the conversation is whole: every call answered once, in
// order, and what is in doubt said so.
func checkMessages(ctx context.Context, bad func(string, ...any), s store, calls []*awaken.CallState) {
	log, err := s.Messages(ctx, threadID, awaken.MessageQuery{})
	if err != nil {
		bad("the messages: %v", err)
		return
	}
	var view awaken.View
	for i, rec := range log {
		if rec.Seq != i+1 {
			bad("record %d has number %d", i, rec.Seq)
		}
		view.Append(rec.Message)
	}
	msgs := view.Messages()
	at := 0
	next := func() *llm.Message {
		if at == len(msgs) {
			return &llm.Message{}
		}
		at++
		return msgs[at-1]
	}
	if m := next(); m.Role != llm.User {
		bad("the first message is of %q", m.Role)
	}
	for step, names := range script {
		m := next()
		if len(m.ToolCalls) != len(names) || m.Text() != fmt.Sprintf("Step %d: so. ", step) {
			bad("message of step %d says %q and asks for %d calls", step, m.Text(), len(m.ToolCalls))
			return
		}
		for i := range names {
			id := fmt.Sprintf("call-%d-%d", step, i)
			a := next()
			if a.Role != llm.ToolRole || a.ToolCallID != id {
				bad("step %d: after its call comes the answer of %q, want of %q", step, a.ToolCallID, id)
				return
			}
			for _, c := range calls {
				if c.CallID == id && c.Result != nil && c.Result.Metadata["in_doubt"] == true && !strings.Contains(a.Text(), "not known") {
					bad("call %s is in doubt, but the model is told %q", id, a.Text())
				}
			}
		}
	}
	if m := next(); m.Text() != fmt.Sprintf("Step %d: so. ", len(script)) || at != len(msgs) {
		bad("the last message says %q, and %d follow", m.Text(), len(msgs)-at)
	}
}

// checkEvents checks the log of events, and that a reader who was cut off by each
// crash and resumed got exactly that.
func checkEvents(ctx context.Context, bad func(string, ...any), s store, j job) {
	log := eventlog.New(s, nil)
	read := func(after awaken.Cursor) (out []note) {
		for e, err := range log.Tail(ctx, threadID, after, eventlog.Follow{Committed: true}) {
			if err != nil {
				bad("the log of events: %v", err)
				return nil
			}
			ev, err := awaken.MarshalEvent(e.Event)
			if err != nil {
				bad("the log of events: %v", err)
				return nil
			}
			out = append(out, note{e.Cursor, string(ev)})
		}
		return out
	}
	whole := read(awaken.Cursor{})
	for i, n := range whole {
		if n.Cursor.Seq != uint64(i+1) {
			bad("event %d of the log has number %d", i+1, n.Cursor.Seq)
			return
		}
	}
	seen, err := notes{filepath.Join(j.Dir, "notes")}.read()
	if err != nil {
		bad("the reader's notes: %v", err)
		return
	}
	// The reader watched each process until it died. Wherever it was cut off, what it
	// had, taken back as far as it is told to, and what it gets now are the log. What
	// came before a process took over is committed, so the reader has it.
	for len(seen) > 0 {
		epoch, n := seen[0].Cursor.Epoch, 0
		for n < len(seen) && seen[n].Cursor.Epoch == epoch {
			n++
		}
		first, last := seen[0].Cursor.Seq, seen[n-1].Cursor
		if first > uint64(len(whole))+1 {
			bad("a reader saw event %d, the log has %d", first, len(whole))
			return
		}
		have := append(slices.Clone(whole[:first-1]), seen[:n]...)
		seen = seen[n:]
		rest := read(last)
		if len(rest) > 0 && strings.Contains(rest[0].Event, `"stream_reset"`) && strings.Contains(rest[0].Event, `"cursor"`) {
			have, rest = upTo(have, rest[0].Cursor), rest[1:]
		}
		if got := append(have, rest...); !slices.Equal(got, whole) {
			bad("a reader cut off at %s has %d events and gets %d, the log has %d: %s", last, len(have), len(rest), len(whole), firstDifference(got, whole))
			return
		}
	}
}

// upTo returns what a reader keeps when it is told to fall back to a cursor.
func upTo(have []note, at awaken.Cursor) []note {
	return slices.DeleteFunc(have, func(n note) bool { return n.Cursor.Seq > at.Seq })
}

func firstDifference(a, b []note) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("missing %v", b[i])
		case i >= len(b):
			return fmt.Sprintf("surplus %v", a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("%v instead of %v", a[i], b[i])
		}
	}
	return "none"
}
