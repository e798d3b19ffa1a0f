// Package configtest checks that a store keeps the promises of [config.Store]. Every
// backend runs it:
//
//	func TestConfig(t *testing.T) {
//		configtest.Test(t, func(t *testing.T) configtest.Backend { return open(t) })
//	}
package configtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

// Backend is an empty store to be tested. Nothing else uses it.
type Backend struct {
	Store config.Store
	// Other is the same store as another process sees it. Nil means that only one process
	// can use it.
	Other config.Store
	// Advance shifts the clock of the store, forward or backward. The clock keeps running.
	Advance func(d time.Duration)
	// Runs returns a tenant's store of runs in the same database. If it is nil, Pin stands
	// in: it pins a run to a publication, or unpins it if called with false.
	Runs func(tenant string) awaken.Store
	Pin  func(number int64, pinned bool)
	// Reopen closes the store and opens it again; Crash abandons it as a killed process
	// does, and opens it again. Nil means that nothing outlives the process.
	Reopen, Crash func(t *testing.T) config.Store
}

// Test runs every case. It calls open once per case; open may register its own cleanup.
func Test(t *testing.T, open func(t *testing.T) Backend) {
	for _, area := range []struct {
		name  string
		cases []testCase
	}{
		{"Records", recordCases},
		{"Apply", applyCases},
		{"Publications", publicationCases},
		{"Secrets", secretCases},
		{"Audit", auditCases},
		{"Tallies", tallyCases},
		{"Pins", pinCases},
		{"Purge", purgeCases},
		{"Concurrency", concurrencyCases},
		{"Contexts", contextCases},
		{"Durability", durabilityCases},
		{"Notifier", notifierCases},
	} {
		t.Run(area.name, func(t *testing.T) {
			for _, c := range area.cases {
				t.Run(c.promise, func(t *testing.T) { c.run(&kit{T: t, Backend: open(t)}) })
			}
		})
	}
}

// testCase is one promise of the port.
type testCase struct {
	promise string
	check   func(k *kit)
}

// kit is a backend with the operations that cases share. Those that must succeed fail the
// test.
type kit struct {
	*testing.T
	Backend
	events int
}

// stores returns one store per process.
func (k *kit) stores() []config.Store {
	if k.Other == nil {
		return []config.Store{k.Store}
	}
	return []config.Store{k.Store, k.Other}
}

// failure ends a case.
type failure struct{ text string }

// must returns a call's result, or ends the case.
func must[T any](v T, err error) T {
	if err != nil {
		_, file, line, _ := runtime.Caller(1)
		panic(failure{fmt.Sprintf("%s:%d: %v", filepath.Base(file), line, err)})
	}
	return v
}

// run runs a case.
func (c testCase) run(k *kit) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			k.Fatal(f.text)
		default:
			panic(f)
		}
	}()
	c.check(k)
}

func (k *kit) apply(c *config.Change) {
	k.Helper()
	if err := k.Store.Apply(k.Context(), c); err != nil {
		k.Fatalf("apply: %v", err)
	}
}

// refused applies a change that the store must refuse with an error, and checks that
// nothing changed.
func (k *kit) refused(what string, c *config.Change, want error) {
	k.Helper()
	before := dump(k, k.Store)
	if err := k.Store.Apply(k.Context(), c); !errors.Is(err, want) {
		k.Errorf("%s: error is %v, want %v", what, err, want)
	}
	for _, s := range k.stores() {
		equal(k, "after "+what, before, dump(k, s))
	}
}

func equal[T any](k *kit, what string, want, got T) {
	k.Helper()
	documents := cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, // documents may be large
		cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), documents); diff != "" {
		k.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func key(ns config.Namespace, id string) config.Key { return config.Key{Namespace: ns, ID: id} }

// record returns a record with a revision.
func record(revision int64, spec string) *config.Record {
	return &config.Record{Spec: json.RawMessage(spec), Meta: config.Meta{Source: config.Source{Kind: config.User}, CreatedAt: 1000, UpdatedAt: 1000 + revision, Revision: revision}}
}

// write returns a change of one record.
func write(id string, expect int64, r *config.Record) config.RecordChange {
	return config.RecordChange{Key: key(config.Agents, id), Record: r, Expect: expect}
}

// sum returns the hash of a document.
func sum(doc string) string {
	s := sha256.Sum256([]byte(doc))
	return hex.EncodeToString(s[:])
}

// publish returns a change that publishes documents of agents, by id, and makes them live.
func publish(number, base int64, at time.Time, docs map[string]string) *config.Change {
	c := &config.Change{
		Publish:   &config.Publication{Number: number, Base: base, Kind: "publish", Actor: "me", At: at.UnixMilli()},
		Documents: map[string]json.RawMessage{}, SetHead: &config.Head{Live: number},
	}
	for id, doc := range docs {
		c.Publish.Entries = append(c.Publish.Entries, config.Entry{Key: key(config.Agents, id), Hash: sum(doc), Revision: 1})
		c.Documents[sum(doc)] = json.RawMessage(doc)
	}
	return c
}

// event returns an event with a unique id.
func (k *kit) event(at time.Time, action, resource, actor string) *config.AuditEvent {
	k.events++
	return &config.AuditEvent{ID: fmt.Sprintf("event-%04d", k.events), Time: at, Action: action, Resource: resource, Actor: actor}
}

// contents is everything that a store holds.
type contents struct {
	Head         config.Head
	Records      map[config.Namespace][]config.Stored
	Publications []*config.Publication
	Documents    map[string]json.RawMessage
	Secrets      map[string]config.SealedSecret
	Events       []*config.AuditEvent
	Tallies      map[int64]config.Tally
}

// dump reads everything. Documents are those that publications refer to.
func dump(k *kit, s config.Store) *contents {
	k.Helper()
	ctx := k.Context()
	out := &contents{Records: map[config.Namespace][]config.Stored{}}
	out.Head = must(s.Head(ctx))
	for _, ns := range config.Namespaces {
		for after := ""; ; {
			page := must(s.Records(ctx, ns, after, 0))
			if len(page) == 0 {
				break
			}
			out.Records[ns] = append(out.Records[ns], page...)
			after = page[len(page)-1].ID
		}
	}
	var hashes []string
	var numbers []int64
	for before := int64(0); ; {
		page := must(s.Publications(ctx, before, 0))
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			whole := must(s.Publication(ctx, p.Number))
			out.Publications = append(out.Publications, whole)
			hashes, numbers = append(hashes, whole.Hashes()...), append(numbers, p.Number)
		}
		before = page[len(page)-1].Number
	}
	out.Documents = must(s.Documents(ctx, hashes...))
	out.Tallies = must(s.Tallies(ctx, numbers...))
	out.Secrets = must(s.Secrets(ctx))
	for before := ""; ; {
		page := must(s.Audit(ctx, config.AuditQuery{Before: before}))
		if len(page) == 0 {
			return out
		}
		out.Events = append(out.Events, page...)
		before = page[len(page)-1].ID
	}
}
