package postgres_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
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

// A connection whose other end has gone without a word is noticed by its silence.

func TestBus_NoticesThatNothingArrives(t *testing.T) {
	url := server.Database()
	at := strings.Index(url, "host=") + len("host=")
	p := bustest.NewProxy(t, "unix", url[at:]+"/.s.PGSQL.5432")
	through := url[:at] + filepath.Dir(p.Address())
	bustest.NoticesSilence(t, p,
		func(t *testing.T) bus.Bus {
			return openAt(t, through, &postgres.Options{Ping: 500 * time.Millisecond}).Bus()
		},
		func(t *testing.T) bus.Bus { return openAt(t, url, nil).Bus() })
}

// The queue and the configuration listen in the same way.

func TestListen_NoticesThatNothingArrives(t *testing.T) {
	url := server.Database()
	at := strings.Index(url, "host=") + len("host=")
	p := bustest.NewProxy(t, "unix", url[at:]+"/.s.PGSQL.5432")
	db := openAt(t, url[:at]+filepath.Dir(p.Address()), &postgres.Options{Ping: 500 * time.Millisecond})
	began := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = db.Listen(ctx, func(mailbox.Signal) { began <- struct{}{} }) })
	defer func() { cancel(); done.Wait() }()
	<-began
	p.Silence(true)
	p.Silence(false)
	select {
	case <-began:
	case <-time.After(30 * time.Second):
		t.Error("the silence was not noticed")
	}
}

func TestPlace_ACopyHasAnother(t *testing.T) {
	place := func(url string) string {
		p, err := openAt(t, url, nil).Place(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	url := server.Database()
	if a, again, b := place(url), place(url), place(server.Database()); a != again || a == b || len(a) < 10 {
		t.Errorf("a database is at %q and %q, another at %q", a, again, b)
	}
}
