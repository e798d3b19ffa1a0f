package ids_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/internal/ids"
)

var uuid7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestNew_ReturnsVersion7UUIDs(t *testing.T) {
	for range 1000 {
		if id := ids.New(); !uuid7.MatchString(id) {
			t.Fatalf("%q is not a UUID of version 7", id)
		}
	}
}

func TestNew_IsUniqueUnderConcurrency(t *testing.T) {
	const workers, each = 8, 2000
	seen := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				seen[w] = append(seen[w], ids.New())
			}
		})
	}
	wg.Wait()
	all := map[string]bool{}
	for _, list := range seen {
		for _, id := range list {
			all[id] = true
		}
	}
	if len(all) != workers*each {
		t.Fatalf("%d ids, of which %d are different", workers*each, len(all))
	}
}

func TestNew_SortsByTime(t *testing.T) {
	a := ids.New()
	for ids.New()[:13] == a[:13] { // until the millisecond changes
	}
	if b := ids.New(); b <= a {
		t.Fatalf("%s was made after %s but sorts before it", b, a)
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ids.New()
	}
}

func TestNew_SortsInTheOrderOfCreation(t *testing.T) {
	before := ids.New()
	for range 20_000 { // more than fit into a few ms
		id := ids.New()
		if id <= before {
			t.Fatalf("%s was made after %s", id, before)
		}
		before = id
	}
}

func TestOf_IsTheSameForTheSamePart(t *testing.T) {
	if a, b := ids.Of("r", 1), ids.Of("r", 1); a != b || a != "r-1" {
		t.Errorf("%q and %q, want r-1 twice", a, b)
	}
	long := strings.Repeat("x", 500)
	if a, b := ids.Of(long, 1), ids.Of(long+"y", 1); a == b || len(a) > 140 {
		t.Errorf("%q and %q, want two short ids", a, b)
	}
}
