package builtin

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// OutboxUpdate changes the [Outbox]. The engine uses it.
type OutboxUpdate struct {
	Push []awaken.Outgoing
	Sent []string // ids of what was sent
}

// Outbox holds the committed requests of a thread that are not known to be sent yet. Only the
// runtime writes it; use [awaken.Send] to add to it.
var Outbox = state.NewKey("__runtime.outbox", func(box []awaken.Outgoing, u OutboxUpdate) []awaken.Outgoing {
	box = slices.DeleteFunc(slices.Clone(box), func(o awaken.Outgoing) bool { return slices.Contains(u.Sent, o.ID) })
	return append(box, u.Push...)
}, state.Options{Scope: state.Thread, Merge: state.Commutative})

// FailedDelivery is a request that could not be delivered, because its recipient does not
// exist.
type FailedDelivery struct {
	awaken.Outgoing
	Error   string `json:"error"`
	Foreign bool   `json:"foreign,omitempty"` // the thread belongs to another user
}

// maxFailed is the number of failed deliveries that a thread keeps.
const maxFailed = 64

// FailedDeliveries holds the latest deliveries of the thread that failed permanently. Only the
// runtime writes it.
var FailedDeliveries = state.NewKey("__runtime.failed_deliveries", func(list []FailedDelivery, f FailedDelivery) []FailedDelivery {
	return append(slices.Clip(list[max(0, len(list)-maxFailed+1):]), f)
}, state.Options{Scope: state.Thread, Merge: state.Commutative})
