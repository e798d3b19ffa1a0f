package engine

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/builtin"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
)

// Config is what a Runtime is made of. Agents, Models and Providers are needed for
// anything to run; everything else has a useful zero value.
type Config struct {
	// The registry: what agents there are and what they are made of.

	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Pools     []awaken.ModelPoolSpec            // groups of models, which agents name like models
	Providers map[string]llm.Model              // by the provider_id of models
	Tools     []awaken.Tool                     // offered to every agent whose catalogue lets them
	Plugins   []awaken.Plugin                   // loaded by the agents that list them
	Keys      []state.AnyKey                    // of every agent, for tools that keep state without a plugin
	Backends  map[string]registry.RemoteBackend // what reaches agents that run elsewhere, by the kind of their backend
	// Lazy resolves agents when they are first run instead of in New, so that New
	// does not see their mistakes.
	Lazy bool
	// ToolDescriptions are what models are told about tools, by id, in place of what the
	// tools say themselves.
	ToolDescriptions map[string]string
	RegistryID       string // runs record it as their resolution_id; "" makes one up

	// Snapshots chooses the registries of runs, in place of the one that the fields above
	// make and [Runtime.Publish] changes. Nil means that there is one at a time.
	Snapshots registry.Snapshots

	// The runtime.

	// Store keeps threads and runs. Nil keeps nothing: every run starts on an empty
	// thread, and a suspended run cannot be resumed.
	Store   awaken.Store
	Profile profile.Store // nil means no profile
	// Budgets makes every run reserve what its calls may cost, so that the limits of
	// [money.SetBudget] hold for all. Runs that an agent, a request or a parent limits do so
	// anyway. The store has to be a [money.Budget].
	Budgets bool
	// TenantBudget is what a tenant may spend in US dollars, unless [money.SetBudget] says
	// otherwise. Nil sets no limit; anything else implies Budgets.
	TenantBudget *float64
	// Executor runs tools. Nil calls them in this process.
	Executor Executor
	// Detached returns what gets the events of a thread's run that a runtime without a
	// queue starts by itself: a task, or a run that is woken. Nil discards them.
	Detached func(threadID string) awaken.Sink
	Limits   Limits
	Logger   *slog.Logger     // nil discards
	Now      func() time.Time // nil is time.Now
	NewID    func() string    // nil is UUIDv7
}

// Executor runs tools: in this process, in a sandbox, elsewhere.
type Executor interface {
	Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error)
}

// Limits bound what a run may take. A zero field has its default; a negative one
// means no limit.
type Limits struct {
	ToolTimeout     time.Duration // of a call; default 5 minutes
	ToolGrace       time.Duration // between a call's end of time and its being abandoned; default 1 second
	ToolResultBytes int           // of one result; default 1 MiB
	ParallelTools   int           // calls of one run at the same time; default no limit
	RunEnd          time.Duration // of the run_end phase and last commit of a cancelled run; default 5 seconds
	BudgetWait      time.Duration // for money that other runs have reserved and may not need; default 10 seconds
}

// Registry is the part of the configuration that a registry is made of.
func (c *Config) Registry() registry.Config {
	return registry.Config{Builtin: builtin.For, ID: c.RegistryID, Agents: c.Agents, Models: c.Models, Pools: c.Pools, Providers: c.Providers, Tools: c.Tools, Plugins: c.Plugins,
		Keys: c.Keys, Backends: c.Backends, Lazy: c.Lazy, ToolDescriptions: c.ToolDescriptions}
}

func (c Config) withDefaults() Config {
	c.Store = cmp.Or[awaken.Store](c.Store, discardStore{})
	c.Executor = cmp.Or[Executor](c.Executor, local{})
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = ids.New
	}
	l := &c.Limits
	l.ToolTimeout = cmp.Or(l.ToolTimeout, 5*time.Minute)
	l.ToolGrace = cmp.Or(l.ToolGrace, time.Second)
	l.ToolResultBytes = cmp.Or(l.ToolResultBytes, 1<<20)
	l.ParallelTools = cmp.Or(l.ParallelTools, -1)
	l.RunEnd = cmp.Or(l.RunEnd, 5*time.Second)
	l.BudgetWait = cmp.Or(l.BudgetWait, 10*time.Second)
	return c
}

type local struct{}

func (local) Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	return tool.Call(ctx, call)
}

// DefaultAgentID is the agent of a request that names none on a thread that has
// not seen one.
const DefaultAgentID = "default"
