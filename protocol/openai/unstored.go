package openai

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
)

// unstoredResource is the resource of the threads that hold a response that the client has asked not to
// store. Their ids begin with unstored.
const unstoredResource = "openai.unstored"

// isUnstored reports whether a thread holds nothing but a response that the client has asked not to store.
func isUnstored(threadID string) bool { return strings.HasPrefix(threadID, string(unstored)) }

// makeThread makes the thread of a request that needs one of its own: a branch of a conversation, or one
// that is not stored. It reports whether it did: not if the request was submitted before.
func (x *exchange) makeThread() (bool, error) {
	if x.branch == nil && !x.unstored {
		return false, nil
	}
	if again, err := x.submitted(); again || err != nil {
		return false, err
	}
	editor, ok := x.Tenant().Store.(awaken.ThreadEditor)
	if !ok {
		return false, refused("previous_response_id", "the store cannot branch a conversation, want its latest response, and store true")
	}
	x.threadID = ids.New()
	if x.unstored {
		x.threadID = string(unstored) + x.threadID
	}
	if x.branch == nil {
		th := awaken.Thread{ID: x.threadID, ResourceID: unstoredResource}
		user, err := x.Owner()
		if user != nil {
			th.UserID = *user
		}
		if err == nil {
			err = editor.CreateThread(x.Context(), &th)
		}
		return err == nil, err
	}
	if _, err := editor.Fork(x.Context(), x.branch.threadID, x.branch.seq, x.threadID, nil); err != nil || !x.unstored {
		return err == nil, err
	}
	_, err := editor.UpdateThread(x.Context(), x.threadID, func(t *awaken.Thread) error {
		t.ResourceID = unstoredResource
		return nil
	})
	if err != nil {
		x.removeThread(x.threadID)
	}
	return err == nil, err
}

// submitted reports whether a submission with the request's idempotency key exists.
func (x *exchange) submitted() (bool, error) {
	key, err := x.IdempotencyKey()
	if key == "" || err != nil {
		return false, err
	}
	_, err = x.Tenant().Store.Submitted(x.Context(), key)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// forget deletes a thread that is not stored, if its run is over. One that waits for an answer is needed,
// and so is one that a repeated request with the same idempotency key gets: [Sweep] deletes those.
func (x *exchange) forget(threadID string) {
	if !isUnstored(threadID) {
		return
	}
	if key, err := x.IdempotencyKey(); key != "" || err != nil {
		return
	}
	ctx, cancel := detached(x.Context())
	defer cancel()
	if th, err := x.Tenant().Store.Thread(ctx, threadID); err == nil && th.OpenRunID == "" {
		x.removeThread(threadID)
	}
}

// removeThread deletes a thread with its children, unless it has a run that is queued or in progress.
func (x *exchange) removeThread(threadID string) {
	ctx, cancel := detached(x.Context())
	defer cancel()
	if editor, ok := x.Tenant().Store.(awaken.ThreadEditor); ok {
		_ = editor.DeleteThread(ctx, threadID, awaken.CascadeChildren) // what stays is empty, or swept
	}
}

// detached returns a context for what is left to do when a client may be gone.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// Store is the part of a store that [Sweep] uses.
type Store interface {
	awaken.ThreadStore
	awaken.ThreadEditor
}

// pinned reports whether a run of the thread is pinned.
func pinned(th *awaken.Thread) bool {
	for name := range th.Notes {
		if strings.HasPrefix(name, "pin:") {
			return true
		}
	}
	return false
}

// Sweep deletes the threads of responses that clients have asked not to store, unless a run of theirs is pinned, if they were last active before
// a time: those that waited for an answer, or whose client was gone when they ended. It returns their number.
func Sweep(ctx context.Context, s Store, before time.Time) (n int, err error) {
	var old []string
	for th, err := range awaken.Pages(ctx, 100, func(ctx context.Context, offset, limit int) ([]*awaken.Thread, error) {
		return s.ListThreads(ctx, awaken.ThreadQuery{ResourceID: unstoredResource, Offset: offset, Limit: limit})
	}) {
		if err != nil {
			return 0, err
		}
		if isUnstored(th.ID) && th.Metadata.UpdatedAt < before.UnixMilli() && !pinned(th) {
			old = append(old, th.ID)
		}
	}
	for _, id := range old {
		switch e := s.DeleteThread(ctx, id, awaken.CascadeChildren); {
		case e == nil:
			n++
		case !errors.Is(e, awaken.ErrConflict) && !errors.Is(e, awaken.ErrNotFound): // others are in progress, or were deleted meanwhile
			err = errors.Join(err, e)
		}
	}
	return n, err
}
