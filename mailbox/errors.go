package mailbox

import (
	"fmt"

	"github.com/awaken-go/awaken"
)

// ErrDuplicate means that an idempotency key, dedupe key or dispatch id is taken.
var ErrDuplicate = fmt.Errorf("%w: duplicate", awaken.ErrConflict)

// ErrNothing means that there is nothing to cancel, interrupt or decide.
var ErrNothing = fmt.Errorf("%w: nothing runs, waits or is queued", awaken.ErrNotFound)
