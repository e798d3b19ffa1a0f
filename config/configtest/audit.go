package configtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/config"
)

// ids returns the last four characters of the ids of the events that a query selects.
func (k *kit) ids(q config.AuditQuery) (out []string) {
	k.Helper()
	for _, e := range must(k.Store.Audit(k.Context(), q)) {
		out = append(out, strings.TrimPrefix(e.ID, "event-"))
	}
	return out
}

var auditCases = []testCase{
	{"KeepsEvents", func(k *kit) {
		e := &config.AuditEvent{ID: "日本 %_'", Time: time.Date(2026, 1, 2, 3, 4, 5, 678912345, time.FixedZone("", 3600)), Actor: "0123456789abcdef/me", Action: "update",
			Resource: "agents/a", Before: json.RawMessage(`{"a":1}`), After: json.RawMessage(`null`), IP: "::1", RequestID: "r", RestoredFrom: "x", Version: 1 << 40, Error: "<no>"}
		k.apply(&config.Change{Audit: []*config.AuditEvent{e}})
		want := *e
		want.Time = e.Time.Truncate(time.Microsecond)
		for _, s := range k.stores() {
			equal(k, "event", []*config.AuditEvent{&want}, must(s.Audit(k.Context(), config.AuditQuery{})))
		}
		plain := &config.AuditEvent{ID: "plain", Time: time.Unix(0, 0)}
		k.apply(&config.Change{Audit: []*config.AuditEvent{plain}})
		equal(k, "plain event", []*config.AuditEvent{plain}, must(k.Store.Audit(k.Context(), config.AuditQuery{ID: "plain"})))
	}},
	{"Filters", func(k *kit) {
		day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
		k.apply(&config.Change{Audit: []*config.AuditEvent{
			k.event(day(1), "create", "agents/a", "alice"),               // 1
			k.event(day(2), "update", "agents/a", "alice/cli"),           // 2
			k.event(day(3), "update", "agents/a/b", "bob"),               // 3
			k.event(day(4), "delete", "agents/ab", "al%ce"),              // 4
			k.event(day(5), "update", "agents-more/a", "al_ce"),          // 5
			k.event(day(6), "update", "agents", `al\ce`),                 // 6
			k.event(day(7), "create", "models/100%", "Alice"),            // 7
			k.event(day(8), "create", "models/100_", ""),                 // 8
			k.event(day(9), "create", "models/100/x", "日本語"),             // 9
			k.event(day(10), "restart", "mcp-servers/é", "日本"),           // 10
			k.event(day(11), "restart", "", "\U0010ffff\U0010ffff"),      // 11
			k.event(day(12), "restart", "agents0", "\ud7ff, then a gap"), // 12
		}})
		for _, tt := range []struct {
			what string
			q    config.AuditQuery
			want string
		}{
			{"all", config.AuditQuery{}, "12 11 10 9 8 7 6 5 4 3 2 1"},
			{"resource and below", config.AuditQuery{Resource: "agents/a"}, "3 2 1"},
			{"a namespace", config.AuditQuery{Resource: "agents"}, "6 4 3 2 1"},
			{"a resource with a %", config.AuditQuery{Resource: "models/100%"}, "7"},
			{"a resource with a _", config.AuditQuery{Resource: "models/100_"}, "8"},
			{"part of a resource", config.AuditQuery{Resource: "models/10"}, ""},
			{"a resource that is not there and one below", config.AuditQuery{Resource: "models/100"}, "9"},
			{"an odd resource", config.AuditQuery{Resource: "mcp-servers/é"}, "10"},
			{"actor", config.AuditQuery{Actor: "alice"}, "2 1"},
			{"the beginning of an actor", config.AuditQuery{Actor: "al"}, "6 5 4 2 1"},
			{"an actor with a %", config.AuditQuery{Actor: "al%"}, "4"},
			{"an actor with a _", config.AuditQuery{Actor: "al_"}, "5"},
			{"an actor with a \\", config.AuditQuery{Actor: `al\`}, "6"},
			{"an odd actor", config.AuditQuery{Actor: "日本"}, "10 9"},
			{"the last actor there can be", config.AuditQuery{Actor: "\U0010ffff"}, "11"},
			{"an actor before a gap", config.AuditQuery{Actor: "\ud7ff"}, "12"},
			{"action", config.AuditQuery{Action: "update"}, "6 5 3 2"},
			{"part of an action", config.AuditQuery{Action: "upd"}, ""},
			{"since", config.AuditQuery{Since: day(11)}, "12 11"},
			{"until", config.AuditQuery{Until: day(3)}, "2 1"},
			{"between", config.AuditQuery{Since: day(2), Until: day(4)}, "3 2"},
			{"since a nanosecond later", config.AuditQuery{Since: day(11).Add(1)}, "12"},
			{"until a nanosecond later", config.AuditQuery{Until: day(3).Add(1)}, "3 2 1"},
			{"a time zone", config.AuditQuery{Since: day(12).In(time.FixedZone("", -7200))}, "12"},
			{"id", config.AuditQuery{ID: "event-0007"}, "7"},
			{"an id that is not there", config.AuditQuery{ID: "event-0%"}, ""},
			{"before", config.AuditQuery{Before: "event-0003"}, "2 1"},
			{"before the first", config.AuditQuery{Before: "event-0001"}, ""},
			{"before one that is not there", config.AuditQuery{Before: "event-0099"}, ""},
			{"everything", config.AuditQuery{Resource: "agents", Actor: "al", Action: "update", Since: day(1), Until: day(6), Before: "event-0012", Limit: 5}, "2"},
			{"limit", config.AuditQuery{Limit: 2}, "12 11"},
			{"limit and filter", config.AuditQuery{Limit: 2, Action: "update"}, "6 5"},
			{"limit and before", config.AuditQuery{Limit: 1, Action: "update", Before: "event-0005"}, "3"},
		} {
			var want []string
			for _, id := range strings.Fields(tt.want) {
				want = append(want, fmt.Sprintf("%04s", id))
			}
			equal(k, tt.what, want, k.ids(tt.q))
		}
	}},
	{"PagesWithACursor", func(k *kit) {
		var all []string
		for i := range 40 {
			var c config.Change
			for range 30 {
				e := k.event(time.UnixMilli(int64(i)), []string{"create", "update"}[i%2], "agents/a", "me")
				all, c.Audit = append(all, strings.TrimPrefix(e.ID, "event-")), append(c.Audit, e)
			}
			k.apply(&c)
		}
		slices.Reverse(all)
		for limit, first := range map[int]int{0: 100, -5: 100, 7: 7, 1000: 1000, 5000: 1000} {
			var got []string
			for q := (config.AuditQuery{Limit: limit}); ; q.Before = "event-" + got[len(got)-1] {
				page := k.ids(q)
				if q.Before == "" && len(page) != first {
					k.Errorf("limit %d: the first page has %d events, want %d", limit, len(page), first)
				}
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
			}
			equal(k, fmt.Sprintf("in pages of %d", limit), all, got)
		}
	}},
	{"IsInTheOrderThingsWereDoneAlsoWhenClocksStepBack", func(k *kit) {
		now := time.Now()
		for _, at := range []time.Duration{0, time.Hour, -time.Hour, -time.Hour, 0} {
			k.apply(&config.Change{Audit: []*config.AuditEvent{k.event(now.Add(at), "update", "agents/a", "me")}})
			k.Advance(at)
		}
		equal(k, "events", []string{"0005", "0004", "0003", "0002", "0001"}, k.ids(config.AuditQuery{}))
		equal(k, "before the third", []string{"0002", "0001"}, k.ids(config.AuditQuery{Before: "event-0003"}))
		equal(k, "since now", []string{"0005", "0002", "0001"}, k.ids(config.AuditQuery{Since: now.Truncate(time.Microsecond)}))
	}},
}
