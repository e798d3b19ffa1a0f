// Package serve has what the programs of this module share: how a test learns where a program listens, and how it ends the program.
package serve

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// Announce tells the test that started this program the address at which it listens.
func Announce(address string) error {
	_, err := fmt.Println(address)
	return err
}

// AwaitEnd returns when standard input is closed: the test has ended the program, or is dead itself.
func AwaitEnd() { _, _ = io.Copy(io.Discard, os.Stdin) }

// HTTP serves requests on loopback until [AwaitEnd] returns.
func HTTP(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(l, h) }()
	if err := Announce("http://" + l.Addr().String()); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		AwaitEnd()
		close(ended)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}
