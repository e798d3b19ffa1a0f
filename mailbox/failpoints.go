package mailbox

import "github.com/awaken-go/awaken/internal/failpoint"

// A run that begins where it was accepted comes to these points in this order, with those of the engine
// between claim.begun and claim.over.
var (
	atAccepting = failpoint.New("submit.before")   // a dispatch is about to be stored, perhaps claimed for this process
	atAccepted  = failpoint.New("submit.accepted") // it is stored, and not begun
	atChanged   = failpoint.New("submit.changed")  // input for a thread that is not idle was accepted
	atBegun     = failpoint.New("claim.begun")     // a claimed dispatch is in flight; its thread is not acquired
	atSettling  = failpoint.New("claim.settling")  // before the commit that ends or parks the run and settles the dispatch
	atSettled   = failpoint.New("claim.settled")   // after it; nothing of it is published
	atOver      = failpoint.New("claim.over")      // everything is published
)
