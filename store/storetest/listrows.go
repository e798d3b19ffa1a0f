package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// ListRows returns SQL statements that fill the tables of a SQL store, which have the prefix, with threads and runs of tenant "",
// as lists need them: there is nothing in their logs. Triggers of the tables must be off.
func ListRows(prefix string, threads, runs int) []string {
	const series = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) `
	statements := []string{
		strings.Replace(series, "{n}", "{threads}", 1) + `INSERT INTO {p}_threads (tenant, id, parent, resource, user_id, title, created, updated, touched, messages, latest_run, open_run)
			SELECT '', 'thread-' || i, CASE i % 50 WHEN 0 THEN 'thread-1' ELSE '' END, CASE i % 10 WHEN 0 THEN 'resource-' || (i % 100) ELSE '' END, 'user-' || (i % 100), 'Thread ' || i,
				1700000000000 + i * 1000, 1700000000000 + i * 1000, {runs} + i, 2, 'run-' || ({runs} - ({runs} + {threads} - i) % {threads}),
				CASE ({runs} - ({runs} + {threads} - i) % {threads}) % 100 WHEN 0 THEN 'run-' || ({runs} - ({runs} + {threads} - i) % {threads}) ELSE '' END FROM n`,
		strings.Replace(series, "{n}", "{runs}", 1) + `INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq, agent, version, origin, parent, user_id, detail, error, cost, created)
			SELECT '', 'run-' || i, 'thread-' || (1 + (i - 1) % {threads}), CASE i % 100 WHEN 0 THEN 'waiting' ELSE 'done' END, i,
				'{"agent_id":"agent-' || (i % 7) || '","origin":"user","status":"done","termination_reason":{"type":"natural_end"},"created_at":1700000000,"updated_at":1700000001,"steps":1,"input_tokens":10,"output_tokens":5}',
				1, 2, 'agent-' || (i % 7), 'v' || (i % 5), CASE i % 50 WHEN 0 THEN 'mcp' ELSE 'user' END, CASE i % 20 WHEN 0 THEN 'run-' || (i - 1) ELSE '' END, 'user-' || ((1 + (i - 1) % {threads}) % 100),
				CASE WHEN i % 100 = 0 THEN 'tool_permission' WHEN i % 97 = 0 THEN 'error' ELSE 'natural_end' END, CASE WHEN i % 97 = 0 AND i % 100 <> 0 THEN 'busy' ELSE '' END,
				CASE i % 200 WHEN 0 THEN 500000000 ELSE 1000000 END, 1700000000000 + i * 1000 FROM n`,
		strings.Replace(series, "{n}", "{runs} / 10", 1) + `INSERT INTO {p}_run_marks (tenant, mark, born, run)
			SELECT '', CASE i % 9 WHEN 0 THEN 'in_doubt' WHEN 1 THEN 'pin' ELSE 'tool:search' END, i * 10, 'run-' || (i * 10) FROM n`,
	}
	for i, s := range statements {
		statements[i] = strings.NewReplacer("{p}", prefix, "{threads}", fmt.Sprint(threads), "{runs}", fmt.Sprint(runs)).Replace(s)
	}
	return statements
}

// ListPlan is a filter of a list of the rows of [ListRows], and the end of the name of the index that a SQL store reads for it.
type ListPlan struct {
	Name, Index string
	runs        *awaken.RunQuery
	threads     *awaken.ThreadQuery
}

// List reads a page, and returns where the next one begins.
func (p ListPlan) List(ctx context.Context, s awaken.Store, at string, limit int) (n int, next string, err error) {
	next = at
	if p.runs != nil {
		q := *p.runs
		q.At, q.Limit = &next, limit
		list, err := s.ListRuns(ctx, q)
		return len(list), next, err
	}
	q := *p.threads
	q.At, q.Limit = &next, limit
	list, err := s.ListThreads(ctx, q)
	return len(list), next, err
}

// ListPlans returns the filters of lists that an index answers.
func ListPlans() []ListPlan {
	user := "user-7"
	return []ListPlan{
		{"runs", "_runs_born", &awaken.RunQuery{}, nil},
		{"runs of a thread", "_runs_thread", &awaken.RunQuery{ThreadID: "thread-3"}, nil},
		{"runs that wait", "_runs_status", &awaken.RunQuery{Status: awaken.RunWaiting}, nil},
		{"runs of an agent", "_runs_agent", &awaken.RunQuery{AgentID: "agent-3"}, nil},
		{"runs of a version", "_runs_version", &awaken.RunQuery{Version: "v3"}, nil},
		{"runs of an origin", "_runs_origin", &awaken.RunQuery{Origin: "mcp"}, nil},
		{"runs of a parent", "_runs_parent", &awaken.RunQuery{ParentRunID: "run-19"}, nil},
		{"runs of a user", "_runs_user", &awaken.RunQuery{Owner: &user}, nil},
		{"runs that failed", "_runs_detail", &awaken.RunQuery{Outcome: awaken.Failed}, nil},
		{"runs that wait for a permission", "_runs_detail", &awaken.RunQuery{Waiting: awaken.WaitToolPermission}, nil},
		{"runs with an error", "_runs_error", &awaken.RunQuery{ErrorCode: "busy"}, nil},
		{"runs that cost much", "_runs_cost", &awaken.RunQuery{MinCostUSD: 0.5}, nil},
		{"runs that called a tool", "_run_marks", &awaken.RunQuery{Tool: "search"}, nil},
		{"runs in doubt", "_run_marks", &awaken.RunQuery{InDoubt: true}, nil},
		{"runs that are pinned", "_run_marks", &awaken.RunQuery{Pinned: true}, nil},
		{"runs of a time", "_runs_born", &awaken.RunQuery{Since: 1700000100000, Until: 1700000900000}, nil},
		{"threads", "_threads_touched", nil, &awaken.ThreadQuery{}},
		{"threads below one", "_threads_parent", nil, &awaken.ThreadQuery{ParentThreadID: "thread-1"}},
		{"threads of a resource", "_threads_resource", nil, &awaken.ThreadQuery{ResourceID: "resource-10"}},
		{"threads of a user", "_threads_user", nil, &awaken.ThreadQuery{Owner: &user}},
		{"threads of an agent", "_runs_agent", nil, &awaken.ThreadQuery{AgentID: "agent-3"}},
		{"threads that wait", "_runs_status", nil, &awaken.ThreadQuery{Status: awaken.RunWaiting}},
		{"threads of a time", "_threads_touched", nil, &awaken.ThreadQuery{Since: 1700000100000, Until: 1700000900000}},
	}
}
