package main

import (
	"testing"

	"github.com/awaken-go/awaken/store/memory"
)

func TestFleetID_ProcessesOfADatabaseShareIt(t *testing.T) {
	one, other := memory.NewProfile(), memory.NewProfile()
	a, err := fleetID(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := fleetID(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	c, err := fleetID(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if a == "" || a != b || a == c {
		t.Errorf("two processes of a database have %q and %q, one of another %q", a, b, c)
	}
}
