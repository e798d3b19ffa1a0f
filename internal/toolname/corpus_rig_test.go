package toolname_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/registry"
)

// tapVariable makes the test binary a tap: it starts the MCP server that its arguments name and passes messages on, but
// lets its tools take any arguments, and answers calls itself, after it has noted them in the file that the variable
// names.
const tapVariable = "MCP_TEST_TAP"

func TestMain(m *testing.M) {
	if notes := os.Getenv(tapVariable); notes != "" {
		if err := tap(notes, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func tap(notes string, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stderr = os.Environ(), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = os.Stdout.Write(append(line, '\n'))
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			say(relaxed(lines.Bytes()))
		}
	}()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Method == "tools/call" {
			f, err := os.OpenFile(notes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			fmt.Fprintln(f, m.Params.Name)
			if err := f.Close(); err != nil {
				return err
			}
			say(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"called"}]}}`, m.ID))
			continue
		}
		if _, err := fmt.Fprintf(in, "%s\n", lines.Bytes()); err != nil {
			return err
		}
	}
	_ = in.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return nil
}

// relaxed returns a message of the server. If it lists tools, they take any arguments.
func relaxed(line []byte) []byte {
	var m map[string]any
	if json.Unmarshal(line, &m) != nil {
		return line
	}
	result, _ := m["result"].(map[string]any)
	tools, ok := result["tools"].([]any)
	if !ok {
		return line
	}
	for _, tool := range tools {
		if t, ok := tool.(map[string]any); ok {
			t["inputSchema"] = map[string]any{"type": "object"}
			delete(t, "outputSchema")
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return line
	}
	return data
}

// arrivals counts the calls that arrived, by server and the server's name of the tool.
type arrivals struct {
	mu    sync.Mutex
	count map[string]int
	notes string // a folder with the notes of taps; "" if there are none
}

func (a *arrivals) add(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count[key]++
}

func (a *arrivals) of(key string) int {
	a.mu.Lock()
	n := a.count[key]
	a.mu.Unlock()
	server, tool, _ := strings.Cut(key, " ")
	data, _ := os.ReadFile(filepath.Join(a.notes, server)) // there is none before the first call
	for line := range strings.Lines(string(data)) {
		if strings.TrimSpace(line) == tool {
			n++
		}
	}
	return n
}

// listedTools are names of tools as seven published MCP servers list them.
var listedTools = map[string]string{
	"everything": "echo get-annotated-message get-env get-resource-links get-resource-reference get-structured-content get-sum get-tiny-image gzip-file-as-resource " +
		"toggle-simulated-logging toggle-subscriber-updates trigger-long-running-operation simulate-research-query",
	"filesystem": "read_file read_text_file read_media_file read_multiple_files write_file edit_file create_directory list_directory list_directory_with_sizes " +
		"directory_tree move_file search_files get_file_info list_allowed_directories",
	"memory":              "create_entities create_relations add_observations delete_entities delete_observations delete_relations read_graph search_nodes open_nodes",
	"sequential-thinking": "sequentialthinking",
	"playwright":          "browser_close browser_evaluate browser_file_upload browser_fill_form browser_navigate browser_run_code_unsafe browser_snapshot browser_tabs browser_wait_for",
	"github":              "create_or_update_file search_repositories create_repository push_files create_issue merge_pull_request search_code add_issue_comment get_issue",
	"notion":              "API-get-user API-get-self API-post-search API-patch-page API-post-page API-delete-a-block API-create-a-comment API-query-data-source API-move-page",
}

// pretend returns servers that list those tools.
func pretend(t *testing.T, a *arrivals) (out []mcp.Server) {
	for id, list := range listedTools {
		s := sdk.NewServer(&sdk.Implementation{Name: id, Version: "1"}, nil)
		for _, name := range strings.Fields(list) {
			s.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				a.add(id + " " + name)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "called"}}}, nil
			})
		}
		web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
		t.Cleanup(web.Close)
		out = append(out, mcp.Server{ID: id, URL: web.URL})
	}
	return out
}

// packages are the published servers: a package, and a program of it with arguments.
var packages = map[string][]string{
	"everything":          {"@modelcontextprotocol/server-everything", "mcp-server-everything"},
	"filesystem":          {"@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", "."},
	"memory":              {"@modelcontextprotocol/server-memory", "mcp-server-memory"},
	"sequential-thinking": {"@modelcontextprotocol/server-sequential-thinking", "mcp-server-sequential-thinking"},
	"playwright":          {"@playwright/mcp", "playwright-mcp"},
	"github":              {"@modelcontextprotocol/server-github", "mcp-server-github"},
	"notion":              {"@notionhq/notion-mcp-server", "notion-mcp-server"},
}

// published installs the servers and returns them, each behind a tap.
func published(t *testing.T, a *arrivals) (out []mcp.Server) {
	dir := t.TempDir()
	a.notes = filepath.Join(dir, "notes")
	if err := os.Mkdir(a.notes, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"install", "--no-audit", "--no-fund", "--prefix", dir}
	for _, p := range packages {
		args = append(args, p[0])
	}
	if text, err := exec.CommandContext(t.Context(), "npm", args...).CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, text)
	}
	for id, p := range packages {
		command := append([]string{filepath.Join(dir, "node_modules", ".bin", p[1])}, p[2:]...)
		out = append(out, mcp.Server{ID: id, Command: os.Args[0], Args: command, OpenTimeout: time.Minute,
			Env: map[string]awaken.Secret{tapVariable: awaken.NewSecret(filepath.Join(a.notes, id)), "NOTION_TOKEN": awaken.NewSecret("none")}})
	}
	return out
}

// elsewhere is a backend whose agents note what they are sent.
type elsewhere struct{ *arrivals }

func (e elsewhere) Agent(spec *awaken.AgentSpec) (registry.RemoteAgent, error) {
	return remote{e.arrivals, spec.ID}, nil
}

type remote struct {
	*arrivals
	id string
}

func (r remote) Name() string                       { return "elsewhere" }
func (r remote) Register(_ *awaken.Registrar) error { return nil }
func (r remote) Exchange(context.Context, *registry.Exchange) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		r.add("agent " + r.id)
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "called"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}
