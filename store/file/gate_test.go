package file

import (
	"errors"
	"testing"
)

func TestGate_CloseWaitsForMethodsAndAdmitsNoMore(t *testing.T) {
	var g gate
	if err := g.enter(); err != nil {
		t.Fatal(err)
	}
	left := false
	done := make(chan error)
	go func() {
		done <- g.close(func() error {
			if !left {
				return errors.New("a method is under way")
			}
			return nil
		})
	}()
	left = true // close must wait for the leave below
	g.leave()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := g.enter(); !errors.Is(err, ErrClosed) {
		t.Errorf("enter returns %v, want ErrClosed", err)
	}
	if err := g.close(func() error { return errors.New("closed again") }); err != nil {
		t.Error(err)
	}
}
