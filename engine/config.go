package engine

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/state/profile"
)

// Config configures a Runtime. Agents, Models and Providers are required to run anything; every
// other field has a useful zero value.
type Config struct {
	// The registry: agents and what they use.

	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Pools     []awaken.ModelPoolSpec            // groups of models; agents name a pool like a model
	Providers map[string]llm.Model              // by provider_id
	Tools     []awaken.Tool                     // offered to every agent whose catalogue allows them
	Plugins   []awaken.Plugin                   // loaded by the agents that list them
	Keys      []state.AnyKey                    // state keys of every agent, for tools that keep state without a plugin
	Backends  map[string]registry.RemoteBackend // reach agents that run elsewhere, by backend kind
	// Lazy resolves an agent when it is first run instead of in New. New then does not report
	// mistakes in agents.
	Lazy bool
	// ToolDescriptions overrides the descriptions of tools, by tool id.
	ToolDescriptions map[string]string
	RegistryID       string // recorded by runs as resolution_id; "" generates one

	// Versions chooses the registry of each run, instead of the single one that the fields above
	// define and [Runtime.Publish] replaces. Nil uses the single one.
	Versions registry.Versions

	// The runtime.

	// Store keeps threads and runs. Nil keeps nothing: every run starts on an empty thread, and a
	// suspended run cannot be resumed.
	Store   awaken.Store
	Profile profile.Store // nil: no profile
	// Budgets makes every run reserve what its model calls may cost, so that limits set with
	// [money.SetBudget] apply to all runs. A run limited by its agent, its request or its parent
	// reserves anyway. The store must implement [money.Budget].
	Budgets bool
	// AllowUnpriced lets agents whose model has no prices run although Budgets or TenantBudget is set: they are not held
	// to limits of tenants, agents and threads that are set for all runs, and cost nothing. A budget of the
	// agent or of the request needs prices all the same.
	AllowUnpriced bool
	// TenantBudget is the default budget of a tenant, in US dollars, unless [money.SetBudget] overrides
	// it. Nil means no limit; any other value implies Budgets.
	TenantBudget *float64
	// Executor runs tools. Nil calls them in this process.
	Executor Executor
	// Detached returns the sink for a run that a runtime without a queue starts by itself: a
	// background task, or a run woken by a message. Nil discards the events.
	Detached func(threadID string) awaken.Sink
	Tap      Tap // nil: none
	// Restoration marks a store that was restored. Nil: it was not.
	Restoration *awaken.Restoration
	Limits      Limits
	Logger      *slog.Logger     // nil discards
	Now         func() time.Time // nil: time.Now
	NewID       func() string    // nil: UUIDv7
}

// Executor runs tool calls: in this process, in a sandbox or elsewhere. Implementations are safe
// for concurrent use.
type Executor interface {
	// Execute runs a call of tool and returns what tool.Call would return. Ctx is done when
	// the call times out or is cancelled.
	Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error)
}

// Tap sees the requests to models that the steps of runs make. Implementations are safe for concurrent use.
type Tap interface {
	// Inferred is called by the run, which waits for it, when a request of a step is over. Steps count from 0.
	// The request's routing and caller name the run and its tenant; files of its messages are references.
	Inferred(step int, x *llm.Exchange)
}

// Limits bounds the resources of a run. A zero field has its default; a negative one means no
// limit.
type Limits struct {
	ToolTimeout     time.Duration   // per call; default 5 minutes
	ToolGrace       time.Duration   // from a call's timeout until it is abandoned; default 1 second
	ToolResultBytes int             // per result, without its files; default 1 MiB
	ToolFileBytes   int             // of the files of a result; default 16 MiB
	Reply           llm.ReplyLimits // of each reply of a model, a remote agent's too
	// HookTimeout bounds each call of a hook, gate, guard, transform, action, effect or Activate. One
	// that takes longer is abandoned, and the run fails with a [HookTimeoutError]; a failed action
	// is recorded and a failed effect logged, as usual. Default 5 minutes.
	HookTimeout   time.Duration
	ParallelTools int           // concurrent calls of one run; default unlimited
	RunEnd        time.Duration // for the run_end phase and the last commit of a cancelled run; default 5 seconds
	BudgetWait    time.Duration // for reservations of other runs to be settled; default 10 seconds
}

// Registry returns the part of the configuration that defines a registry, with the built-in state
// keys and actions. A program that makes a registry itself, for [Runtime.Publish], begins with it.
func (c *Config) Registry() registry.Config {
	return registry.Config{Builtin: builtin.For, ID: c.RegistryID, Agents: c.Agents, Models: c.Models, Pools: c.Pools, Providers: c.Providers, Tools: c.Tools, Plugins: c.Plugins,
		Keys: c.Keys, Backends: c.Backends, Lazy: c.Lazy, ToolDescriptions: c.ToolDescriptions, Pricing: c.pricing()}
}

// pricing returns the rule for models without prices.
func (c *Config) pricing() registry.Pricing {
	switch {
	case !c.Budgets && c.TenantBudget == nil:
		return registry.PricesOptional
	case c.AllowUnpriced:
		return registry.PricesExpected
	}
	return registry.PricesRequired
}

// withDefaults returns c with the defaults of all fields that have one.
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
	l.HookTimeout = cmp.Or(l.HookTimeout, 5*time.Minute)
	l.ToolResultBytes = cmp.Or(l.ToolResultBytes, 1<<20)
	l.ToolFileBytes = cmp.Or(l.ToolFileBytes, 16<<20)
	l.ParallelTools = cmp.Or(l.ParallelTools, -1)
	l.RunEnd = cmp.Or(l.RunEnd, 5*time.Second)
	l.BudgetWait = cmp.Or(l.BudgetWait, 10*time.Second)
	return c
}

type local struct{}

func (local) Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	return tool.Call(ctx, call)
}

// DefaultAgentID is the agent of a request that names none, on a thread that has had none.
const DefaultAgentID = "default"
