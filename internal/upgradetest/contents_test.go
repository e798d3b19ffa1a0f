//go:build unix

package upgradetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/state/profile"
)

// contents is everything that the ports of a store return.
type contents struct {
	Tenants  map[string]*tenantContents `json:"tenants"`
	Profiles map[string][]profile.Entry `json:"profiles"` // by tenant
	Keys     []server.Key               `json:"keys"`
	Counts   map[mailbox.Status]int     `json:"counts"`
	Config   *configContents            `json:"config"`
}

type tenantContents struct {
	Threads      []threadContents              `json:"threads"`
	Runs         []runContents                 `json:"runs"`
	Dispatches   []dispatchContents            `json:"dispatches"`
	Decisions    []*awaken.Decided             `json:"decisions"`
	Balances     []balance                     `json:"balances"`
	Reservations map[string]*money.Reservation `json:"reservations"`
	Usage        []awaken.UsageTotal           `json:"usage"`
}

type threadContents struct {
	Thread   *awaken.Thread         `json:"thread"`
	End      string                 `json:"end"`
	Messages []awaken.MessageRecord `json:"messages"`
	Entries  []awaken.Entry         `json:"entries"`
	Unread   []awaken.InboxItem     `json:"unread"`
}

type runContents struct {
	Run   *awaken.Run         `json:"run"`
	Calls []*awaken.CallState `json:"calls"`
}

type dispatchContents struct {
	*mailbox.Dispatch
	Digest string `json:"digest"`
}

type balance struct {
	money.Account
	Limit    *money.Amount `json:"limit,omitempty"`
	Spent    money.Amount  `json:"spent"`
	Reserved money.Amount  `json:"reserved"`
	InDoubt  money.Amount  `json:"in_doubt"`
}

type configContents struct {
	Head         config.Head                    `json:"head"`
	Records      map[string]config.Record       `json:"records"`
	Publications []*config.Publication          `json:"publications"`
	Documents    map[string]json.RawMessage     `json:"documents"`
	Secrets      map[string]config.SealedSecret `json:"secrets"`
	Audit        []*config.AuditEvent           `json:"audit"`
	Tallies      map[int64]config.Tally         `json:"tallies"`
}

// read returns the contents of a database.
func (db *database) read(ctx context.Context) (_ *contents, err error) {
	c := &contents{Tenants: map[string]*tenantContents{}, Profiles: map[string][]profile.Entry{}}
	for _, tenant := range []string{"", "acme"} {
		if c.Tenants[tenant], err = readTenant(ctx, db.queue.Handle(tenant)); err != nil {
			return nil, err
		}
		if c.Profiles[tenant], err = db.profile(tenant).List(ctx, locale.Namespace()); err != nil {
			return nil, err
		}
	}
	if c.Keys, err = access.NewKeys(db.profile(systemTenant)).List(ctx); err != nil {
		return nil, err
	}
	if c.Counts, err = db.queue.Counts(ctx); err != nil {
		return nil, err
	}
	c.Config, err = readConfig(ctx, db.config)
	return c, err
}

func readTenant(ctx context.Context, s mailbox.Handle) (*tenantContents, error) {
	c := &tenantContents{}
	threads, err := readThreads(ctx, s)
	if err != nil {
		return nil, err
	}
	c.Threads = threads
	if c.Runs, err = readRuns(ctx, s); err != nil {
		return nil, err
	}
	ds, err := s.Dispatches(ctx, mailbox.Query{Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, d := range ds {
		c.Dispatches = append(c.Dispatches, dispatchContents{d, d.Digest})
	}
	if c.Decisions, err = s.Decisions(ctx, mailbox.DecisionQuery{Limit: 1000}); err != nil {
		return nil, err
	}
	if c.Reservations, err = s.(money.Budget).Reservations(ctx); err != nil {
		return nil, err
	}
	if c.Usage, err = s.(awaken.UsageReader).UsageTotals(ctx, awaken.UsageQuery{}); err != nil {
		return nil, err
	}
	accounts := []money.Account{{Scope: money.TenantScope}}
	for _, r := range c.Runs {
		accounts = append(accounts, money.Account{Scope: money.AgentScope, ID: r.Run.AgentID}, money.Account{Scope: money.ThreadScope, ID: r.Run.ThreadID},
			money.Account{Scope: money.RunScope, ID: r.Run.RunID})
	}
	list, err := s.(money.Budget).Balances(ctx, money.SortAccounts(accounts)...)
	for _, b := range list {
		c.Balances = append(c.Balances, balance{b.Account, b.Limit, b.Spent, b.Reserved, b.InDoubt})
	}
	return c, err
}

// readable is the interface of every store of threads.
type readable interface {
	awaken.Store
	awaken.EventLog
}

func readThreads(ctx context.Context, s readable) (out []threadContents, err error) {
	threads, err := s.ListThreads(ctx, awaken.ThreadQuery{Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, t := range threads {
		c := threadContents{Thread: t, End: t.End.String()}
		if c.Messages, err = s.Messages(ctx, t.ID, awaken.MessageQuery{}); err != nil {
			return nil, err
		}
		if c.Entries, err = s.Entries(ctx, t.ID, awaken.EntryQuery{}); err != nil {
			return nil, err
		}
		if c.Unread, err = s.Unread(ctx, t.ID); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func readRuns(ctx context.Context, s awaken.Store) (out []runContents, err error) {
	runs, err := s.ListRuns(ctx, awaken.RunQuery{Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		one, err := s.LoadRun(ctx, r.RunID)
		if err != nil {
			return nil, err
		}
		calls, err := s.Calls(ctx, r.RunID)
		if err != nil {
			return nil, err
		}
		out = append(out, runContents{one, calls})
	}
	return out, nil
}

func readConfig(ctx context.Context, s config.Store) (_ *configContents, err error) {
	c := &configContents{Records: map[string]config.Record{}}
	if c.Head, err = s.Head(ctx); err != nil {
		return nil, err
	}
	for _, ns := range config.Namespaces {
		list, err := s.Records(ctx, ns, "", 1000)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			c.Records[string(ns)+"/"+r.ID] = r.Record
		}
	}
	var hashes []string
	var numbers []int64
	for n := c.Head.Last; n > 0; n-- {
		p, err := s.Publication(ctx, n)
		if err != nil {
			return nil, err
		}
		c.Publications = append(c.Publications, p)
		numbers = append(numbers, n)
		for _, e := range p.Entries {
			hashes = append(hashes, e.Hash)
		}
	}
	if c.Documents, err = s.Documents(ctx, hashes...); err != nil {
		return nil, err
	}
	if c.Secrets, err = s.Secrets(ctx); err != nil {
		return nil, err
	}
	if c.Audit, err = s.Audit(ctx, config.AuditQuery{Limit: 1000}); err != nil {
		return nil, err
	}
	c.Tallies, err = s.Tallies(ctx, numbers...)
	return c, err
}

// tree returns a value as decoded JSON, with numbers unchanged.
func tree(v any) (any, error) {
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	var out any
	return out, json.Unmarshal(data, &out)
}

// differences lists where got differs from want, which an earlier version read. A field that
// the earlier version did not have must be empty.
func differences(path string, want, got any) (out []string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, name := range sortedKeys(w, g) {
			switch had, is := w[name]; {
			case is:
				out = append(out, differences(path+"."+name, had, g[name])...)
			case !empty(g[name]):
				out = append(out, fmt.Sprintf("%s.%s is %v, and was not there", path, name, g[name]))
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
		return out
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %s, was %s", path, short(got), short(want))}
}

func sortedKeys(a, b map[string]any) (out []string) {
	for _, m := range []map[string]any{a, b} {
		for k := range m {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return slices.Compact(out)
}

// empty reports whether a decoded value is empty.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, f := range v {
			if !empty(f) {
				return false
			}
		}
		return true
	}
	return false
}

func short(v any) string {
	text, _ := json.Marshal(v)
	if len(text) > 300 {
		return string(text[:300]) + "…"
	}
	return string(text)
}
