package telemetry_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/otlptest"
	"github.com/awaken-go/awaken/server/telemetry"
)

// lines is a log, which what sends may write after the test has ended it.
type lines struct {
	mu  sync.Mutex
	out strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// sending returns what sends spans by a protocol to an address, and how to make some.
func sending(t *testing.T, protocol, to string, log *slog.Logger) (tel *telemetry.Telemetry, spans func(n int)) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to)
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	tel, err := telemetry.Open(t.Context(), "1", log)
	if err != nil {
		t.Fatal(err)
	}
	return tel, func(n int) {
		for range n {
			_, span := tel.Tracer.Tracer("t").Start(t.Context(), "x")
			span.End()
		}
	}
}

// A collector may take only some spans of a request, be busy for a while, or call a request broken. Not parallel: the environment belongs to the process.
func TestCollector_RefusesIsBusyAndBroken(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			c := otlptest.Start(t)
			to := c.URL
			if protocol == "grpc" {
				to = c.Target
			}
			var log lines
			tel, spans := sending(t, protocol, to, log.logger())
			c.Next(otlptest.Answer{Rejected: 3})
			spans(10)
			if err := tel.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "too many (3 spans rejected)") {
				t.Errorf("a request of which 3 spans are refused: %v", err)
			}
			if n := tel.Lost(); n != 3 {
				t.Errorf("%d spans are lost, want the 3 that were refused", n)
			}
			want := 10
			if os.Getenv("AWAKEN_LONG") != "" { // the official clients wait five seconds at least
				c.Next(otlptest.Answer{Busy: time.Second})
				spans(5)
				began := time.Now()
				if err := tel.Flush(t.Context()); err != nil || time.Since(began) < time.Second {
					t.Errorf("a collector that is busy for a second was asked again after %v: %v", time.Since(began), err)
				}
				want += 5
			}
			if n := len(c.Spans()); n != want || tel.Lost() != 3 {
				t.Errorf("the collector has %d spans and %d are lost, want %d and 3", n, tel.Lost(), want)
			}
			asked := c.Requests()
			c.Next(otlptest.Answer{Broken: true})
			spans(2)
			if err := tel.Flush(t.Context()); err == nil {
				t.Error("a broken request has no error")
			}
			if tel.Lost() != 5 || c.Requests() != asked+1 {
				t.Errorf("%d spans are lost after %d requests, want 5 after 1: what is broken stays so", tel.Lost(), c.Requests()-asked)
			}
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Runs do not wait for a collector that is away, whatever it takes; the log says so once, and what is lost is counted.
func TestCollector_IsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := "http://" + l.Addr().String()
	l.Close()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "50")
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			var log lines
			tel, spans := sending(t, protocol, away, log.logger())
			began := time.Now()
			for i := uint64(1); i <= 5; i++ {
				spans(4)
				for tel.Lost() < 4*i { // until the queue has tried
					if time.Since(began) > time.Minute {
						t.Fatalf("%d spans are lost after a minute", tel.Lost())
					}
					_ = tel.Flush(t.Context())
				}
			}
			spans(10_000) // more than wait
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			_ = tel.Shutdown(t.Context())
			if n := tel.Lost(); n != 10_020 {
				t.Errorf("%d of 10,020 spans are lost", n)
			}
			if n := strings.Count(log.String(), "traces export"); n > 1 {
				t.Errorf("the log says %d times that the collector is away: %s", n, log.String())
			}
		})
	}
}

func TestComplaints_AreLoggedOnceInAWhile(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		var log lines
		c := telemetry.NewComplaints(log.logger())
		for i := range 100 {
			c.Handle(fmt.Errorf("traces export: dial 127.0.0.1:%d: connection refused", 40_000+i))
			time.Sleep(5 * time.Second)
		}
		c.Handle(errors.New("another"))
		if n := strings.Count(log.String(), "connection refused"); n != 1 || !strings.Contains(log.String(), "error=another") {
			t.Errorf("in eight minutes an error is logged %d times: %s", n, log.String())
		}
		time.Sleep(5 * time.Minute)
		c.Handle(errors.New("traces export: dial 127.0.0.1:1: connection refused"))
		if !strings.Contains(log.String(), "repeated=99") {
			t.Errorf("it is not said how often: %s", log.String())
		}
		for i := range 1000 {
			c.Handle(errors.New(strings.Repeat("x", i)))
		}
	})
}
