package postgres_test

import (
	"fmt"
	"testing"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestBus(t *testing.T) {
	opts := &postgres.Options{Prefix: fmt.Sprintf("a_prefix_of_thirty_bytes_%05d", sharedTest.Add(1))}
	bustest.Test(t, func(t *testing.T) bus.Bus { return openAt(t, shared(), opts).Bus() })
}

func TestBus_ReachesNoOtherPrefix(t *testing.T) {
	a, b := open(t), open(t)
	mine, other := bustest.Listen(t, a.Bus(), "p"), bustest.Listen(t, b.Bus(), "p")
	for _, to := range []string{"p", ""} {
		if err := a.Bus().Publish(t.Context(), bus.Message{To: to, Text: "to " + to}); err != nil {
			t.Fatal(err)
		}
		mine.AwaitText("to " + to)
	}
	if err := b.Bus().Publish(t.Context(), bus.Message{To: "p", Text: "last"}); err != nil {
		t.Fatal(err)
	}
	other.AwaitText("last")
	if got := other.Texts(); len(got) != 1 {
		t.Errorf("tables with another prefix got %q", got)
	}
}

// Restarting the server would end the databases of other tests, so this one has its own.

func TestBus_ReconnectsAfterTheServerRestarted(t *testing.T) {
	p, err := testenv.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	url := p.Database()
	bustest.Reconnects(t, func(t *testing.T) bus.Bus { return openAt(t, url, nil).Bus() }, func() {
		if err := p.Restart(); err != nil {
			t.Fatal(err)
		}
	})
}
