package configtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

var recordCases = []testCase{
	{"AMissingRecordIsNotFound", func(k *kit) {
		if r, err := k.Store.Record(k.Context(), key(config.Agents, "a")); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("got %v, %v", r, err)
		}
		equal(k, "an empty list", nil, must(k.Store.Records(k.Context(), config.Agents, "", 0)))
	}},
	{"WritesReplacesAndRemoves", func(k *kit) {
		r := record(1, `{"id":"a"}`)
		r.Meta.Hidden, r.Meta.UserOverrides = true, json.RawMessage(`{"x":  [1, 2]}`)
		r.Meta.Source = config.Source{Kind: config.Builtin, BinaryVersion: "v1"}
		k.apply(&config.Change{Records: []config.RecordChange{write("a", 0, r), write("b", -1, record(7, `{}`))}})
		for _, s := range k.stores() {
			equal(k, "record", r, must(s.Record(k.Context(), key(config.Agents, "a"))))
			equal(k, "another", record(7, `{}`), must(s.Record(k.Context(), key(config.Agents, "b"))))
		}
		k.apply(&config.Change{Records: []config.RecordChange{write("a", 1, record(2, `{"v":2}`)), write("b", 7, nil)}})
		equal(k, "list", []config.Stored{{ID: "a", Record: *record(2, `{"v":2}`)}}, must(k.Store.Records(k.Context(), config.Agents, "", 0)))
		k.apply(&config.Change{Records: []config.RecordChange{write("a", -1, nil), write("b", 0, nil)}}) // b is gone already
		if _, err := k.Store.Record(k.Context(), key(config.Agents, "a")); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("a record that was removed: %v", err)
		}
		k.apply(&config.Change{Records: []config.RecordChange{write("a", 0, record(1, `{"v":3}`))}})
		equal(k, "made again", record(1, `{"v":3}`), must(k.Store.Record(k.Context(), key(config.Agents, "a"))))
	}},
	{"NamespacesAreApart", func(k *kit) {
		var all []config.RecordChange
		for _, ns := range config.Namespaces {
			all = append(all, config.RecordChange{Key: key(ns, "x"), Record: record(1, fmt.Sprintf(`{"of":%q}`, ns))})
		}
		k.apply(&config.Change{Records: all})
		for _, ns := range config.Namespaces {
			equal(k, "records of "+string(ns), []config.Stored{{ID: "x", Record: *record(1, fmt.Sprintf(`{"of":%q}`, ns))}}, must(k.Store.Records(k.Context(), ns, "", 0)))
		}
	}},
	{"ListsByTheBytesOfIDsInPages", func(k *kit) {
		ids := []string{"a", "A", "B", "b", "é", "e\u0301", "日本語", "👩‍👩‍👧", "a/b", "a/", "/", "a%b", "a_b", "a\\b", "%", "_", "a b", " ", "..", "../x", "10", "9",
			"it's", `"`, "new\nline", "a\x01b", "\u200b", "a.b", "a-b", "~", "con", strings.Repeat("x", 1024), strings.Repeat("é", 512), "\U0010ffff"}
		var all []config.RecordChange
		for i, id := range ids {
			all = append(all, write(id, 0, record(int64(i+1), fmt.Sprint(i))))
		}
		k.apply(&config.Change{Records: all})
		for i, id := range ids {
			equal(k, fmt.Sprintf("record %.20q", id), record(int64(i+1), fmt.Sprint(i)), must(k.Store.Record(k.Context(), key(config.Agents, id))))
		}
		slices.Sort(ids)
		for _, limit := range []int{1, 2, 7, len(ids), 0} {
			var got []string
			for after := ""; ; after = got[len(got)-1] {
				page := must(k.Store.Records(k.Context(), config.Agents, after, limit))
				if limit > 0 && len(page) > limit {
					k.Fatalf("%d records, limit is %d", len(page), limit)
				}
				if len(page) == 0 {
					break
				}
				for _, r := range page {
					got = append(got, r.ID)
				}
			}
			equal(k, fmt.Sprintf("in pages of %d", limit), ids, got)
		}
		after := must(k.Store.Records(k.Context(), config.Agents, "a0", 1)) // there is none of that name
		equal(k, "after an id that is not there", `a\b`, after[0].ID)
	}},
	{"ListsAHundredUnlessToldOtherwise", func(k *kit) {
		var all []config.RecordChange
		for i := range 130 {
			all = append(all, write(fmt.Sprintf("%03d", i), 0, record(1, `{}`)))
		}
		k.apply(&config.Change{Records: all})
		for limit, want := range map[int]int{0: 100, -1: 100, 130: 130, 1000: 130, 5: 5} {
			if got := len(must(k.Store.Records(k.Context(), config.Agents, "", limit))); got != want {
				k.Errorf("limit %d: %d records, want %d", limit, got, want)
			}
		}
	}},
	{"KeepsEveryByteOfJSON", func(k *kit) {
		for i, doc := range []string{"null", " {\n \"b\" : 1.0, \"a\": \"<&>\u2028\\u0000\\ud800\" }\n", `"日本語 👩‍👩‍👧"`, `12345678901234567890.000`, `"` + strings.Repeat("x", 1<<20) + `"`} {
			id := fmt.Sprint(i)
			r := record(1, doc)
			r.Meta.UserOverrides = json.RawMessage(doc)
			c := publish(int64(i+1), int64(i), time.UnixMilli(1000), map[string]string{id: doc})
			c.Records = []config.RecordChange{write(id, 0, r)}
			e := k.event(time.UnixMilli(5), "update", "agents/"+id, "me")
			e.Before, e.After = json.RawMessage(doc), json.RawMessage(doc)
			c.Audit = []*config.AuditEvent{e}
			k.apply(c)
			equal(k, "record", r, must(k.Store.Record(k.Context(), key(config.Agents, id))))
			equal(k, "document", map[string]json.RawMessage{sum(doc): json.RawMessage(doc)}, must(k.Store.Documents(k.Context(), sum(doc))))
			equal(k, "event", []*config.AuditEvent{e}, must(k.Store.Audit(k.Context(), config.AuditQuery{ID: e.ID})))
		}
	}},
	{"WhatCannotBeStoredIsNotThere", func(k *kit) {
		k.begun()
		for _, odd := range []string{"\xff", "a\x00", "agents/a\x00", "\xed\xa0\x80"} {
			for _, name := range []config.Key{key(config.Agents, odd), key(config.Namespace(odd), "a")} {
				if r, err := k.Store.Record(k.Context(), name); !errors.Is(err, awaken.ErrNotFound) {
					k.Errorf("record %q: %v, %v", name, r, err)
				}
			}
			equal(k, "documents", nil, must(k.Store.Documents(k.Context(), odd)))
			for _, q := range []config.AuditQuery{{ID: odd}, {Before: odd}, {Action: odd}, {Resource: odd}, {Actor: odd}} {
				equal(k, fmt.Sprintf("events of %+v", q), nil, must(k.Store.Audit(k.Context(), q)))
			}
		}
	}},
	{"WhatIsReturnedBelongsToTheCaller", func(k *kit) {
		c := publish(1, 0, time.UnixMilli(1000), map[string]string{"a": `{"a":1}`})
		c.Publish.Manifest = slices.Clone(c.Publish.Entries)
		c.Records = []config.RecordChange{write("a", 0, record(1, `{"a":1}`))}
		c.Secrets = []config.SecretChange{{Ref: "s", Secret: &config.SealedSecret{KeyID: "k", Data: []byte("data"), Revision: 1}}}
		c.SetHead.Canary = &config.Canary{Version: 1, Rule: &config.CanaryRule{MinRuns: 3}}
		e := k.event(time.UnixMilli(5), "update", "agents/a", "me")
		e.After = json.RawMessage(`{"a":1}`)
		c.Audit = []*config.AuditEvent{e}
		k.apply(c)
		want := dump(k, k.Store)
		spoil := func(all *contents) {
			copy(all.Records[config.Agents][0].Spec, `{"b":2}`)
			copy(all.Secrets["s"].Data, "spoilt")
			copy(all.Documents[sum(`{"a":1}`)], `{"b":2}`)
			copy(all.Events[0].After, `{"b":2}`)
			all.Publications[0].Entries[0].Hash, all.Publications[0].Manifest[0].Hash = "x", "x"
			all.Head.Canary.Share, all.Head.Canary.Rule.MinRuns = 9, 9
		}
		spoil(dump(k, k.Store))
		equal(k, "after what was read was changed", want, dump(k, k.Store))
		copy(c.Records[0].Record.Spec, `{"b":2}`)
		copy(c.Secrets[0].Secret.Data, "spoilt")
		copy(c.Documents[sum(`{"a":1}`)], `{"b":2}`)
		copy(e.After, `{"b":2}`)
		c.Publish.Entries[0].Hash, c.Publish.Manifest[0].Hash = "x", "x"
		c.SetHead.Canary.Share, c.SetHead.Canary.Rule.MinRuns = 9, 9
		equal(k, "after what was given was changed", want, dump(k, k.Store))
	}},
}

// whole returns a change of every kind that a store accepts after publish(1, …) of agent a,
// whose record has revision 1.
func (k *kit) whole() *config.Change {
	c := publish(2, 1, time.UnixMilli(2000), map[string]string{"b": `{"b":2}`})
	c.Head = &config.Head{Revision: 1, Last: 1}
	c.Records = []config.RecordChange{write("new", 0, record(1, `{}`)), write("a", 1, nil), write("any", -1, record(5, `{}`))}
	c.Secrets = []config.SecretChange{{Ref: "agents/a#/key", Secret: nil}, {Ref: "agents/b#/key", Secret: &config.SealedSecret{KeyID: "k", Data: []byte{0, 255}, Revision: 3, UpdatedAt: 4}}}
	c.Audit = []*config.AuditEvent{k.event(time.UnixMilli(5), "update", "agents/a", "me"), k.event(time.UnixMilli(5), "publish", "publications/2", "me")}
	return c
}

// begun prepares the store for whole.
func (k *kit) begun() {
	k.Helper()
	c := publish(1, 0, time.UnixMilli(1000), map[string]string{"a": `{"a":1}`})
	c.Records = []config.RecordChange{write("a", 0, record(1, `{"a":1}`))}
	c.Secrets = []config.SecretChange{{Ref: "agents/a#/key", Secret: &config.SealedSecret{KeyID: "k", Data: []byte("x"), Revision: 1}}}
	c.Audit = []*config.AuditEvent{k.event(time.UnixMilli(4), "create", "agents/a", "me")}
	k.apply(c)
}

var applyCases = []testCase{
	{"MakesEverythingAtOnce", func(k *kit) {
		k.begun()
		c := k.whole()
		k.apply(c)
		for _, s := range k.stores() {
			all := dump(k, s)
			equal(k, "head", config.Head{Revision: 2, Last: 2, Live: 2}, all.Head)
			equal(k, "records", []config.Stored{{ID: "any", Record: *record(5, `{}`)}, {ID: "new", Record: *record(1, `{}`)}}, all.Records[config.Agents])
			equal(k, "secrets", map[string]config.SealedSecret{"agents/b#/key": *c.Secrets[1].Secret}, all.Secrets)
			equal(k, "publications", c.Publish, all.Publications[0])
			equal(k, "events", []*config.AuditEvent{c.Audit[1], c.Audit[0]}, all.Events[:2])
			if len(all.Publications) != 2 || len(all.Documents) != 2 || len(all.Events) != 3 {
				k.Errorf("there are %d publications, %d documents and %d events", len(all.Publications), len(all.Documents), len(all.Events))
			}
		}
	}},
	{"MakesNothingOfAConflict", func(k *kit) {
		k.begun()
		for what, spoil := range map[string]func(c *config.Change){
			"another revision of the head":         func(c *config.Change) { c.Head.Revision = 0 },
			"a later revision of the head":         func(c *config.Change) { c.Head.Revision = 2 },
			"another last publication":             func(c *config.Change) { c.Head.Last = 0 },
			"a publication that is there":          func(c *config.Change) { c.Publish.Number, c.Publish.Base, c.SetHead.Live = 1, 0, 1 },
			"a publication too far":                func(c *config.Change) { c.Publish.Number, c.SetHead.Live = 3, 3 },
			"a record that is there":               func(c *config.Change) { c.Records[1].Expect = 0 },
			"a record of another revision":         func(c *config.Change) { c.Records[1].Expect = 2 },
			"a record that is not there":           func(c *config.Change) { c.Records[0].Expect = 1 },
			"the removal of one that is not there": func(c *config.Change) { c.Records[0].Expect, c.Records[0].Record = 1, nil },
			"a document that is not there":         func(c *config.Change) { c.Documents = nil },
			"a document of a manifest not there": func(c *config.Change) {
				c.Publish.Manifest = []config.Entry{{Key: key(config.Agents, "x"), Hash: sum("x")}}
			},
			"a live publication that is not there":   func(c *config.Change) { c.SetHead.Live = 3 },
			"a canary that is not there":             func(c *config.Change) { c.SetHead.Canary = &config.Canary{Version: 9} },
			"a live publication that is a later one": func(c *config.Change) { c.Publish, c.Documents, c.SetHead.Live = nil, nil, 2 },
		} {
			c := k.whole()
			spoil(c)
			k.refused(what, c, config.ErrConflict)
		}
		k.apply(k.whole())
	}},
	{"SaysWhatWasExpectedAndFound", func(k *kit) {
		k.begun()
		err := k.Store.Apply(k.Context(), &config.Change{Records: []config.RecordChange{write("a", 41, nil)}})
		if err == nil || !strings.Contains(err.Error(), "agents/a: expected revision 41, found revision 1") {
			k.Errorf("error is %v", err)
		}
		err = k.Store.Apply(k.Context(), &config.Change{Head: &config.Head{Revision: 42, Last: 43}})
		if err == nil || !strings.Contains(err.Error(), "the head has revision 1 and last publication 1, want 42 and 43") {
			k.Errorf("error is %v", err)
		}
	}},
	{"MakesNothingOfAnInvalidChange", func(k *kit) {
		k.begun()
		for what, spoil := range map[string]func(c *config.Change){
			"a record without an id":             func(c *config.Change) { c.Records[0].Key.ID = "" },
			"a record without a namespace":       func(c *config.Change) { c.Records[0].Key.Namespace = "" },
			"an id with NUL":                     func(c *config.Change) { c.Records[0].Key.ID = "a\x00" },
			"an id that is not UTF-8":            func(c *config.Change) { c.Records[0].Key.ID = "\xff" },
			"an id that is too long":             func(c *config.Change) { c.Records[0].Key.ID = strings.Repeat("x", config.MaxID+1) },
			"a record twice":                     func(c *config.Change) { c.Records[0].Key = c.Records[1].Key },
			"a record without a revision":        func(c *config.Change) { c.Records[0].Record.Meta.Revision = 0 },
			"a revision that cannot be expected": func(c *config.Change) { c.Records[0].Expect = -2 },
			"a spec that is not JSON":            func(c *config.Change) { c.Records[0].Record.Spec = json.RawMessage(`{`) },
			"no spec":                            func(c *config.Change) { c.Records[0].Record.Spec = nil },
			"a spec that is not UTF-8":           func(c *config.Change) { c.Records[0].Record.Spec = json.RawMessage("\"\xff\"") },
			"overrides that are not JSON":        func(c *config.Change) { c.Records[0].Record.Meta.UserOverrides = json.RawMessage(`x`) },
			"a secret twice":                     func(c *config.Change) { c.Secrets[0].Ref = c.Secrets[1].Ref },
			"a secret without a reference":       func(c *config.Change) { c.Secrets[0].Ref = "" },
			"a document of another hash":         func(c *config.Change) { c.Documents[sum("x")] = json.RawMessage(`{}`) },
			"documents without a publication":    func(c *config.Change) { c.Publish, c.SetHead = nil, nil },
			"a base that comes later":            func(c *config.Change) { c.Publish.Base = 2 },
			"a negative base":                    func(c *config.Change) { c.Publish.Base = -1 },
			"a negative live publication":        func(c *config.Change) { c.SetHead.Live = -1 },
			"an event without an id":             func(c *config.Change) { c.Audit[0].ID = "" },
			"an event without a time":            func(c *config.Change) { c.Audit[0].Time = time.Time{} },
			"an event twice":                     func(c *config.Change) { c.Audit[1].ID = c.Audit[0].ID },
			"an event that is there":             func(c *config.Change) { c.Audit[1].ID = "event-0001" },
			"an event that is not JSON":          func(c *config.Change) { c.Audit[1].Before = json.RawMessage(`x`) },
			"an actor that is not UTF-8":         func(c *config.Change) { c.Audit[1].Actor = "\xff" },
		} {
			c := k.whole()
			spoil(c)
			k.refused(what, c, awaken.ErrInvalid)
		}
		k.apply(k.whole())
	}},
	{"IsIdempotentByItsFirstEvent", func(k *kit) {
		k.begun()
		c := k.whole()
		k.apply(c)
		want := dump(k, k.Store)
		for _, s := range k.stores() {
			if err := s.Apply(k.Context(), c); err != nil {
				k.Errorf("the same change again: %v", err)
			}
			equal(k, "after the same change again", want, dump(k, s))
		}
	}},
	{"AnEmptyChangeDoesNothing", func(k *kit) {
		k.begun()
		want := dump(k, k.Store)
		k.apply(&config.Change{})
		k.apply(&config.Change{Head: &want.Head})
		equal(k, "contents", want, dump(k, k.Store))
	}},
	{"KeepsLargeNumbers", func(k *kit) {
		r := record(math.MaxInt64, `{}`)
		r.Meta.CreatedAt, r.Meta.UpdatedAt = math.MaxInt64, math.MinInt64
		k.apply(&config.Change{Records: []config.RecordChange{write("a", 0, r)}})
		equal(k, "record", r, must(k.Store.Record(k.Context(), key(config.Agents, "a"))))
	}},
}

var secretCases = []testCase{
	{"WritesReplacesAndRemoves", func(k *kit) {
		equal(k, "at first", nil, must(k.Store.Secrets(k.Context())))
		all := map[string]config.SealedSecret{}
		var c config.Change
		data := make([]byte, 256)
		for i := range data {
			data[i] = byte(i)
		}
		for i, ref := range []string{"providers/a#/api_key", "mcp-servers/日本/x#/env/A~1B", "%", "_", strings.Repeat("x", 2048)} {
			s := config.SealedSecret{KeyID: "key 1", Data: data[i:], Revision: int64(i + 1), UpdatedAt: 99}
			all[ref] = s
			c.Secrets = append(c.Secrets, config.SecretChange{Ref: ref, Secret: &s})
		}
		k.apply(&c)
		equal(k, "secrets", all, must(k.Store.Secrets(k.Context())))
		all["%"] = config.SealedSecret{KeyID: "key 2", Data: []byte{}, Revision: 7}
		again := all["%"]
		delete(all, "_")
		k.apply(&config.Change{Secrets: []config.SecretChange{{Ref: "%", Secret: &again}, {Ref: "_"}, {Ref: "not there"}}})
		for _, s := range k.stores() {
			equal(k, "secrets", all, must(s.Secrets(k.Context())))
		}
	}},
}
