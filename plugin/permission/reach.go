package permission

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/egress"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/state/builtin"
)

// reach is where a call of a tainted run carries data to. It is nil for a call that rules about tainted runs are not
// about: the run is clean, or the call only reads and carries nothing out.
type reach struct {
	taint *awaken.Taint
	hosts []string // all that it reaches; nil if it may be any, or there is none
}

func newReach(taint *awaken.Taint, e awaken.Egress) *reach {
	to := &reach{taint: taint}
	if !e.None {
		to.hosts = e.Hosts
	}
	return to
}

// reachOf returns the reach of a call.
func reachOf(h *awaken.HookCall) *reach {
	taint := builtin.RunLifecycle.Get(h).Taint
	if taint == nil {
		return nil
	}
	if h.Tool.Egress.None {
		for _, c := range builtin.ToolCallStates.Get(h) {
			if c.CallID == h.Tool.ID && c.Effect == awaken.ReadOnly {
				return nil
			}
		}
	}
	return newReach(taint, h.Tool.Egress)
}

// allowed reports whether the call sends data to hosts, and to none that a list does not have.
func (to *reach) allowed(list []string) bool {
	return to != nil && len(to.hosts) > 0 && !slices.ContainsFunc(to.hosts, func(host string) bool { return !egress.Allows(list, host) })
}

// about returns the rules that are about calls of this reach.
func (to *reach) about(rules []rule) []rule {
	other := func(r rule) bool { return len(r.AllowHosts) > 0 && to.allowed(r.AllowHosts) != (r.Behavior == Allow) }
	if to == nil || !slices.ContainsFunc(rules, other) {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), other)
}

// bound returns the verdict about a call of a tool, which holds the call to the hosts that it was judged by: its own, and the hosts
// to which the rules would let it go as well. Calls that no rule about tainted runs could stop are not bound.
func (to *reach) bound(v awaken.Verdict, tool toolname.Tool, rules []rule) awaken.Verdict {
	if to == nil || len(to.hosts) == 0 {
		return v
	}
	var all, limits []rule // rules about the tool in tainted runs; limits are the ones that ask or deny
	for _, r := range having(Tainted, rules) {
		if !r.concerns(tool) {
			continue
		}
		if all = append(all, r); r.Behavior != Allow {
			limits = append(limits, r)
		}
	}
	if len(limits) == 0 {
		return v
	}
	hosts := slices.Clone(to.hosts)
	for _, r := range all {
		for _, host := range r.AllowHosts {
			stops := func(by rule) bool {
				return (by.Behavior == Deny || r.Behavior != Allow) && !slices.Contains(by.AllowHosts, host) && !egress.Allows(by.AllowHosts, host)
			}
			if !slices.ContainsFunc(limits, stops) {
				hosts = append(hosts, host)
			}
		}
	}
	return v.Within(hosts)
}

// why says why the call is asked about.
func (to *reach) why() string {
	t := to.taint
	text := fmt.Sprintf("the run has read untrusted content, the result of tool '%s' (call %s)", t.Tool, t.CallID)
	if t.ReadBy != "" {
		text = fmt.Sprintf("the run has read, with call %s, what a run kept after it had read untrusted content: "+
			"the result of tool '%s' (call %s)",
			t.ReadBy, t.Tool, t.CallID)
	}
	return text
}
