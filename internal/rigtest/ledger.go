//go:build unix

package rigtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
)

// Ledger is where tools note the effects that they make, outside of every store. It is the path of a file: what a process has noted is
// there when the process is dead, and a note is one write, so it is there or not. It is JSON for jobs.
type Ledger string

// Effect is a note of an effect. A tool makes it when it is called.
type Effect struct {
	Tool, Run, Key string
	PID            int
	At             time.Time
}

// NewLedger returns an empty ledger, for a test.
func NewLedger(tb testing.TB) Ledger {
	tb.Helper()
	return Ledger(filepath.Join(tb.TempDir(), "effects"))
}

// Note notes an effect, of the calling process and now.
func (l Ledger) Note(e Effect) error {
	e.PID, e.At = os.Getpid(), time.Now()
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return AppendLine(string(l), string(data))
}

// Read returns the effects that were made, in order.
func (l Ledger) Read() ([]Effect, error) {
	lines, err := Lines(string(l))
	if err != nil {
		return nil, err
	}
	out := make([]Effect, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &out[i]); err != nil {
			return nil, fmt.Errorf("the note %q is torn: %w", line, err)
		}
	}
	return out, nil
}

// Effects returns the effects that were made, in order, of those that are wanted: by all filters.
func (l Ledger) Effects(tb testing.TB, wanted ...func(e Effect) bool) []Effect {
	tb.Helper()
	all, err := l.Read()
	if err != nil {
		tb.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e Effect) bool {
		return slices.ContainsFunc(wanted, func(ok func(Effect) bool) bool { return !ok(e) })
	})
}

// OfRun wants the effects of a run.
func OfRun(runID string) func(Effect) bool { return func(e Effect) bool { return e.Run == runID } }

// ByProcess wants the effects that a process made.
func ByProcess(pid int) func(Effect) bool { return func(e Effect) bool { return e.PID == pid } }

// ByTool wants the effects of a tool.
func ByTool(id string) func(Effect) bool { return func(e Effect) bool { return e.Tool == id } }

// Counts returns how often the effect of each call was made, by the tool and the key of the call.
func Counts(effects []Effect) map[Effect]int {
	out := map[Effect]int{}
	for _, e := range effects {
		out[Effect{Tool: e.Tool, Key: e.Key}]++
	}
	return out
}

// Tool returns a tool that notes every call and then takes a time, for a model that calls it with no arguments.
func (l Ledger) Tool(spec awaken.ToolSpec, takes time.Duration) awaken.Tool {
	return awaken.NewTool(spec, func(ctx context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
		if err := l.Note(Effect{Tool: spec.ID, Run: c.Run.RunID, Key: c.Key}); err != nil {
			return "", err
		}
		select {
		case <-time.After(takes):
			return "made", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
}

// AppendLine writes a line to a file, at once.
func AppendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// Lines reads what AppendLine wrote. A line that is being written is left out: a reader may see a part of it.
func Lines(path string) (out []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		if whole, ok := bytes.CutSuffix(line, []byte("\n")); ok {
			out = append(out, string(whole))
		}
	}
	return out, nil
}
