// Package nats is a [bus.Bus] over NATS, for large fleets.
//
//	b, err := nats.Open("nats://nats.example", "awaken.production", nil)
//	…
//	x := bus.NewExchange(b)
//
// It uses core subjects only: nothing is stored, and JetStream is not needed.
package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	neturl "net/url"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/awaken-go/awaken/bus"
)

// Options configures a Bus. Zero fields have their defaults.
type Options struct {
	Credentials string // file with a user's JWT and seed, as nsc writes it; "" means those of the URL, or none
	CAFile      string // PEM file with the authorities that may sign the server's certificate; "" means the system's
	CertFile    string // PEM file with this process's certificate; "" means none
	KeyFile     string // PEM file with the key of the certificate
	// Ping is how often the connection is checked; the second check without an answer ends it. The
	// default is 20 seconds.
	Ping   time.Duration
	Logger *slog.Logger // reports lost connections; nil discards
}

// Bus is a connection to NATS servers. It is safe for concurrent use.
type Bus struct {
	conn    *nats.Conn
	subject string
	begins  chan struct{} // cap 1: messages may have been lost
}

var _ bus.Bus = (*Bus)(nil)

// A process that does not take its messages loses those beyond these bounds.
const (
	maxPending      = 8192
	maxPendingBytes = 16 << 20
)

// subjects are the names that are safe as the beginning of a subject.
var subjects = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// Open connects to the servers of a URL, or of several, separated by commas. It does not wait for
// a server that is away. Subject begins the subjects of all messages: processes with the same one
// are a fleet, and must share a store.
func Open(url, subject string, opts *Options) (*Bus, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if !subjects.MatchString(subject) {
		return nil, fmt.Errorf("nats: subject is %q, want words of letters, digits, _ and -, separated by dots", subject)
	}
	if o.Credentials != "" { // nats.Connect would try for ever
		f, err := os.Open(o.Credentials)
		if err != nil {
			return nil, fmt.Errorf("nats: Credentials: %w", err)
		}
		_ = f.Close()
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, fmt.Errorf("nats: CertFile is %q and KeyFile is %q, want both or none", o.CertFile, o.KeyFile)
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	b := &Bus{subject: subject, begins: make(chan struct{}, 1)}
	options := []nats.Option{
		nats.Name("awaken"), nats.PingInterval(cmp.Or(max(0, o.Ping), 20*time.Second)), nats.MaxPingsOutstanding(2), nats.Timeout(2 * time.Second), nats.FlusherTimeout(2 * time.Second), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.ReconnectBufSize(-1), // what cannot be sent is lost, and not kept
		nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(func(*nats.Conn) { b.begin() }),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("reconnected to NATS"); b.begin() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("lost the connection to NATS; clients see the runs of other processes with a delay", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) {
				b.begin()
			}
			log.Warn("NATS reports an error", "error", err)
		}),
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	if o.CAFile != "" {
		options = append(options, nats.RootCAs(o.CAFile))
	}
	if o.CertFile != "" || o.KeyFile != "" {
		options = append(options, nats.ClientCert(o.CertFile, o.KeyFile))
	}
	conn, err := nats.Connect(url, options...)
	if e, ok := errors.AsType[*neturl.Error](err); ok {
		err = e.Err // the URL may have a password
	}
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	b.conn = conn
	return b, nil
}

// Close closes the connection.
func (b *Bus) Close() { b.conn.Close() }

// begin makes Subscribe say that messages may have been lost.
func (b *Bus) begin() {
	select {
	case b.begins <- struct{}{}:
	default:
	}
}

// Limit returns the server's limit, or one that every server should have before it is known.
func (b *Bus) Limit() int {
	if n := b.conn.MaxPayload(); n > 0 {
		return int(n)
	}
	return 64 << 10
}

// to returns the subject of a process, or of all.
func (b *Bus) to(process string) string {
	if process == "" {
		return b.subject + ".all"
	}
	return b.subject + ".to." + process
}

// Publish sends messages. It fails while there is no connection.
func (b *Bus) Publish(_ context.Context, messages ...bus.Message) error {
	for _, m := range messages {
		if err := b.conn.Publish(b.to(m.To), []byte(m.Text)); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
	}
	return nil
}

// Subscribe receives the messages of a process. A Bus has one subscriber.
func (b *Bus) Subscribe(ctx context.Context, self string, fn func(text string)) error {
	var mu sync.Mutex // fn is called once at a time
	call := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			fn(text)
		}
	}
	for _, process := range []string{self, ""} {
		s, err := b.conn.Subscribe(b.to(process), func(m *nats.Msg) { call(string(m.Data)) })
		if err != nil {
			return fmt.Errorf("nats: %w", err)
		}
		defer func() { _ = s.Unsubscribe() }()
		if err := s.SetPendingLimits(maxPending, maxPendingBytes); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
	}
	b.begin()
	for {
		select {
		case <-ctx.Done():
			mu.Lock() // fn is not called after Subscribe has returned
			defer mu.Unlock()
			return context.Cause(ctx)
		case <-b.begins:
		}
		flush, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := b.conn.FlushWithContext(flush) // the server has the subscriptions
		cancel()
		if err == nil {
			call("")
		}
	}
}
