package mailbox

import (
	"fmt"

	"github.com/awaken-go/awaken"
)

// ErrDuplicate reports that an idempotency key, a dedupe key or a dispatch id is already in use.
var ErrDuplicate = fmt.Errorf("%w: duplicate", awaken.ErrConflict)

// ErrExists reports that the run of a submission exists and cannot take the input: it has ended, is about to end, or is not the
// thread's open run.
var ErrExists = fmt.Errorf("%w: the run already exists", awaken.ErrConflict)

// errClosed reports that a question was closed after a decision on it was checked.
var errClosed = fmt.Errorf("%w: the run no longer asks for it", awaken.ErrDecided)

// ErrIdle reports that there is nothing to cancel, interrupt or decide.
var ErrIdle = fmt.Errorf("%w: no run is running, waiting or queued", awaken.ErrNotFound)
