package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	guideBlock = regexp.MustCompile("(?s)\n```(\\w*)\n(.*?)\n```")
	guideFile  = regexp.MustCompile("`(\\w+\\.yaml)`")
)

// loopGuide runs a guide: its files, its commands, and what they print.
type loopGuide struct {
	t    *testing.T
	dir  string
	url  string
	vars map[string]string
}

// The guide from a bad answer to a better agent works as written, with the program itself.
func TestDocs_Loop(t *testing.T) {
	t.Parallel()
	docs := readDocs(t, "loop.md")
	g := &loopGuide{t: t, dir: t.TempDir(), vars: map[string]string{}}
	blocks := guideBlock.FindAllStringSubmatchIndex(docs, -1)
	ran := 0
	for i, b := range blocks {
		kind, text := docs[b[2]:b[3]], docs[b[4]:b[5]]
		switch kind {
		case "yaml":
			names := guideFile.FindAllStringSubmatch(docs[:b[0]], -1)
			if err := os.WriteFile(filepath.Join(g.dir, names[len(names)-1][1]), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "sh":
			want := ""
			if i+1 < len(blocks) && docs[blocks[i+1][2]:blocks[i+1][3]] == "" && strings.TrimSpace(docs[b[1]:blocks[i+1][0]]) == "" {
				want = docs[blocks[i+1][4]:blocks[i+1][5]]
			}
			lines := commands(text)
			for n, line := range lines {
				ran++
				if n < len(lines)-1 {
					g.run(line, "")
				} else {
					g.run(line, want)
				}
				if t.Failed() {
					return
				}
			}
		}
	}
	if ran < 20 {
		t.Errorf("the guide has %d commands", ran)
	}
}

// run runs a command, which must print what the guide says.
func (g *loopGuide) run(line, want string) {
	g.t.Helper()
	switch {
	case strings.HasSuffix(line, "awaken serve"):
		g.serve(strings.Fields(line))
	case strings.HasPrefix(line, "awaken "):
		g.awaken(line, want)
	default:
		g.curl(line, want)
	}
}

// program returns a command of the program, in the folder of the guide.
func (g *loopGuide) program(args ...string) *exec.Cmd {
	g.t.Helper()
	path, err := exec.LookPath("awaken") // which TestMain has put there
	if err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.CommandContext(g.t.Context(), path, args...)
	cmd.Dir = g.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWAKEN_") })
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=10")
	return cmd
}

// serve starts the server on a port of its own.
func (g *loopGuide) serve(words []string) {
	g.t.Helper()
	cmd := g.program("serve", "--address", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, words[:len(words)-2]...)
	out, ended := &watched{text: "Ctrl-C stops", seen: make(chan struct{})}, make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	g.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	select {
	case <-out.seen:
	case <-ended:
		g.t.Fatalf("the server ended: %s", out)
	}
	g.url, g.vars["AWAKEN_KEY"] = listening.FindStringSubmatch(out.String())[1], adminKey.FindStringSubmatch(out.String())[1]
}

func (g *loopGuide) awaken(line, want string) {
	g.t.Helper()
	line, says, _ := strings.Cut(line, " # ")
	status, _ := strconv.Atoi(says)
	var out, errs bytes.Buffer
	cmd := g.program(strings.Fields(line)[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		g.t.Fatal(err)
	} else if got := cmd.ProcessState.ExitCode(); got != status {
		g.t.Errorf("%s: exit status %d, want %d: %s%s%v", line, got, status, out.String(), errs.String(), exit)
	}
	if got := strings.TrimSpace(out.String()); want != "" && got != want {
		g.t.Errorf("%s prints\n%s\nwant\n%s", line, got, want)
	}
}

// curl sends a request until its reply is what the guide says: servers follow files after some time, and judge runs after some time.
func (g *loopGuide) curl(line, want string) {
	g.t.Helper()
	command, file, kept := strings.Cut(line, " | jq .spec > ")
	status := "2.."
	if m := wanted.FindStringSubmatch(command); m != nil {
		status = m[1]
	}
	words, err := shellWords(strings.ReplaceAll(command, "http://127.0.0.1:3000", g.url), g.vars)
	if err != nil {
		g.t.Fatalf("%s: %v", line, err)
	}
	var out bytes.Buffer
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out.Reset()
		got, err := curl(g.t.Context(), words[1:], &out)
		if err != nil {
			g.t.Fatalf("%s: %v", line, err)
		}
		if ok, _ := regexp.MatchString("^"+status+"$", strconv.Itoa(got)); ok && g.shows(out.String(), want) {
			break
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("%s\n%d, want %s and\n%s\ngot\n%s", line, got, status, want, out.String())
		}
	}
	g.learn(line, out.Bytes())
	if !kept {
		return
	}
	var dataset struct{ Spec json.RawMessage }
	if err := json.Unmarshal(out.Bytes(), &dataset); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.dir, file), dataset.Spec, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// shows reports whether a reply has the lines of a text, in which … stands for anything.
func (g *loopGuide) shows(got, want string) bool {
	var pattern strings.Builder
	pattern.WriteString("(?s)")
	for line := range strings.Lines(want) {
		line = os.Expand(strings.TrimSpace(line), func(name string) string { return g.vars[name] })
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + ".*")
	}
	return regexp.MustCompile(pattern.String()).MatchString(got)
}

// learn sets the variables of the guide.
func (g *loopGuide) learn(line string, data []byte) {
	var reply struct {
		RunID string `json:"run_id"`
		Run   struct{ ID string }
	}
	_ = json.Unmarshal(data, &reply)
	switch {
	case strings.Contains(line, "/fork"):
		g.vars["FORK"] = reply.RunID
	case strings.Contains(line, "/v1/runs ") && g.vars["RUN"] == "":
		g.vars["RUN"] = reply.RunID
	case strings.Contains(line, "/v1/eval/runs "):
		g.vars["EVAL"] = reply.Run.ID
	}
}
