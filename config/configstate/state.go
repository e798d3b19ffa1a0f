// Package configstate keeps a configuration in memory: it is the core of store/memory, and
// what store/file reads its log into.
//
// A change takes two steps: [State.Change] returns what the change would do, as a [Delta],
// and [State.Do] does it. In between, a store may write the Delta to a log.
package configstate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/limit/money"
)

// State is a configuration. It is not safe for concurrent use.
type State struct {
	head         config.Head
	spaces       map[config.Namespace][]*Record // each sorted by id
	secrets      map[string]config.SealedSecret
	publications []*config.Publication // by number
	documents    map[string]string
	uses         map[string]int // how many publications use a document
	events       []*Event       // in the order in which they were applied
	byID         map[string]*Event
	tallies      map[int64]Tally
	seq          int64 // of the newest event
}

// New returns an empty State.
func New() *State {
	return &State{spaces: map[config.Namespace][]*Record{}, secrets: map[string]config.SealedSecret{}, documents: map[string]string{},
		uses: map[string]int{}, byID: map[string]*Event{}, tallies: map[int64]Tally{}}
}

// Delta is the effect of a change on a State. It is immutable once it is made.
type Delta struct {
	Head         *config.Head                   `json:"head,omitempty"` // the new head
	Records      []*Record                      `json:"records,omitempty"`
	Secrets      map[string]config.SealedSecret `json:"secrets,omitempty"`
	Publications []*config.Publication          `json:"publications,omitempty"` // in order, above all existing ones
	Documents    map[string]string              `json:"documents,omitempty"`
	Events       []*Event                       `json:"events,omitempty"`
	Tallies      map[int64]Tally                `json:"tallies,omitempty"` // the new values
	Gone         *Gone                          `json:"gone,omitempty"`
}

// Gone lists what a change deletes.
type Gone struct {
	Records      []config.Key `json:"records,omitempty"`
	Secrets      []string     `json:"secrets,omitempty"`
	Events       []string     `json:"events,omitempty"`
	Publications []int64      `json:"publications,omitempty"` // with their tallies
	Documents    []string     `json:"documents,omitempty"`
}

// Record is a [config.Record]. JSON is kept as text, to preserve its bytes.
type Record struct {
	config.Key
	Spec      string      `json:"spec"`
	Overrides string      `json:"overrides,omitempty"`
	Meta      config.Meta `json:"meta"` // without UserOverrides
}

// Event is a [config.AuditEvent] with JSON as text.
type Event struct {
	config.AuditEvent        // without Before and After
	BeforeText        string `json:"before_text,omitempty"`
	AfterText         string `json:"after_text,omitempty"`

	seq int64
}

// Tally is a [config.Tally] with an exact amount.
type Tally struct {
	Runs      int64        `json:"runs"`
	Errors    int64        `json:"errors"`
	Cost      money.Amount `json:"cost"`
	LatencyMS int64        `json:"latency_ms"`
}

func (s *State) find(key config.Key) (int, bool) {
	return slices.BinarySearchFunc(s.spaces[key.Namespace], key.ID, func(r *Record, id string) int { return strings.Compare(r.ID, id) })
}

func (r *Record) export() config.Record {
	out := config.Record{Spec: config.JSON(r.Spec), Meta: r.Meta}
	out.Meta.UserOverrides = config.JSON(r.Overrides)
	return out
}

// Record returns a record, or awaken.ErrNotFound.
func (s *State) Record(key config.Key) (*config.Record, error) {
	i, ok := s.find(key)
	if !ok {
		return nil, fmt.Errorf("record %s: %w", key, awaken.ErrNotFound)
	}
	r := s.spaces[key.Namespace][i].export()
	return &r, nil
}

// Records lists a namespace as [config.Store] does.
func (s *State) Records(ns config.Namespace, after string, limit int) []config.Stored {
	i, found := s.find(config.Key{Namespace: ns, ID: after})
	if found {
		i++
	}
	rest := s.spaces[ns][i:]
	var out []config.Stored
	for _, r := range rest[:page(rest, limit)] {
		out = append(out, config.Stored{ID: r.ID, Record: r.export()})
	}
	return out
}

// page returns how many items of a list a page holds; 100 if there is no limit.
func page[T any](list []T, limit int) int { return min(cmp.Or(max(limit, 0), 100), len(list)) }

// Head returns what is live.
func (s *State) Head() config.Head { return cloneHead(s.head) }

func cloneHead(h config.Head) config.Head {
	if h.Canary != nil {
		c := *h.Canary
		if c.Rule != nil {
			rule := *c.Rule
			c.Rule = &rule
		}
		h.Canary = &c
	}
	return h
}

func (s *State) at(number int64) (int, bool) {
	return slices.BinarySearchFunc(s.publications, number, func(p *config.Publication, n int64) int { return cmp.Compare(p.Number, n) })
}

// last returns the number of the newest version; 0 if there is none.
func (s *State) last() int64 {
	if i, _ := s.at(config.FirstPreview); i > 0 {
		return s.publications[i-1].Number
	}
	return 0
}

func clonePublication(p *config.Publication) *config.Publication {
	c := *p
	c.Entries, c.Manifest = slices.Clone(p.Entries), slices.Clone(p.Manifest)
	return &c
}

// Publication returns a publication, or awaken.ErrNotFound.
func (s *State) Publication(number int64) (*config.Publication, error) {
	i, ok := s.at(number)
	if !ok {
		return nil, fmt.Errorf("publication %d: %w", number, awaken.ErrNotFound)
	}
	return clonePublication(s.publications[i]), nil
}

// Publications lists publications, newest first, without their manifests.
func (s *State) Publications(before int64, limit int) []*config.Publication {
	end := len(s.publications)
	if before > 0 {
		end, _ = s.at(before)
	}
	var out []*config.Publication
	for _, p := range slices.Backward(s.publications[end-page(s.publications[:end], limit) : end]) {
		c := *p
		c.Entries, c.Manifest = slices.Clone(p.Entries), nil
		out = append(out, &c)
	}
	return out
}

// Documents returns documents by hash.
func (s *State) Documents(hashes []string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, hash := range hashes {
		if doc, ok := s.documents[hash]; ok {
			out[hash] = config.JSON(doc)
		}
	}
	return out
}

// Secrets returns all secrets by reference.
func (s *State) Secrets() map[string]config.SealedSecret {
	out := make(map[string]config.SealedSecret, len(s.secrets))
	for ref, secret := range s.secrets {
		out[ref] = cloneSecret(secret)
	}
	return out
}

func cloneSecret(s config.SealedSecret) config.SealedSecret {
	s.Data = slices.Clone(s.Data)
	return s
}

// Audit lists events, newest first.
func (s *State) Audit(q config.AuditQuery) []*config.AuditEvent {
	end := len(s.events)
	if q.Before != "" {
		last := s.byID[q.Before]
		if last == nil {
			return nil
		}
		end, _ = slices.BinarySearchFunc(s.events, last.seq, func(e *Event, seq int64) int { return int(e.seq - seq) })
	}
	var out []*config.AuditEvent
	for i := end - 1; i >= 0 && len(out) < q.Page(); i-- {
		if e := s.events[i]; q.Selects(&e.AuditEvent) {
			c := e.AuditEvent
			c.Before, c.After = config.JSON(e.BeforeText), config.JSON(e.AfterText)
			out = append(out, &c)
		}
	}
	return out
}

// Tallies returns the tallies of publications that have one.
func (s *State) Tallies(numbers []int64) map[int64]config.Tally {
	out := map[int64]config.Tally{}
	for _, n := range numbers {
		if t, ok := s.tallies[n]; ok {
			out[n] = config.Tally{Runs: t.Runs, Errors: t.Errors, CostUSD: t.Cost.USD(), LatencyMS: t.LatencyMS}
		}
	}
	return out
}

// Change returns the effect of a change. A nil Delta means that it was applied before.
func (s *State) Change(c *config.Change) (*Delta, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(c.Audit) > 0 && s.byID[c.Audit[0].ID] != nil {
		return nil, nil
	}
	head, err := c.Next(s.head)
	if err != nil {
		return nil, err
	}
	d := &Delta{Gone: new(Gone), Secrets: map[string]config.SealedSecret{}, Documents: map[string]string{}}
	for i := range c.Records {
		if err := s.changeRecord(&c.Records[i], d); err != nil {
			return nil, err
		}
	}
	for _, number := range c.Refers() {
		if _, ok := s.at(number); !ok {
			return nil, config.Missing("publication", number)
		}
	}
	if p := c.Publish; p != nil {
		for _, hash := range p.Hashes() {
			_, have := s.documents[hash]
			if _, given := c.Documents[hash]; !have && !given {
				return nil, config.Missing("document", hash)
			}
		}
		d.Publications = []*config.Publication{clonePublication(p)}
		for hash, doc := range c.Documents {
			if _, have := s.documents[hash]; !have {
				d.Documents[hash] = string(doc)
			}
		}
	}
	for _, sc := range c.Secrets {
		switch _, have := s.secrets[sc.Ref]; {
		case sc.Secret != nil:
			d.Secrets[sc.Ref] = cloneSecret(*sc.Secret)
		case have:
			d.Gone.Secrets = append(d.Gone.Secrets, sc.Ref)
		}
	}
	for _, e := range c.Audit {
		if s.byID[e.ID] != nil {
			return nil, fmt.Errorf("%w: event %s already exists", awaken.ErrInvalid, e.ID)
		}
		ev := &Event{AuditEvent: *e, BeforeText: string(e.Before), AfterText: string(e.After)}
		ev.Before, ev.After, ev.Time = nil, nil, e.Time.UTC().Truncate(time.Microsecond)
		d.Events = append(d.Events, ev)
	}
	if c.Publish != nil || c.SetHead != nil {
		head = cloneHead(head)
		d.Head = &head
	}
	return d, nil
}

func (s *State) changeRecord(c *config.RecordChange, d *Delta) error {
	revision := int64(0)
	i, have := s.find(c.Key)
	if have {
		revision = s.spaces[c.Key.Namespace][i].Meta.Revision
	}
	if err := c.Fits(revision); err != nil {
		return err
	}
	switch {
	case c.Record != nil:
		r := &Record{Key: c.Key, Spec: string(c.Record.Spec), Overrides: string(c.Record.Meta.UserOverrides), Meta: c.Record.Meta}
		r.Meta.UserOverrides = nil
		d.Records = append(d.Records, r)
	case have:
		d.Gone.Records = append(d.Gone.Records, c.Key)
	}
	return nil
}

// Tally returns the effect of adding to a tally.
func (s *State) Tally(number int64, add config.Tally) (*Delta, error) {
	if _, ok := s.at(number); !ok {
		return nil, fmt.Errorf("tally of publication %d: %w", number, awaken.ErrNotFound)
	}
	t := s.tallies[number]
	t.Runs += add.Runs
	t.Errors += add.Errors
	t.Cost += money.Dollars(add.CostUSD)
	t.LatencyMS += add.LatencyMS
	return &Delta{Tallies: map[int64]Tally{number: t}}, nil
}

// Purge returns the effect of [config.Store.Purge], and its counts.
func (s *State) Purge(now time.Time, audit, versions time.Duration, pinned []int64) (*Delta, config.Purged) {
	gone := new(Gone)
	if audit > 0 {
		before := now.Add(-audit)
		for _, e := range s.events {
			if e.Time.Before(before) {
				gone.Events = append(gone.Events, e.ID)
			}
		}
	}
	if versions > 0 {
		gone.Publications = config.Unneeded(s.publications, s.head, pinned, now.Add(-versions).UnixMilli())
		left := map[string]int{}
		for _, number := range gone.Publications {
			i, _ := s.at(number)
			for _, hash := range s.publications[i].Hashes() {
				if _, seen := left[hash]; !seen {
					left[hash] = s.uses[hash]
				}
				if left[hash]--; left[hash] == 0 {
					gone.Documents = append(gone.Documents, hash)
				}
			}
		}
	}
	return &Delta{Gone: gone}, config.Purged{Events: len(gone.Events), Publications: len(gone.Publications), Documents: len(gone.Documents)}
}

// Check returns what is wrong with a Delta that was read from a log. Do requires one that
// this State could have made.
func (s *State) Check(d *Delta) error {
	for _, r := range d.Records {
		if r == nil || r.Namespace == "" || r.ID == "" || r.Spec == "" || r.Meta.Revision < 1 {
			return errors.New("a record has no namespace, id, spec or revision")
		}
	}
	last, numbers := s.last(), map[int64]bool{}
	for _, p := range d.Publications {
		if p == nil {
			return errors.New("a publication is empty")
		}
		if _, have := s.at(p.Number); have || numbers[p.Number] || p.Number < config.FirstPreview && p.Number <= last {
			return fmt.Errorf("publication %d is out of order, want a number above %d", p.Number, last)
		}
		if numbers[p.Number] = true; p.Number < config.FirstPreview {
			last = p.Number
		}
	}
	seen := map[string]bool{}
	for _, e := range d.Events {
		if e == nil || e.ID == "" || seen[e.ID] || s.byID[e.ID] != nil {
			return errors.New("an audit event has no id, or the id of another one")
		}
		seen[e.ID] = true
	}
	return nil
}

// Do applies a Delta.
func (s *State) Do(d *Delta) {
	if d.Head != nil {
		s.head = *d.Head
	}
	for _, r := range d.Records {
		i, have := s.find(r.Key)
		if have {
			s.spaces[r.Namespace][i] = r
		} else {
			s.spaces[r.Namespace] = slices.Insert(s.spaces[r.Namespace], i, r)
		}
	}
	maps.Copy(s.secrets, d.Secrets)
	maps.Copy(s.documents, d.Documents)
	for _, p := range d.Publications {
		i, _ := s.at(p.Number)
		s.publications = slices.Insert(s.publications, i, p)
		for _, hash := range p.Hashes() {
			s.uses[hash]++
		}
	}
	for _, e := range d.Events {
		s.seq++
		e.seq = s.seq
		s.events = append(s.events, e)
		s.byID[e.ID] = e
	}
	maps.Copy(s.tallies, d.Tallies)
	if d.Gone != nil {
		s.remove(d.Gone)
	}
}

func (s *State) remove(gone *Gone) {
	for _, key := range gone.Records {
		if i, have := s.find(key); have {
			s.spaces[key.Namespace] = slices.Delete(s.spaces[key.Namespace], i, i+1)
		}
	}
	for _, ref := range gone.Secrets {
		delete(s.secrets, ref)
	}
	for _, id := range gone.Events {
		delete(s.byID, id)
	}
	if len(gone.Events) > 0 {
		s.events = slices.DeleteFunc(s.events, func(e *Event) bool { return s.byID[e.ID] != e })
	}
	for _, number := range gone.Publications {
		if i, have := s.at(number); have {
			for _, hash := range s.publications[i].Hashes() {
				if s.uses[hash]--; s.uses[hash] == 0 {
					delete(s.uses, hash)
				}
			}
			s.publications = slices.Delete(s.publications, i, i+1)
			delete(s.tallies, number)
		}
	}
	for _, hash := range gone.Documents {
		delete(s.documents, hash)
	}
}

// All returns Deltas, none of them large, that rebuild the State from an empty one.
func (s *State) All() iter.Seq[*Delta] {
	return func(yield func(*Delta) bool) {
		head := s.Head()
		more := yield(&Delta{Head: &head, Secrets: s.secrets, Tallies: s.tallies})
		for _, ns := range slices.Sorted(maps.Keys(s.spaces)) {
			for _, r := range s.spaces[ns] {
				more = more && yield(&Delta{Records: []*Record{r}})
			}
		}
		for _, hash := range slices.Sorted(maps.Keys(s.documents)) {
			more = more && yield(&Delta{Documents: map[string]string{hash: s.documents[hash]}})
		}
		for _, p := range s.publications {
			more = more && yield(&Delta{Publications: []*config.Publication{p}})
		}
		for _, e := range s.events {
			more = more && yield(&Delta{Events: []*Event{e}})
		}
	}
}
