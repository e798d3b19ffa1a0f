package configtest

import (
	"cmp"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

// pins returns the pins by version and agent.
func (k *kit) pins() []config.Pin {
	k.Helper()
	list := must(k.Store.Pins(k.Context()))
	slices.SortFunc(list, func(a, b config.Pin) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.AgentID, b.AgentID))
	})
	return slices.Clip(list)
}

var pinCases = []testCase{
	{"CountsUnfinishedRunsOfAllTenants", func(k *kit) {
		equal(k, "pins of nothing", 0, len(k.pins()))
		k.versions(9)
		one, other, code := k.pin("", "3"), k.pin("another tenant 日本", "3"), k.pin("", "registry of the code")
		last := k.pin("", "7")
		for _, move := range []func(awaken.RunStatus){one, other, code, last} {
			move(awaken.RunRunning)
		}
		equal(k, "pins", []config.Pin{{Version: 3, AgentID: "agent", Runs: 2}, {Version: 7, AgentID: "agent", Runs: 1}}, k.pins())
		other(awaken.RunWaiting)
		one(awaken.RunDone)
		equal(k, "pins when one is done", []config.Pin{{Version: 3, AgentID: "agent", Runs: 1}, {Version: 7, AgentID: "agent", Runs: 1}}, k.pins())
		other(awaken.RunRunning)
		other(awaken.RunDone)
		last(awaken.RunDone)
		equal(k, "pins in the end", 0, len(k.pins()))
	}},
	{"AreWhatTheStoreIsTold", func(k *kit) {
		if k.Pin == nil {
			k.Skip("the store knows the runs")
		}
		k.Pin(3, true)
		if got := k.pins(); len(got) != 1 || got[0].Version != 3 || got[0].Runs != 1 {
			k.Errorf("pins are %v, want one of version 3", got)
		}
		k.Pin(3, false)
		equal(k, "pins", 0, len(k.pins()))
	}},
}
