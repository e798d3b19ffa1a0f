package mailbox

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
)

// A command is for the process that runs a thread: a cancel, a decision, an interrupt, or input for
// the run in progress. The store has it; the bus tells the process to look there, which it would
// otherwise do at the next commit of the run, at the next renewal of its lease, or a little later.

// commandsPart is the name of mailboxes on the bus.
const commandsPart = "threads"

// command names a thread for whose run there is something in the store.
type command struct {
	Tenant string `json:"tenant,omitempty"`
	Thread string `json:"thread"`
}

// commands reports whether a change is for a run that may be in flight.
func (t *Thread) commands() bool {
	claimed := func(d *Dispatch) bool { return d.Status == Claimed }
	if len(t.Post) > 0 { // a run without a dispatch is one within another run
		return t.Open != nil && t.Open.Status == awaken.RunRunning || slices.ContainsFunc(t.Live, claimed)
	}
	return slices.ContainsFunc(t.Put, func(d *Dispatch) bool { return claimed(d) && d.Cancel })
}

// commands are the commands that a process tells others of, and hears of.
type commands struct{ box *Mailbox }

// tell tells other processes that there is a command, unless this one runs the thread.
func (o commands) tell(tenant, thread string) {
	b := o.box
	if b.cfg.Bus == nil {
		return
	}
	b.mu.Lock()
	here := b.latest[[2]string{tenant, thread}] != nil
	b.mu.Unlock()
	if here {
		return
	}
	text, err := json.Marshal(command{tenant, thread})
	if err != nil {
		panic(err) // it has nothing but strings
	}
	b.cfg.Bus.Tell(commandsPart, string(text))
}

// heed acts on a command of another process. Without one, commands may have been lost.
func (o commands) heed(_, text string) {
	b := o.box
	if text == "" {
		for _, c := range b.claims() {
			c.tenant.Runtime.Notify(c.d.ThreadID)
		}
		b.doubts.addAll()
		return
	}
	var to command
	if json.Unmarshal([]byte(text), &to) != nil {
		return
	}
	b.mu.Lock()
	t, c := b.tenants[to.Tenant], b.latest[[2]string{to.Tenant, to.Thread}]
	b.mu.Unlock()
	if t != nil {
		t.Runtime.Notify(to.Thread)
	}
	if c != nil {
		b.doubts.add(c)
	}
}

// doubts are the claims that may have been cancelled by another process, or whose progress the store
// should know.
type doubts struct {
	news chan struct{} // cap 1: there are some

	mu     sync.Mutex
	claims []*claim
	all    bool // it may be any
}

// add adds a claim.
func (d *doubts) add(c *claim) {
	d.mu.Lock()
	d.claims = append(d.claims, c)
	d.mu.Unlock()
	poke(d.news)
}

// addAll adds all claims of this process.
func (d *doubts) addAll() {
	d.mu.Lock()
	d.all = true
	d.mu.Unlock()
	poke(d.news)
}

// take returns the claims that are not over, and whether it may be any, and forgets them.
func (d *doubts) take() (claims []*claim, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	claims, all = d.claims, d.all
	d.claims, d.all = nil, false
	return slices.DeleteFunc(claims, func(c *claim) bool {
		select {
		case <-c.over:
			return true
		default:
			return false
		}
	}), all
}
