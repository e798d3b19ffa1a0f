package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
)

// Pins stores the approvals of tools. Implementations are safe for concurrent use.
type Pins interface {
	// Load returns the digests of the approved tools of a server, by name, or nil if none is known.
	Load(ctx context.Context, server string) (map[string]string, error)
	// Approve adds or replaces digests and keeps all others.
	Approve(ctx context.Context, server string, digests map[string]string) error
}

// memoryPins keeps pins for as long as a connection lasts.
type memoryPins struct {
	mu  sync.Mutex
	all map[string]map[string]string
}

func (p *memoryPins) Load(_ context.Context, server string) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.all[server]), nil
}

func (p *memoryPins) Approve(_ context.Context, server string, digests map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]map[string]string{}
	}
	if p.all[server] == nil {
		p.all[server] = map[string]string{}
	}
	maps.Copy(p.all[server], digests)
	return nil
}

// listing is a tool that a server lists.
type listing struct {
	tool    *sdk.Tool
	id      string
	params  json.RawMessage
	output  *schema.Schema // of its structured results; nil if it has none
	digest  string
	held    string // why agents do not have it; "" if they do
	changed bool   // it is held because it differs from what was approved
	added   bool   // it is held because it was not there when the server's tools were first seen
}

// pinName is the name under which the tools of the server are pinned. Another program or address is
// another server.
func (c *Connection) pinName() string {
	sum := sha256.Sum256([]byte(c.server.address()))
	return c.server.ID + "@" + hex.EncodeToString(sum[:8])
}

// examine checks the tools that the server lists. When the server is seen for the first time its tools are pinned; those
// that differ from their pin later, or have none, are held.
func (c *Connection) examine(ctx context.Context, list []*sdk.Tool) (map[string]*listing, []awaken.Tool, error) {
	pins, err := c.opts.Pins.Load(ctx, c.pinName())
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the approvals of its tools: %w", err)
	}
	listed, fresh, ids := map[string]*listing{}, map[string]string{}, map[string]string{}
	approved := map[string][]string{} // digests, by the id that agents know
	for name, digest := range pins {
		id := toolID(c.server.ID, name)
		approved[id] = append(approved[id], digest)
	}
	bounds := &schema.Bounds{Bytes: 4 << 20, Parts: 20_000}
	var tools []awaken.Tool
	for _, t := range list {
		if listed[t.Name] != nil {
			continue // the first of a name counts
		}
		l := c.inspect(t, bounds)
		listed[t.Name] = l
		if l.held != "" {
			continue
		}
		if other, taken := ids[l.id]; taken {
			l.held = fmt.Sprintf("tool %q has the same id", other)
			continue
		}
		pin, was := pins[t.Name], approved[l.id]
		if pin != "" {
			was = []string{pin}
		}
		// Agents and rules know the tool by its id: another name with the same id is no other tool.
		if len(was) > 0 && !slices.Contains(was, l.digest) && !c.server.TrustChanges {
			l.changed, l.held = true, "its title, description, schema or hints differ from what was approved"
			c.log.Warn("a tool of an MCP server has changed and is held until it is approved", "tool", t.Name)
			continue
		}
		if len(pins) > 0 && len(was) == 0 && !c.server.TrustChanges {
			l.added, l.held = true, "it was not there when the tools of the server were approved"
			c.log.Warn("a new tool of an MCP server is held until it is approved", "tool", t.Name)
			continue
		}
		if pin == "" {
			fresh[t.Name] = l.digest
		}
		ids[l.id] = t.Name
		tools = append(tools, newTool(c, l))
	}
	if len(fresh) > 0 {
		if err := c.opts.Pins.Approve(ctx, c.pinName(), fresh); err != nil {
			return nil, nil, fmt.Errorf("cannot record its tools: %w", err)
		}
	}
	for _, q := range c.queries() {
		if ids[q.Spec().ID] == "" { // tools of the server come first
			tools = append(tools, q)
		}
	}
	if c.hub() && len(list) == 0 {
		tools = append(tools, newEntrance(c))
	}
	slices.SortFunc(tools, func(a, b awaken.Tool) int { return strings.Compare(a.Spec().ID, b.Spec().ID) })
	return listed, tools, nil
}

// maxDescription limits what a server may tell models about one tool, in bytes.
const maxDescription = 16 << 10

// inspect checks one tool.
func (c *Connection) inspect(t *sdk.Tool, bounds *schema.Bounds) *listing {
	l := &listing{tool: t, id: toolID(c.server.ID, t.Name)}
	refuse := func(format string, args ...any) *listing {
		l.held = fmt.Sprintf(format, args...)
		c.log.Warn("a tool of an MCP server is omitted", "tool", t.Name, "reason", l.held)
		return l
	}
	if l.id == "" {
		return refuse("its name has no letters or digits")
	}
	if n := len(t.Description) + len(title(t)); n > maxDescription {
		return refuse("its title and description have %d bytes, want at most %d", n, maxDescription)
	}
	var err error
	if t.InputSchema == nil {
		t.InputSchema = map[string]any{"type": "object"}
	}
	if l.params, err = json.Marshal(t.InputSchema); err != nil {
		return refuse("its schema: %v", err)
	}
	if _, err = bounds.Compile(l.params); err == nil {
		_, err = schema.Clean(l.params)
	}
	if err != nil {
		return refuse("its schema: %v", err)
	}
	if t.OutputSchema != nil {
		if raw, err := json.Marshal(t.OutputSchema); err == nil {
			l.output, _ = bounds.Compile(raw) // without it, results are not checked
		}
	}
	seen := map[string]any{"description": t.Description, "schema": l.params, "effect": hint(t)}
	if name := title(t); name != "" { // digests of before titles were pinned hold for tools without one
		seen["title"] = name
	}
	data, err := json.Marshal(seen)
	if err != nil {
		return refuse("its digest: %v", err)
	}
	sum := sha256.Sum256(data)
	l.digest = hex.EncodeToString(sum[:])
	return l
}

// Approve approves tools by their digests (ToolStatus.Digest) and returns their names. If a tool has changed since the digest was read,
// Approve approves nothing and returns awaken.ErrConflict.
func (c *Connection) Approve(ctx context.Context, digests map[string]string) ([]string, error) {
	c.lists.Lock()
	defer c.lists.Unlock()
	c.mu.Lock()
	list := make([]*sdk.Tool, 0, len(c.listed))
	for _, name := range slices.Sorted(maps.Keys(c.listed)) {
		list = append(list, c.listed[name].tool)
	}
	err := approvable(c.listed, digests)
	c.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("MCP server %q: %w", c.server.ID, err)
	}
	if err := c.opts.Pins.Approve(ctx, c.pinName(), digests); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(digests)), c.adopt(ctx, list)
}

// approvable returns an error unless there are tools with these digests.
func approvable(listed map[string]*listing, digests map[string]string) error {
	if len(digests) == 0 {
		return fmt.Errorf("%w: no tools to approve", awaken.ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		switch l := listed[name]; {
		case l == nil:
			return fmt.Errorf("%w: it has no tool %q", awaken.ErrInvalid, name)
		case l.held != "" && !l.changed && !l.added:
			return fmt.Errorf("%w: tool %q cannot be approved: %s", awaken.ErrInvalid, name, l.held)
		case digests[name] == "":
			return fmt.Errorf("%w: tool %q has no digest, want that of the tool as it was looked at", awaken.ErrInvalid, name)
		case l.digest != digests[name]:
			return fmt.Errorf("%w: tool %q has changed since it was looked at", awaken.ErrConflict, name)
		}
	}
	return nil
}
