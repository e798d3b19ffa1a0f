//go:build unix

package rigtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// shell returns a command that runs a script.
func shell(script string, args ...string) func() *exec.Cmd {
	return func() *exec.Cmd { return exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...) }
}

func TestProcess_IsKilledPausedAndStartedAgain(t *testing.T) {
	p := Start(t, shell("echo ready; exec sleep 1000"))
	p.Says("ready")
	first := p.PID()
	p.Pause()
	p.Continue()
	p.Kill()
	if !p.Ended() || !p.Dies(0) {
		t.Errorf("the process has not been killed: %v", p.cmd.ProcessState)
	}
	p.Again()
	p.Says("ready")
	if p.Ended() || p.PID() == first {
		t.Error("the process was not started again")
	}
	if err := p.Stop(); err == nil {
		t.Error("sleep ended without an error at SIGTERM")
	}
}

func TestProcess_SaysThatItPaused(t *testing.T) {
	p := Start(t, shell("kill -STOP $$; echo back"))
	p.Paused()
	if strings.Contains(p.Log(), "back") {
		t.Error("the process goes on while it is paused")
	}
	p.Continue()
	p.Says("back")
	<-p.Over()
}

func TestLedger_KeepsWhatADeadProcessNoted(t *testing.T) {
	l := NewLedger(t)
	for range 2 {
		if err := l.Note(Effect{Tool: "pay", Run: "r", Key: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(string(l), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, `{"Tool":"half`); err != nil { // as a reader may see it
		t.Fatal(err)
	}
	f.Close()
	if got := l.Effects(t, OfRun("r"), ByTool("pay"), ByProcess(os.Getpid())); len(got) != 2 {
		t.Errorf("%d effects, want 2", len(got))
	}
	if n := Counts(l.Effects(t))[Effect{Tool: "pay", Key: "k"}]; n != 2 {
		t.Errorf("the effect was made %d times, want 2", n)
	}
}

func TestClient_SendsAgainWhatNoServerTook(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half") // it dies while it answers
		default:
			fmt.Fprintf(w, `{"key":%q}`, r.Header.Get("Authorization"))
		}
	}))
	defer server.Close()
	c := &Client{URLs: []string{server.URL}, Key: "secret", Retry: Away}
	var got struct{ Key string }
	if err := c.Ask(t.Context(), "GET", "/", "", &got); err != nil || got.Key != "Bearer secret" || c.Repeated() != 2 {
		t.Errorf("the answer is %+v after %d repetitions, %v", got, c.Repeated(), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	server.Close()
	if err := c.Ask(ctx, "GET", "/", "", nil); err == nil {
		t.Error("a server that is gone answered")
	}
}

func TestFrames_OfAStreamThatBreaksOff(t *testing.T) {
	text := "id: 1\nevent: a\ndata: x\n\n: a comment\n\ndata: y\n\ndata: z"
	var got []Frame
	for f, err := range Frames(io.MultiReader(strings.NewReader(text), broken{})) {
		if err == nil {
			got = append(got, f)
		} else if err != syscall.ECONNRESET {
			t.Error(err)
		}
	}
	if want := []Frame{{"1", "a", "x"}, {"1", "", "y"}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, syscall.ECONNRESET }

func TestWords_SaysTheSameToEveryOwner(t *testing.T) {
	ask := llm.UserText("#1 look put+pay")
	said := &llm.Message{Role: llm.Assistant}
	for _, tt := range []struct {
		messages []*llm.Message
		want     string
	}{
		{[]*llm.Message{ask}, "look"},
		{[]*llm.Message{ask, said}, "put pay"},
		{[]*llm.Message{ask, said, llm.UserText("a note"), said}, ""},
		{[]*llm.Message{llm.UserText("#2 forever look"), said, said}, "look"},
	} {
		calls, _ := Words{Tagged: true}.next(&llm.Request{Messages: llm.NewMessages(tt.messages...)})
		if got := strings.Join(calls, " "); got != tt.want {
			t.Errorf("%d messages: the model calls %q, want %q", len(tt.messages), got, tt.want)
		}
	}
}
