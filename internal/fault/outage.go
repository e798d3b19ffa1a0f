package fault

import "errors"

// Outage is the error of a store that cannot do what it is asked now, but may later: it is not
// reachable, out of connections, out of space or read-only. It says nothing about the request, so
// no run ends because of it and no attempt is lost.
type Outage struct {
	Reason string // for clients and operators: "the store …", with nothing of Err
	Err    error
}

func (o *Outage) Error() string { return o.Reason + ": " + o.Err.Error() }

func (o *Outage) Unwrap() error { return o.Err }

// OutageOf returns the outage that err is about, or nil.
func OutageOf(err error) *Outage {
	o, _ := errors.AsType[*Outage](err)
	return o
}
