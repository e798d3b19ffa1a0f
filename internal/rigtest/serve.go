//go:build unix

package rigtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken/server"
)

// FreeAddress returns an unused address to which servers of a test come back, so it is none of those that the system hands out in
// between.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
}

// serving is what the job of a server says when it answers requests; see [Process.Says].
const serving = "this job serves at"

// RunServer is the end of the job of a server: it serves at an address until ctx is done, and says so.
func RunServer(ctx context.Context, srv *server.Server, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, serving, address)
	return srv.Serve(ctx, l)
}

// Serves waits until the job of the process answers requests.
func (p *Process) Serves() {
	p.tb.Helper()
	p.Says(serving)
}

// Listen serves within the test until its end, and returns the URL.
func Listen(tb testing.TB, srv *server.Server) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}
