package server_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
)

// field returns a field of each item of a list.
func field(list map[string]any, name string) []string {
	out := []string{}
	for _, item := range list["items"].([]any) {
		out = append(out, fmt.Sprint(item.(map[string]any)[name]))
	}
	return out
}

// pages follows the cursors of a list and returns a field of the items on all pages.
func (g *rig) pages(path, name string, headers ...string) (out []string) {
	g.t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	cursor := ""
	for range 100 {
		at := path
		if cursor != "" {
			at += join + "cursor=" + cursor
		}
		list := g.want(200, "GET", at, "", headers...)
		out = append(out, field(list, name)...)
		next, _ := list["next_cursor"].(string)
		if more := list["has_more"]; more != nil && more.(bool) != (next != "") {
			g.t.Fatalf("%s: has_more is %v and the next cursor %q", at, more, next)
		}
		if next == "" {
			return out
		}
		cursor = next
	}
	g.t.Fatalf("%s: the list does not end", path)
	return nil
}

// A list of runs has those that all of its filters select.
func TestRuns_AreListedByWhatTheyDid(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, plain := g.done()
	thread, waits, _ := g.waits()
	poor := g.poor()
	for query, want := range map[string][]string{
		"":                                {poor, waits, plain},
		"status=done":                     {plain},
		"outcome=natural_end":             {plain},
		"outcome=error":                   {},
		"status=waiting":                  {poor, waits},
		"waiting_reason=budget_exhausted": {poor},
		"waiting_reason=tool_permission&tool=ask": {waits},
		"tool=ask":            {waits},
		"tool=missing":        {},
		"in_doubt=true":       {},
		"thread_id=" + thread: {waits},
		"q=" + strings.ToUpper(waits[:12]) + waits[12:]: {waits},
		"agent_id=default&root=true&limit=2":            {poor, waits, plain},
		"agent_id=missing":                              {},
		"origin=user":                                   {poor, waits, plain},
		"origin=mcp":                                    {},
		"error_code=busy":                               {},
		"min_cost_usd=1000":                             {},
		"since=2026-01-02T15:04:05Z&until=2026-01-02T15:04:06Z": {},
		"since=2001-01-02T15:04:05Z&limit=1":                    {poor, waits, plain},
		"parent_run_id=missing":                                 {},
		"version=missing":                                       {},
	} {
		if got := g.pages("/v1/runs?"+query, "run_id"); !slices.Equal(got, want) {
			t.Errorf("%s: runs are %v, want %v", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"min_cost_usd=x":             "min_cost_usd is \\\"x\\\", want a number",
		"min_cost_usd=-1":            "want 0 to",
		"min_cost_usd=NaN":           "want 0 to",
		"since=yesterday":            "want a time such as",
		"until=1969-01-02T15:04:05Z": "want a time after 1970",
		"root=true&parent_run_id=x":  "cannot be combined",
		"origin=nowhere":             "want user, mcp, subagent, internal",
		"cursor=run_x":               "pagination token",
		"cursor=thr_e30":             "pagination token",
	} {
		if status, text := g.ask("GET", "/v1/runs?"+query, ""); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want 400 with %s", query, status, text, want)
		}
	}
}

// A cursor belongs to the filters of its list, and to whom the list is for.
func TestRuns_ACursorBelongsToItsFilters(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for range 3 {
		g.done()
	}
	cursor := g.want(200, "GET", "/v1/runs?limit=1&agent_id=default", "")["next_cursor"].(string)
	g.want(200, "GET", "/v1/runs?limit=2&agent_id=default&cursor="+cursor, "")
	for _, query := range []string{"", "&agent_id=other", "&agent_id=default&status=done", "&agent_id=default&q=x"} {
		if status, text := g.ask("GET", "/v1/runs?cursor="+cursor+query, ""); status != 400 || !strings.Contains(text, "other filters") {
			t.Errorf("%s: %d %s, want 400 with other filters", query, status, text)
		}
	}
	if got := len(g.want(200, "GET", "/v1/runs?cursor=2", "")["items"].([]any)); got != 1 {
		t.Errorf("a cursor that is a number has %d runs, want the 1 behind that many", got)
	}
}

// So do those of the other lists; see TestAuditLog for the log.
func TestLists_CursorsBelongToTheirFilters(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread := ""
	for range 2 {
		_, run, ticket := g.waits(admin...)
		g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"cancel"}`, admin...)
		thread, _, _ = g.waits(admin...)
		g.dead("")
	}
	for list, other := range map[string]string{
		"/v1/threads/" + thread + "/messages?visibility=all": "/v1/threads/" + thread + "/messages?visibility=all&order=desc",
		"/v1/decisions?tool=ask":                             "/v1/decisions?tool=other",
		"/v1/dispatches?agent_id=default":                    "/v1/dispatches?agent_id=default&status=live",
		"/v1/approvals?order=oldest":                         "/v1/approvals?tool=ask&order=oldest",
		"/v1/runs?agent_id=default":                          "/v1/runs?agent_id=other",
		"/v1/threads/summaries?agent_id=default":             "/v1/threads/summaries?agent_id=default&status=done",
	} {
		cursor, _ := g.want(200, "GET", list+"&limit=1", "", admin...)["next_cursor"].(string)
		if cursor == "" {
			t.Fatalf("%s: the list has one page", list)
		}
		g.want(200, "GET", list+"&limit=2&cursor="+cursor, "", admin...)
		if status, text := g.ask("GET", other+"&cursor="+cursor, "", admin...); status != 400 || !strings.Contains(text, "other filters") {
			t.Errorf("%s: %d %s, want 400 with other filters", other, status, text)
		}
	}
	first := g.want(200, "GET", "/v1/dead-letters?limit=1", "", admin...)
	next := g.want(200, "GET", "/v1/dead-letters?cursor="+first["next_cursor"].(string), "", admin...)
	if a, b := field(first, "dispatch_id"), field(next, "dispatch_id"); len(a) != 1 || len(b) != 1 || a[0] == b[0] || next["next_cursor"] != nil {
		t.Errorf("pages of dead letters have %v and %v", a, b)
	}
	for _, path := range []string{"/v1/dispatches?cursor=1", "/v1/dispatches?cursor=" + first["next_cursor"].(string), "/v1/dead-letters?cursor=zzz"} {
		if status, text := g.ask("GET", path, "", admin...); status != 400 || !strings.Contains(text, "pagination token") {
			t.Errorf("%s: %d %s, want 400", path, status, text)
		}
	}
}

// New messages do not move the pages of a conversation that is read from its end.
func TestMessages_NewOnesDoNotMoveThePages(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	post := func(id string) {
		g.want(200, "POST", "/v1/runs", `{"agent_id":"default","stream":false,"thread_id":"moving","messages":[{"id":"`+id+`","role":"user","content":"hi"}]}`)
	}
	post("a")
	post("b")
	list := func(query string) (ids []string, cursor string) {
		page := g.want(200, "GET", "/v1/threads/moving/messages?order=desc"+query, "")
		for _, m := range page["messages"].([]any) {
			ids = append(ids, fmt.Sprint(m.(map[string]any)["id"]))
		}
		cursor, _ = page["next_cursor"].(string)
		return ids, cursor
	}
	want, _ := list("")
	got, cursor := list("&limit=2")
	post("c")
	rest, _ := list("&cursor=" + cursor)
	if got = append(got, rest...); len(want) != 4 || !slices.Equal(got, want) {
		t.Errorf("pages have %v, want %v", got, want)
	}
}

// A user's key lists the user's own runs, whatever it asks for.
func TestRuns_AUserListsItsOwn(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	ann, bo := g.keyed(server.Key{ID: "ann", Kind: server.RunKey, User: "ann"}), g.keyed(server.Key{ID: "bo", Kind: server.RunKey, User: "bo"})
	_, mine := g.done(ann...)
	thread, other := g.done(bo...)
	for _, query := range []string{"", "?agent_id=default", "?q=t", "?status=done&root=true", "?user_id=ann"} {
		if got := g.pages("/v1/runs"+query, "run_id", ann...); !slices.Equal(got, []string{mine}) {
			t.Errorf("%s: ann lists %v, want %s and not %s", query, got, mine, other)
		}
	}
	if got := g.pages("/v1/runs?thread_id="+thread, "run_id", ann...); len(got) > 0 {
		t.Errorf("ann lists %v of another user's thread", got)
	}
	g.want(403, "GET", "/v1/runs?user_id=bo", "", ann...)
}

// A summary of a thread says how its latest run is.
func TestThreads_SummariesHaveTheLatestRun(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	over, done := g.done()
	asks, waits, _ := g.waits()
	empty := g.want(201, "POST", "/v1/threads", `{"title":"Plans"}`)["id"].(string)
	got := map[string]map[string]any{}
	for _, item := range g.want(200, "GET", "/v1/threads/summaries", "")["items"].([]any) {
		got[item.(map[string]any)["id"].(string)] = item.(map[string]any)
	}
	for thread, want := range map[string]string{
		over:  fmt.Sprint(map[string]any{"run_id": done, "status": "done", "outcome": "natural_end"}),
		asks:  fmt.Sprint(map[string]any{"run_id": waits, "status": "waiting", "waiting_reason": "tool_permission"}),
		empty: fmt.Sprint(nil),
	} {
		if run := fmt.Sprint(got[thread]["latest_run"]); run != want || got[thread]["created_at"].(float64) == 0 {
			t.Errorf("thread %s: the latest run is %s, want %s, in %v", thread, run, want, got[thread])
		}
	}
	if n := got[over]["message_count"]; n != float64(2) || got[empty]["message_count"] != float64(0) {
		t.Errorf("the numbers of messages are %v and %v, want 2 and 0", n, got[empty]["message_count"])
	}
}

// A list of threads has those that all of its filters select, the most recently active first.
func TestThreads_AreListedByTheirLatestRun(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	over, _ := g.done()
	asks, _, _ := g.waits()
	empty := g.want(201, "POST", "/v1/threads", `{"title":"Plans","resource_id":"r1"}`)["id"].(string)
	for query, want := range map[string][]string{
		"":                                   {empty, asks, over},
		"limit=1":                            {empty, asks, over},
		"status=done":                        {over},
		"status=waiting":                     {asks},
		"status=running":                     {},
		"agent_id=default&limit=1":           {asks, over},
		"agent_id=default&status=done":       {over},
		"agent_id=missing":                   {},
		"q=PLAN":                             {empty},
		"q=R1&resourceId=r1&root=true":       {empty},
		"until=2001-01-02T15:04:05Z":         {},
		"since=2001-01-02T15:04:05Z&limit=2": {empty, asks, over},
		"since=2001-01-02T15:04:05Z&agent_id=default&status=waiting": {asks},
	} {
		if got := g.pages("/v1/threads/summaries?"+query, "id"); !slices.Equal(got, want) {
			t.Errorf("%s: threads are %v, want %v", query, got, want)
		}
		if n := len(g.want(200, "GET", "/v1/threads?limit=9&"+query, "")["items"].([]any)); n != len(want) { // the first limit counts
			t.Errorf("%s: the list of ids has %d, want %d", query, n, len(want))
		}
	}
	for query, want := range map[string]string{
		"status=created":  "want running, waiting, done",
		"since=yesterday": "want a time such as",
	} {
		if status, text := g.ask("GET", "/v1/threads?"+query, ""); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want 400 with %s", query, status, text, want)
		}
	}
}

// Pages of threads do not repeat threads when others become active, say how many came before, and belong to their filters. The numbers
// that the original has as cursors work, too.
func TestThreads_ACursorContinuesBehindItsPage(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	var threads []string
	for range 4 {
		thread, _ := g.done()
		threads = append([]string{thread}, threads...)
	}
	first := g.want(200, "GET", "/v1/threads?limit=2&status=done", "")
	g.done() // moves what an offset would count
	path := "/v1/threads?limit=2&status=done&cursor=" + first["next_cursor"].(string)
	second := g.want(200, "GET", path, "")
	if got := fmt.Sprint(first["items"], second["items"], second["offset"]); got != fmt.Sprint(threads[:2], threads[2:], 2) || second["has_more"] != false {
		t.Errorf("the pages are %s, want %v", got, threads)
	}
	for _, query := range []string{"", "&status=waiting", "&status=done&q=x"} {
		if status, text := g.ask("GET", "/v1/threads?cursor="+first["next_cursor"].(string)+query, ""); status != 400 || !strings.Contains(text, "other filters") {
			t.Errorf("%s: %d %s, want 400 with other filters", query, status, text)
		}
	}
	for _, query := range []string{"cursor=3", "offset=3"} {
		if got := g.want(200, "GET", "/v1/threads?"+query, ""); fmt.Sprint(got["items"]) != fmt.Sprint(threads[2:]) || got["offset"] != 3.0 {
			t.Errorf("%s: %v, want %v", query, got, threads[2:])
		}
	}
}

// The times of a run are in seconds and in milliseconds, wherever they are shown.
func TestRuns_TimesAreInSecondsAndMilliseconds(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, id := g.done()
	run := g.want(200, "GET", "/v1/runs/"+id, "")
	tree := g.want(200, "GET", "/v1/runs/"+id+"/tree", "")["run"].(map[string]any)
	listed := g.want(200, "GET", "/v1/runs", "")["items"].([]any)[0].(map[string]any)
	for name, at := range map[string]map[string]any{"created_at": run, "started_at": run, "finished_at": tree, "updated_at": listed,
		"latest_run_updated_at": g.want(200, "GET", "/v1/threads/"+thread, "")} {
		seconds, _ := at[name].(float64)
		if ms, _ := at[name+"_ms"].(float64); seconds < 9e8 || math.Floor(ms/1000) != seconds {
			t.Errorf("%s is %.0f, and %.0f in milliseconds", name, seconds, ms)
		}
	}
}
