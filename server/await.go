package server

import (
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// Await returns a run when it has ended or waits.
func (s *Streams) Await(req *Request, r *mailbox.Receipt) (*awaken.Run, error) {
	ctx, cancel := s.WhileServing(req)
	defer cancel()
	limit, record := time.Now().Add(s.wait), newPoll()
	for e, err := range req.tenant.Log.Tail(ctx, r.ThreadID, r.After, eventlog.Follow{RunID: r.RunID, Pause: pollFirst, AtEnd: r.New}) {
		if err = Revoked(ctx, err); err != nil {
			return nil, err
		}
		// A run can end before it starts, and one that waited can be running again by now.
		if _, over := e.Event.(*awaken.RunFinish); over || e.Event == nil && record.due() {
			run, err := req.tenant.Store.LoadRun(ctx, r.RunID)
			for over && fault.OutageOf(err) != nil && ctx.Err() == nil && time.Now().Before(limit) {
				select {
				case <-ctx.Done():
				case <-time.After(storePause):
				}
				run, err = req.tenant.Store.LoadRun(ctx, r.RunID)
			}
			if err != nil && (over || fault.OutageOf(err) == nil) {
				return nil, Revoked(ctx, err)
			}
			if err == nil && (run.Status == awaken.RunDone || over && run.Status == awaken.RunWaiting) {
				return run, nil
			}
		}
		if time.Now().After(limit) {
			return nil, &protocol.Failure{Status: 504, Code: "timeout", Message: "the run is still in progress; see GET /v1/runs/" + r.RunID, RetryAfter: time.Second}
		}
	}
	return nil, Revoked(ctx, &protocol.Failure{Status: 503, Code: "stopping", Message: "the server is stopping; the run continues, see GET /v1/runs/" + r.RunID, RetryAfter: time.Second})
}
