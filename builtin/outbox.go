package builtin

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

type OutboxUpdate struct {
	Push []awaken.Outgoing
	Sent []string // ids
}

// Outbox holds what is committed and not yet known to be sent.
var Outbox = state.NewKey("__runtime.outbox", func(box []awaken.Outgoing, u OutboxUpdate) []awaken.Outgoing {
	box = slices.DeleteFunc(slices.Clone(box), func(o awaken.Outgoing) bool { return slices.Contains(u.Sent, o.ID) })
	return append(box, u.Push...)
}, state.Options{Scope: state.Thread, Merge: state.Commutative})

// FailedDelivery is something that could not be sent: its recipient is not there.
type FailedDelivery struct {
	awaken.Outgoing
	Error string `json:"error"`
}

// maxFailed is how many failed deliveries a thread remembers.
const maxFailed = 64

// FailedDeliveries are the latest deliveries of the thread that failed for good.
var FailedDeliveries = state.NewKey("__runtime.failed_deliveries", func(list []FailedDelivery, f FailedDelivery) []FailedDelivery {
	return append(slices.Clip(list[max(0, len(list)-maxFailed+1):]), f)
}, state.Options{Scope: state.Thread, Merge: state.Commutative})
