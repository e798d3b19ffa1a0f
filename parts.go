package awaken

import (
	"encoding/json"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// ledger keeps the calls of the step, and those that messages are held by, as the store
// has them or will have after the next commit.
type ledger struct {
	*activation
	out *recorder

	calls   []*call
	held    []*call // whose messages guards have put to people
	changed []*CallState

	batch   state.Batch // for derive
	derived int         // calls that the derived state keys show
	stale   bool        // the derived state keys are out of date
}

// conversation is what the model is shown, and what the next commit adds to the log.
type conversation struct {
	*activation

	msgs      llm.Messages
	added     []*llm.Message
	rewritten bool    // clients have to be shown all of it again
	window    *window // nil if the agent has no context policy
}

// toolbox is what the model is offered: the agent's tools and those that the client runs.
type toolbox struct {
	*activation
	output *finalOutput

	frontend map[string]*toolEntry
	offered  []llm.Tool
}

// finalOutput holds the answer of a run to a schema.
type finalOutput struct {
	*activation
	ledger *ledger
	conv   *conversation

	plan       *outputPlan     // nil if there is no schema
	structured json.RawMessage // the answer that fits
}

// hooks makes what hooks are given, and does the effects that they ask for.
type hooks struct {
	*activation
	ledger *ledger
	conv   *conversation
	tools  *toolbox

	effects []scheduledEffect // to be done after the next commit
}

// sender sends what a run has to say beyond its own thread, after the commit that holds it.
type sender struct {
	*activation

	unsent int // what the outbox holds
}

// journal is what the next commit holds, and makes commits.
type journal struct {
	*activation
	out    *recorder
	ledger *ledger
	conv   *conversation
	hooks  *hooks
	sender *sender

	count     int            // messages in the log, once what was handed over is committed
	found     int            // messages in the log when the run was taken up
	unsaved   []state.Change // of commits that failed: the state takes them to be saved
	read      []string       // items of the inbox
	unread    bool           // after the last commit, the inbox holds something
	commits   uint64         // how many were made; belongs to the goroutine that makes one
	pipelined bool           // steps that only read are committed beside the run
	inFlight  flight
	scratch   *scratch
}

func (j *journal) connect(r *run) {
	j.activation, j.out, j.ledger, j.conv, j.hooks, j.sender = &r.activation, &r.out, &r.ledger, &r.conv, &r.hooks, &r.sender
}

// phases asks hooks and gates, and runs scheduled actions.
type phases struct {
	*activation
	hooks  *hooks
	sender *sender
}

// guards puts what passes the borders of a run to the agent's guards, and keeps the
// messages that wait for a person.
type guards struct {
	*activation
	out     *recorder
	ledger  *ledger
	conv    *conversation
	hooks   *hooks
	journal *journal

	lastStep, lastCount int          // how many messages were held in the last step that had any
	passed              *HeldMessage // an answer that may be shown now
}

// children knows the runs that calls have started.
type children struct {
	*activation
	ledger *ledger
	conv   *conversation
	sender *sender
	phases *phases
	inbox  *inbox

	idleReport bool // a child reported what does not matter
}

// outcomes takes in what calls come to.
type outcomes struct {
	*activation
	out      *recorder
	ledger   *ledger
	conv     *conversation
	phases   *phases
	guards   *guards
	children *children

	running  int         // calls whose outcome is to come
	waiting  int         // results that no commit holds yet
	deadline *time.Timer // for the next commit, while results wait
	written  state.Batch // what calls that ran at the same time have written
}

// decider applies decisions to calls.
type decider struct {
	*activation
	out      *recorder
	ledger   *ledger
	conv     *conversation
	guards   *guards
	children *children
	outcomes *outcomes

	rejected []string // decisions of the request that were refused
}

// wallet is what a run may spend.
type wallet struct {
	*activation

	spending  *spending   // nil if nothing limits what the run spends
	unsettled *settlement // what the last call has cost, as long as that could not be stored
}

// compactor has long conversations summarised.
type compactor struct {
	*activation
	out     *recorder
	conv    *conversation
	journal *journal
	wallet  *wallet
}

// inbox takes in what others have posted to the thread.
type inbox struct {
	*activation
	ledger    *ledger
	journal   *journal
	guards    *guards
	decider   *decider
	children  *children
	compactor *compactor

	told     int  // messages that others have sent
	withdraw bool // a client wrote instead of deciding: what waits is to be withdrawn
}

// inference asks the model.
type inference struct {
	*activation
	out       *recorder
	ledger    *ledger
	conv      *conversation
	tools     *toolbox
	output    *finalOutput
	journal   *journal
	hooks     *hooks
	phases    *phases
	wallet    *wallet
	compactor *compactor

	request llm.Request
	stream  stream
	reply   llm.Reply
}

func (inf *inference) connect(r *run) {
	inf.activation, inf.out, inf.ledger, inf.conv, inf.tools, inf.output = &r.activation, &r.out, &r.ledger, &r.conv, &r.tools, &r.output
	inf.journal, inf.hooks, inf.phases, inf.wallet, inf.compactor = &r.journal, &r.hooks, &r.phases, &r.wallet, &r.compactor
}

// stops asks the stop policies.
type stops struct{ *activation }

func (r *run) stops() stops { return stops{&r.activation} }

// opening finds or makes the run that a request is about, and sets it up from what its
// thread holds. The request is a parameter of its methods and not a field: a field would
// move it to the heap.
type opening struct {
	*run
	cp *Checkpoint
}

// pinned is set when the version that a run is pinned to is not available.
type pinned struct {
	err    error // why
	undone error // the same, if the request asked for more than to continue
	quiet  bool  // nothing is said about it
}
