package server

import (
	"errors"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/trace/timeline"
)

// ThreadStore has the methods that the routes of threads and runs call, beyond the mailbox's.
type ThreadStore interface {
	mailbox.Handle
	awaken.ThreadEditor
	timeline.Log
}

// ThreadsOf returns a tenant's store. New has verified that it is a ThreadStore.
func ThreadsOf(t *mailbox.Tenant) ThreadStore { return t.Store.(ThreadStore) }

// Thread returns the thread that the path names.
func (req *Request) Thread() (*awaken.Thread, error) {
	t, err := req.tenant.Store.Thread(req.ctx, req.Path("thread_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, protocol.NotFound("thread", req.Path("thread_id"))
	}
	return t, err
}

// Run returns the run that the path names.
func (req *Request) Run() (*awaken.Run, error) {
	r, err := req.tenant.Store.LoadRun(req.ctx, req.Path("run_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, protocol.NotFound("run", req.Path("run_id"))
	}
	return r, err
}

// ProfileOf returns the profile of the tenant of a request.
func ProfileOf(req *Request) (profile.Store, error) {
	if values := RuntimeOf(req.tenant).Profile(); values != nil {
		return values, nil
	}
	return nil, Unavailable("this server has no profile")
}

// VersionOf parses the number of a version.
func VersionOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, protocol.NotFound("version", text)
	}
	return n, nil
}
