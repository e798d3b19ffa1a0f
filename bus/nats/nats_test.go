package nats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/bus/nats"
	"github.com/awaken-go/awaken/internal/testenv"
)

// start starts a server with flags of nats-server. Port -1 is any.
func start(t *testing.T, port string, flags ...string) *testenv.Program {
	t.Helper()
	return testenv.Run(t, "nats", append([]string{"-p", port}, flags...)...)
}

// stop ends a server, and returns the port that it had.
func stop(t *testing.T, s *testenv.Program) (port string) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	return s.Address[strings.LastIndexByte(s.Address, ':')+1:]
}

func open(t *testing.T, url, subject string, opts *nats.Options) *nats.Bus {
	t.Helper()
	b, err := nats.Open(url, subject, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestBus(t *testing.T) {
	url := "nats://" + start(t, "-1").Address
	bustest.Test(t, func(t *testing.T) bus.Bus { return open(t, url, "awaken.test", nil) })
}

func TestBus_ReconnectsAfterTheServerRestarted(t *testing.T) {
	s := start(t, "-1")
	bustest.Reconnects(t, func(t *testing.T) bus.Bus { return open(t, "nats://"+s.Address, "awaken.test", nil) }, func() { start(t, stop(t, s)) })
}

func TestBus_ConnectsToAServerThatStartsLater(t *testing.T) {
	s := start(t, "-1")
	port := stop(t, s)
	b := open(t, "nats://"+s.Address, "awaken.test", nil)
	if err := b.Publish(t.Context(), bus.Message{To: "p", Text: "lost"}); err == nil {
		t.Error("a message was published without a server")
	}
	start(t, port)
	in := bustest.Listen(t, b, "p")
	if err := b.Publish(t.Context(), bus.Message{To: "p", Text: "found"}); err != nil {
		t.Fatal(err)
	}
	in.AwaitText("found")
	if got := in.Texts(); len(got) != 1 {
		t.Errorf("the process got %q, want only what was sent while it was connected", got)
	}
}

// A connection whose other end has gone without a word is noticed by its silence.

func TestBus_NoticesThatNothingArrives(t *testing.T) {
	s := start(t, "-1")
	p := bustest.NewProxy(t, "tcp", s.Address)
	bustest.NoticesSilence(t, p,
		func(t *testing.T) bus.Bus {
			return open(t, "nats://"+p.Address(), "awaken.test", &nats.Options{Ping: 300 * time.Millisecond})
		},
		func(t *testing.T) bus.Bus { return open(t, "nats://"+s.Address, "awaken.test", nil) })
}

func TestBus_ReachesNoOtherSubject(t *testing.T) {
	url := "nats://" + start(t, "-1").Address
	a, b := open(t, url, "awaken.a", nil), open(t, url, "awaken.b", nil)
	mine, other := bustest.Listen(t, a, "p"), bustest.Listen(t, b, "p")
	for _, to := range []string{"p", ""} {
		if err := a.Publish(t.Context(), bus.Message{To: to, Text: "to " + to}); err != nil {
			t.Fatal(err)
		}
		mine.AwaitText("to " + to)
	}
	if err := b.Publish(t.Context(), bus.Message{To: "p", Text: "last"}); err != nil {
		t.Fatal(err)
	}
	other.AwaitText("last")
	if got := other.Texts(); len(got) != 1 {
		t.Errorf("another fleet got %q", got)
	}
}

func TestOpen_UsesThePasswordAndRefusesWhatItCannotUse(t *testing.T) {
	s := start(t, "-1", "--user", "u", "--pass", "p")
	b := open(t, "nats://u:p@"+s.Address, "awaken", nil)
	in := bustest.Listen(t, b, "p")
	if err := b.Publish(t.Context(), bus.Message{To: "p", Text: "with a password"}); err != nil {
		t.Fatal(err)
	}
	in.AwaitText("with a password")
	for _, test := range []struct {
		name, subject, want string
		opts                nats.Options
	}{
		{"a wildcard", "awaken.>", `subject is "awaken.>"`, nats.Options{}},
		{"no subject", "", `subject is ""`, nats.Options{}},
		{"a missing authority", "awaken", "no such file", nats.Options{CAFile: filepath.Join(t.TempDir(), "ca.pem")}},
		{"a missing certificate", "awaken", "no such file", nats.Options{CertFile: filepath.Join(t.TempDir(), "c.pem"), KeyFile: os.DevNull}},
		{"a certificate without its key", "awaken", `KeyFile is ""`, nats.Options{CertFile: os.DevNull}},
		{"a key without its certificate", "awaken", `CertFile is ""`, nats.Options{KeyFile: os.DevNull}},
	} {
		b, err := nats.Open("nats://"+s.Address, test.subject, &test.opts)
		if err == nil {
			b.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", test.name, err, test.want)
		}
	}
}

func TestOpen_RefusesMissingCredentialsEvenIfTheServerIsAway(t *testing.T) {
	b, err := nats.Open("nats://127.0.0.1:1", "awaken", &nats.Options{Credentials: filepath.Join(t.TempDir(), "user.creds")})
	if err == nil {
		b.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("the error is %v", err)
	}
}
