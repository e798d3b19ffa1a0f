package runs

import (
	"cmp"
	"context"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// trees has the handler that shows a run with the runs below it.
type trees struct {
	registry func() *registry.Registry
}

func (h *trees) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/runs/{run_id}/tree", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.get),
			Summary: "Get a run with its delegates and tasks, their cost, and the balances up to the tenant", Replies: map[int]any{200: runTree{}}},
	}
}

// mostBelow is the number of runs that a tree shows below its root.
const mostBelow = 500

// runTree is a run with the runs below it.
type runTree struct {
	Run *treeNode `json:"run"`
	// Truncated says that there are more runs below than the tree shows; total_usd lacks them.
	Truncated bool        `json:"truncated"`
	Budget    treeBalance `json:"budget"`
}

// treeNode is a run of a tree.
type treeNode struct {
	RunID      string                 `json:"run_id"`
	ThreadID   string                 `json:"thread_id"`
	AgentID    string                 `json:"agent_id"`
	Origin     string                 `json:"origin,omitempty"`
	Parent     string                 `json:"parent_run_id,omitempty"`
	ToolCallID string                 `json:"parent_tool_call_id,omitempty"` // the call of the parent that started it
	Status     awaken.RunStatus       `json:"status"`
	Outcome    awaken.TerminationType `json:"outcome,omitempty"`
	Waiting    awaken.WaitingReason   `json:"waiting_reason,omitempty"`
	StartedAt  int64                  `json:"started_at,omitempty"`  // Unix seconds, as in its record
	FinishedAt int64                  `json:"finished_at,omitempty"` // Unix seconds
	StartedMS  int64                  `json:"started_at_ms,omitempty"`
	FinishedMS int64                  `json:"finished_at_ms,omitempty"`
	CostUSD    float64                `json:"cost_usd"`  // its own
	TotalUSD   float64                `json:"total_usd"` // with those below that the tree shows
	Children   []*treeNode            `json:"children"`  // oldest first
}

// treeBalance has the balances that the root run is held to, from the run up to the tenant. A client that is
// confined to a user sees the balances of the run and its thread.
type treeBalance struct {
	Enabled  bool             `json:"enabled"`
	Balances []server.Balance `json:"balances"`
}

func newTreeNode(r *awaken.Run) *treeNode {
	n := &treeNode{RunID: r.RunID, ThreadID: r.ThreadID, AgentID: r.AgentID, Origin: r.Origin, Parent: r.ParentRunID, ToolCallID: r.ParentToolCallID, Status: r.Status,
		Outcome: r.Termination.Type, StartedAt: r.StartedAt / 1000, FinishedAt: r.FinishedAt / 1000, StartedMS: r.StartedAt, FinishedMS: r.FinishedAt, CostUSD: r.CostUSD, Children: []*treeNode{}}
	if r.Waiting != nil {
		n.Waiting = r.Waiting.Reason
	}
	return n
}

func (h *trees) get(req *server.Request) error {
	run, err := req.Run()
	if err != nil {
		return err
	}
	out := runTree{Run: newTreeNode(run)}
	var owner *string
	if req.Confined {
		owner = &req.User
	}
	if out.Truncated, err = grow(req.Context(), req.Tenant().Store, owner, out.Run); err != nil {
		return err
	}
	out.Run.sum()
	if out.Budget, err = h.balances(req, run); err != nil {
		return err
	}
	return req.Reply(200, out)
}

// runLister lists what a tree is made of. Stores implement it.
type runLister interface {
	ListThreads(ctx context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error)
	ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error)
}

// grow adds the runs below a root, level by level, and reports whether some are left out. If owner is not nil, it adds
// only runs on threads of that user.
func grow(ctx context.Context, store runLister, owner *string, root *treeNode) (truncated bool, err error) {
	room := mostBelow
	for level := []*treeNode{root}; len(level) > 0; {
		var next []*treeNode
		for _, parent := range level {
			below, err := startedBy(ctx, store, owner, parent)
			if err != nil {
				return false, err
			}
			for _, r := range below {
				if r.ParentRunID != parent.RunID || r.RunID == parent.RunID {
					continue
				}
				if room--; room < 0 {
					return true, nil
				}
				parent.Children = append(parent.Children, newTreeNode(r))
			}
			slices.SortStableFunc(parent.Children, func(a, b *treeNode) int {
				return cmp.Or(cmp.Compare(a.StartedMS, b.StartedMS), cmp.Compare(a.RunID, b.RunID))
			})
			next = append(next, parent.Children...)
		}
		level = next
	}
	return false, nil
}

// fewThreads limits the child threads of a run's thread that are read one by one.
const fewThreads = 50

// startedBy returns the runs that a run started, perhaps among others, and no more than a tree has room for and one. The
// thread of a run is a child of the thread of the run that started it. If that has many children, as a thread has after
// many runs, a list by parent is cheaper; it is not for all, because it also reads the runs that have not begun.
func startedBy(ctx context.Context, store runLister, owner *string, parent *treeNode) (below []*awaken.Run, err error) {
	threads, err := store.ListThreads(ctx, awaken.ThreadQuery{ParentThreadID: parent.ThreadID, Owner: owner, Limit: fewThreads + 1})
	if err != nil {
		return nil, err
	}
	if len(threads) > fewThreads {
		return store.ListRuns(ctx, awaken.RunQuery{ParentRunID: parent.RunID, Owner: owner, Limit: mostBelow + 1})
	}
	for _, thread := range threads {
		runs, err := store.ListRuns(ctx, awaken.RunQuery{ThreadID: thread.ID, Limit: 200})
		if err != nil {
			return nil, err
		}
		below = append(below, runs...)
	}
	return below, nil
}

// sum sets the total cost of a node and of those below it.
func (n *treeNode) sum() money.Amount {
	total := money.Dollars(n.CostUSD)
	for _, c := range n.Children {
		total += c.sum()
	}
	n.TotalUSD = total.USD()
	return total
}

// balances returns the balances of the accounts that a run is held to.
func (h *trees) balances(req *server.Request, run *awaken.Run) (treeBalance, error) {
	out := treeBalance{Balances: []server.Balance{}}
	budget := server.BudgetOf(req.Tenant())
	if budget == nil {
		return out, nil
	}
	accounts := []money.Account{{Scope: money.RunScope, ID: run.RunID}, {Scope: money.ThreadScope, ID: run.ThreadID}}
	if !req.Confined {
		accounts = append(accounts, money.Account{Scope: money.AgentScope, ID: h.registry().Base(run.AgentID)}, money.Account{Scope: money.TenantScope})
	}
	list, err := server.BalancesOf(req.Context(), req.Tenant(), accounts...)
	return treeBalance{Enabled: true, Balances: list}, err
}
