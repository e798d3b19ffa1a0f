// Package memory gives agents tools to remember facts about a user across threads:
// memory_save, memory_search and memory_forget.
//
//	cfg.Plugins = append(cfg.Plugins, memory.New())
//
// An agent has them if it lists "memory" in plugin_ids. Memories are kept in the profile of
// the run's user ([awaken.RunRequest].UserID); the tools fail in a run without a user.
// Memories are text written by a model, and are shown to models as such. What a tainted run saves taints the runs
// that find it ([awaken.Taint]).
//
// [Export] returns everything remembered about a user, [Forget] deletes one memory, and [Erase] all.
package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state/profile"
)

// Name is the plugin's name.
const Name = "memory"

// Limits per user.
const (
	maxBytes    = 4096 // length of one memory
	maxMemories = 1000
)

// Memory is one fact about a user.
type Memory struct {
	ID      string    `json:"id"`
	Text    string    `json:"text"`
	Tags    []string  `json:"tags,omitempty"`
	Agent   string    `json:"agent"` // the agent that saved it
	SavedAt time.Time `json:"saved_at"`
	// Taint says that a tainted run saved it; nil if none did. A run that finds it is tainted, too.
	Taint *awaken.Taint `json:"taint,omitempty"`
}

// namespace returns the profile namespace of a user's memories. Each has a key of its own, so
// concurrent saves do not conflict.
func namespace(user string) string { return "memory/" + profile.User(user) }

// Export returns everything remembered about a user, oldest first.
func Export(ctx context.Context, s profile.Store, user string) ([]Memory, error) {
	entries, err := s.List(ctx, namespace(user))
	if err != nil {
		return nil, err
	}
	out := make([]Memory, 0, len(entries))
	for _, e := range entries {
		var m Memory
		if err := json.Unmarshal(e.Value, &m); err != nil {
			return nil, fmt.Errorf("memory %q of user %q: %w", e.Key, user, err)
		}
		m.ID, m.SavedAt, m.Taint = e.Key, e.UpdatedAt, nil
		if len(e.Mark) > 0 {
			m.Taint = new(awaken.Taint)
			_ = json.Unmarshal(e.Mark, m.Taint) // another mark is one all the same
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b Memory) int { return a.SavedAt.Compare(b.SavedAt) })
	return out, nil
}

// Erase deletes everything remembered about a user.
func Erase(ctx context.Context, s profile.Store, user string) error {
	entries, err := s.List(ctx, namespace(user))
	for _, e := range entries {
		err = errors.Join(err, s.Delete(ctx, namespace(user), e.Key))
	}
	return err
}

// Forget deletes one memory of a user. It returns awaken.ErrNotFound if there is none with that id.
func Forget(ctx context.Context, s profile.Store, user, id string) error {
	e, err := s.Get(ctx, namespace(user), id)
	if err == nil && e == nil {
		err = fmt.Errorf("memory %q: %w", id, awaken.ErrNotFound)
	}
	if err != nil {
		return err
	}
	return s.Delete(ctx, namespace(user), id)
}

// New returns the plugin.
func New() awaken.Plugin { return plugin{} }

type plugin struct{}

func (plugin) Name() string { return Name }

func (plugin) Register(r *awaken.Registrar) error {
	r.Tool(
		awaken.NewTool(awaken.ToolSpec{ID: "memory_save", Egress: awaken.Egress{None: true}, Effect: awaken.Idempotent,
			Description: "Remembers something about the user for later conversations. Save what will matter again, in one or two sentences; never secrets."}, save),
		awaken.NewTool(awaken.ToolSpec{ID: "memory_search", Egress: awaken.Egress{None: true}, Effect: awaken.ReadOnly,
			Description: "Finds what is remembered about the user. Without a query it returns the latest memories."}, search),
		awaken.NewTool(awaken.ToolSpec{ID: "memory_forget", Egress: awaken.Egress{None: true}, Effect: awaken.Idempotent,
			Description: "Forgets one memory, by its id. Use it when the user asks for it, or when it is no longer true."}, forget),
	)
	return nil
}

// userNamespace returns the namespace of the run's user.
func userNamespace(call *awaken.ToolCall) (string, error) {
	switch {
	case call.Profile == nil:
		return "", errors.New("memory is unavailable: the runtime has no profile")
	case call.Run.UserID == "":
		return "", errors.New("memory is unavailable: the run has no user")
	}
	return namespace(call.Run.UserID), nil
}

type saveArgs struct {
	Text string   `json:"text" jsonschema:"what to remember"`
	Tags []string `json:"tags,omitempty" jsonschema:"words to find it by"`
}

type saved struct {
	ID string `json:"id"`
}

// save stores a memory under the key of the call, so that a call repeated after a crash saves
// it once.
func save(ctx context.Context, call *awaken.ToolCall, in saveArgs) (saved, error) {
	ns, err := userNamespace(call)
	if err != nil {
		return saved{}, err
	}
	text := strings.TrimSpace(in.Text)
	if text == "" {
		return saved{}, errors.New("text is empty")
	}
	if len(text) > maxBytes {
		return saved{}, fmt.Errorf("text is %d bytes long, want at most %d", len(text), maxBytes)
	}
	all, err := profile.Unmarked(call.Profile).List(ctx, ns) // they are counted, not shown
	if err != nil {
		return saved{}, err
	}
	if len(all) >= maxMemories {
		return saved{}, fmt.Errorf("the user has %d memories, want at most %d: forget some first", len(all), maxMemories)
	}
	data, err := json.Marshal(Memory{Text: text, Tags: in.Tags, Agent: call.Agent.ID})
	if err != nil {
		return saved{}, err
	}
	return saved{call.Key}, call.Profile.Set(ctx, ns, call.Key, data)
}

type searchArgs struct {
	Query      string `json:"query,omitempty" jsonschema:"words to search for; the latest memories if empty"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"maximum number of results; default 10"`
}

type hits struct {
	Memories []Memory `json:"memories"`
	Total    int      `json:"total"` // number of memories, matching or not
}

func search(ctx context.Context, call *awaken.ToolCall, in searchArgs) (hits, error) {
	if _, err := userNamespace(call); err != nil {
		return hits{}, err
	}
	all, err := Export(ctx, profile.Unmarked(call.Profile), call.Run.UserID)
	if err != nil {
		return hits{}, err
	}
	limit := in.MaxResults
	if limit <= 0 {
		limit = 10
	}
	found := find(all, in.Query)
	found = found[:min(limit, len(found))]
	for i := range found { // only what is shown taints the run
		call.ReadTainted(found[i].Taint)
	}
	return hits{found, len(all)}, nil
}

// find returns the memories that contain a word of the query: those with more of the words
// first, then the latest first.
func find(all []Memory, query string) []Memory {
	terms := strings.Fields(strings.ToLower(query))
	scores := map[string]int{} // by id
	out := []Memory{}
	for _, m := range slices.Backward(all) {
		text := strings.ToLower(m.Text + " " + strings.Join(m.Tags, " "))
		for _, t := range terms {
			if strings.Contains(text, t) {
				scores[m.ID]++
			}
		}
		if scores[m.ID] > 0 || len(terms) == 0 {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Memory) int { return cmp.Compare(scores[b.ID], scores[a.ID]) })
	return out
}

type forgetArgs struct {
	ID string `json:"id" jsonschema:"the memory's id, from memory_search"`
}

func forget(ctx context.Context, call *awaken.ToolCall, in forgetArgs) (*awaken.ToolResult, error) {
	ns, err := userNamespace(call)
	if err != nil {
		return nil, err
	}
	e, err := profile.Unmarked(call.Profile).Get(ctx, ns, in.ID)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("memory %q not found", in.ID)
	}
	if err := call.Profile.Delete(ctx, ns, in.ID); err != nil {
		return nil, err
	}
	return awaken.TextResult("forgotten"), nil
}
