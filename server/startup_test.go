package server_test

import (
	"context"
	"errors"
	"testing"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/store/memory"
)

var errUnreachable = errors.New("the store is unreachable")

// unreachable is a queue whose store cannot be reached.
type unreachable struct{ mailbox.Queue }

func (unreachable) Reclaim(context.Context, int) (int, error) { return 0, errUnreachable }

func TestRun_FailsWhenStartupRecoveryIsExhausted(t *testing.T) {
	box, err := mailbox.New(mailbox.Config{Queue: unreachable{memory.NewDB()}}, runtime(t).With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Keys: access.NewKeys(memory.NewProfile()), Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Run(t.Context()); !errors.Is(err, errUnreachable) {
		t.Errorf("Run returned %v", err)
	}
}
