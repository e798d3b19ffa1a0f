package main

import (
	"context"
	"strings"
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

func TestFleetSubject_ACopyElsewhereHasItsOwn(t *testing.T) {
	values := memory.NewProfile() // the copy has the same
	subject := func(place string) string {
		s, err := fleetSubject(t.Context(), &backend{keys: values, place: func(context.Context) (string, error) { return place, nil }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b, again := subject("server-1"), subject("server-2"), subject("server-1"); a != again || a == b || !strings.HasPrefix(a, "awaken.") {
		t.Errorf("the original has %q and %q, the copy %q", a, again, b)
	}
}
