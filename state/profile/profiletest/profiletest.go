// Package profiletest tests implementations of [profile.Store].
package profiletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/state/profile"
)

// Test runs every case. It calls open once per case, for an empty store that nothing else
// uses.
func Test(t *testing.T, open func(t *testing.T) profile.Store) {
	for _, c := range cases {
		t.Run(c.promise, func(t *testing.T) { c.check(t, open(t)) })
	}
}

func set(t *testing.T, s profile.Store, namespace, key, value string) {
	t.Helper()
	if err := s.Set(t.Context(), namespace, key, json.RawMessage(value)); err != nil {
		t.Fatalf("set %s of %s: %v", namespace, key, err)
	}
}

// get returns the value of an entry, or "" if it does not exist.
func get(t *testing.T, s profile.Store, namespace, key string) string {
	t.Helper()
	e, err := s.Get(t.Context(), namespace, key)
	if err != nil {
		t.Fatalf("get %s of %s: %v", namespace, key, err)
	}
	if e == nil {
		return ""
	}
	if e.Namespace != namespace || e.Key != key {
		t.Errorf("the entry %s of %s is called %s of %s", namespace, key, e.Namespace, e.Key)
	}
	return compact(t, e.Value)
}

// compact removes the white space that stores may add to JSON.
func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func list(t *testing.T, s profile.Store, namespace string) []string {
	t.Helper()
	entries, err := s.List(t.Context(), namespace)
	if err != nil {
		t.Fatalf("list %s: %v", namespace, err)
	}
	out := []string{}
	for _, e := range entries {
		if e.Namespace != namespace {
			t.Errorf("an entry of %s is in the list of %s", e.Namespace, namespace)
		}
		out = append(out, e.Key+"="+compact(t, e.Value))
	}
	return out
}

// pages returns the keys of n, page by page.
func pages(t *testing.T, s profile.Store, p profile.Page) (keys []string) {
	t.Helper()
	for {
		page, err := s.Page(t.Context(), "n", p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if want := fmt.Sprintf(`"v of %.5s"`, e.Key); compact(t, e.Value) != want || e.Namespace != "n" || e.UpdatedAt.IsZero() {
				t.Errorf("%+v, want %s", e, want)
			}
			keys = append(keys, e.Key)
		}
		if len(page) < p.Limit {
			return keys
		}
		p.After = keys[len(keys)-1]
	}
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

var cases = []struct {
	promise string
	check   func(t *testing.T, s profile.Store)
}{
	{"GetReturnsNilIfTheEntryDoesNotExist", func(t *testing.T, s profile.Store) {
		if e, err := s.Get(t.Context(), "n", "k"); e != nil || err != nil {
			t.Errorf("got %v, %v", e, err)
		}
		equal(t, "an empty list", []string{}, list(t, s, "n"))
	}},
	{"SetCreatesAndReplaces", func(t *testing.T, s profile.Store) {
		for _, v := range []string{`{"a":[1,2]}`, `"text"`, `7`, `null`, `false`} {
			set(t, s, "n", "k", v)
			equal(t, "value", v, get(t, s, "n", "k"))
		}
		equal(t, "list", []string{"k=false"}, list(t, s, "n"))
	}},
	{"AMarkStaysWithItsValue", func(t *testing.T, s profile.Store) {
		mark := func(want string) {
			t.Helper()
			e, err := s.Get(t.Context(), "n", "k")
			if err != nil || e == nil {
				t.Fatalf("got %v, %v", e, err)
			}
			all, err := s.List(t.Context(), "n")
			page, perr := s.Page(t.Context(), "n", profile.Page{Limit: 1})
			if err != nil || perr != nil || len(all) != 1 || len(page) != 1 {
				t.Fatalf("listed %v, %v; paged %v, %v", all, err, page, perr)
			}
			for _, m := range []json.RawMessage{e.Mark, all[0].Mark, page[0].Mark} {
				if got := string(m); got != want && (want == "" || compact(t, m) != want) {
					t.Errorf("the mark is %q, want %q", got, want)
				}
			}
		}
		set(t, s, "n", "k", `1`)
		mark("")
		marked := s.Marked(json.RawMessage(`{"run":"r\u0000"}`))
		set(t, marked, "n", "k", `1`)
		mark(`{"run":"r\u0000"}`)
		swap := func(s profile.Store, old, value string) {
			t.Helper()
			e, err := s.Get(t.Context(), "n", "k")
			if err != nil || compact(t, e.Value) != old {
				t.Fatalf("got %v, %v", e, err)
			}
			if done, err := s.CompareAndSet(t.Context(), "n", "k", e.Value, json.RawMessage(value)); err != nil || !done {
				t.Fatalf("compared %v, %v", done, err)
			}
		}
		swap(s, `1`, `2`)
		mark("")
		swap(marked, `2`, `3`)
		mark(`{"run":"r\u0000"}`)
		swap(marked.Marked(nil), `3`, `3`)
		mark("")
		if err := s.Delete(t.Context(), "n", "k"); err != nil {
			t.Fatal(err)
		}
		if done, err := marked.CompareAndSet(t.Context(), "n", "k", nil, json.RawMessage(`4`)); err != nil || !done {
			t.Fatalf("compared %v, %v", done, err)
		}
		mark(`{"run":"r\u0000"}`)
	}},
	{"NamespacesAndKeysAreIndependent", func(t *testing.T, s profile.Store) {
		set(t, s, "a", "x", `1`)
		set(t, s, "b", "x", `2`)
		set(t, s, "a", "y", `3`)
		set(t, s, "ab", "", `4`)
		set(t, s, "a:b", "c", `5`)
		set(t, s, "a", "b:c", `6`)
		for _, tt := range [][3]string{{"a", "x", "1"}, {"b", "x", "2"}, {"a", "y", "3"}, {"ab", "", "4"}, {"a:b", "c", "5"}, {"a", "b:c", "6"}, {"b", "y", ""}} {
			equal(t, tt[0]+" of "+tt[1], tt[2], get(t, s, tt[0], tt[1]))
		}
	}},
	{"DeleteRemovesOneEntry", func(t *testing.T, s profile.Store) {
		set(t, s, "a", "x", `1`)
		set(t, s, "a", "y", `2`)
		for range 2 { // the second time, the entry does not exist
			if err := s.Delete(t.Context(), "a", "x"); err != nil {
				t.Errorf("delete: %v", err)
			}
		}
		equal(t, "list", []string{"y=2"}, list(t, s, "a"))
		set(t, s, "a", "x", `3`)
		equal(t, "value", "3", get(t, s, "a", "x"))
	}},
	{"ListIsSortedByKey", func(t *testing.T, s profile.Store) {
		for i, k := range []string{"b", "a", "é", "Z", "10", "9", "a b", ""} {
			set(t, s, "n", k, fmt.Sprint(i))
		}
		set(t, s, "other", "a", `99`)
		// By the bytes of the key, whatever the locale.
		equal(t, "list", []string{"=7", "10=4", "9=5", "Z=3", "a=1", "a b=6", "b=0", "é=2"}, list(t, s, "n"))
	}},
	{"PagesAreThePartsOfTheList", func(t *testing.T, s profile.Store) {
		keys := []string{"10", "9", "Z", "a", "a b", "b", "é", strings.Repeat("k", 200)}
		slices.Sort(keys)
		for _, k := range keys {
			set(t, s, "n", k, fmt.Sprintf(`"v of %.5s"`, k))
		}
		set(t, s, "other", "a", `99`)
		for _, descending := range []bool{false, true} {
			want := slices.Clone(keys)
			if descending {
				slices.Reverse(want)
			}
			for limit := 1; limit <= len(keys)+1; limit++ {
				equal(t, fmt.Sprintf("pages of %d, descending %t", limit, descending), want, pages(t, s, profile.Page{Limit: limit, Descending: descending}))
			}
		}
		if page, err := s.Page(t.Context(), "none", profile.Page{Limit: 5}); len(page) > 0 || err != nil {
			t.Errorf("%v, %v", page, err)
		}
	}},
	{"PagesCutLargeValues", func(t *testing.T, s profile.Store) {
		for i := range 3 {
			set(t, s, "n", fmt.Sprint(i), fmt.Sprintf(`{"head":%d,"tail":"%s"}`, i, strings.Repeat("é", 1<<16)))
		}
		set(t, s, "n", "small", `{"head":3}`)
		page, err := s.Page(t.Context(), "n", profile.Page{Limit: 5, Size: 100})
		if err != nil || len(page) != 4 {
			t.Fatalf("%v, %v", page, err)
		}
		for i, e := range page {
			var head int
			dec := json.NewDecoder(bytes.NewReader(e.Value))
			for range 2 { // { and the name of the field
				if _, err := dec.Token(); err != nil {
					t.Fatal(err)
				}
			}
			if err := dec.Decode(&head); err != nil || head != i || len(e.Value) > 400 || e.UpdatedAt.IsZero() {
				t.Errorf("%+v, %v", e, err)
			}
		}
		equal(t, "small value", `{"head":3}`, compact(t, page[3].Value))
	}},
	{"ClearRemovesAKeyFromAllNamespaces", func(t *testing.T, s profile.Store) {
		for _, n := range []string{"a", "b"} {
			for _, k := range []string{"user::alice", "user::bob", "user::alice2"} {
				set(t, s, n, k, `1`)
			}
		}
		for range 2 {
			if err := s.Clear(t.Context(), "user::alice"); err != nil {
				t.Errorf("clear: %v", err)
			}
		}
		for _, n := range []string{"a", "b"} {
			equal(t, "list of "+n, []string{"user::alice2=1", "user::bob=1"}, list(t, s, n))
		}
	}},
	{"EntriesHaveTheTimeOfTheLastSet", func(t *testing.T, s profile.Store) {
		before := time.Now().Add(-time.Minute) // the store may use another machine's clock
		set(t, s, "n", "k", `1`)
		first, err := s.Get(t.Context(), "n", "k")
		if err != nil {
			t.Fatal(err)
		}
		if first.UpdatedAt.Before(before) || first.UpdatedAt.After(time.Now().Add(time.Minute)) {
			t.Errorf("it was set at %s", first.UpdatedAt)
		}
		set(t, s, "n", "k", `2`)
		second, err := s.Get(t.Context(), "n", "k")
		if err != nil || second.UpdatedAt.Before(first.UpdatedAt) {
			t.Errorf("it was set again at %s, before %s (%v)", second.UpdatedAt, first.UpdatedAt, err)
		}
	}},
	{"ValuesBelongToTheCaller", func(t *testing.T, s profile.Store) {
		value := json.RawMessage(`"mine"`)
		if err := s.Set(t.Context(), "n", "k", value); err != nil {
			t.Fatal(err)
		}
		copy(value, `"hers"`)
		e, err := s.Get(t.Context(), "n", "k")
		if err != nil {
			t.Fatal(err)
		}
		copy(e.Value, `"ours"`)
		entries, err := s.List(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		copy(entries[0].Value, `"they"`)
		equal(t, "value", `"mine"`, get(t, s, "n", "k"))
	}},
	{"KeepsAnyCharacterAndLargeValues", func(t *testing.T, s profile.Store) {
		for _, text := range []string{"日本語 👩‍👩‍👧", `' " \ % _ ; --`, "new\nline", strings.Repeat("x", 1<<20)} {
			value, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			key := text[:min(len(text), 200)]
			set(t, s, key, key, string(value))
			e, err := s.Get(t.Context(), key, key)
			if err != nil || e == nil {
				t.Fatalf("%.20q: %v, %v", text, e, err)
			}
			var got string
			if err := json.Unmarshal(e.Value, &got); err != nil || got != text {
				t.Errorf("%.20q came back as %.20q, %v", text, got, err)
			}
		}
	}},
	{"TypedKeysWork", func(t *testing.T, s profile.Store) {
		type prefs struct{ Locale string }
		key := profile.NewKey[prefs]("prefs")
		if v, err := key.Read(t.Context(), s, profile.Global); err != nil || v != (prefs{}) {
			t.Errorf("read %+v, %v", v, err)
		}
		if err := key.Write(t.Context(), s, profile.Global, prefs{"fr"}); err != nil {
			t.Fatal(err)
		}
		if v, err := key.Read(t.Context(), s, profile.Global); err != nil || v.Locale != "fr" {
			t.Errorf("read %+v, %v", v, err)
		}
	}},
	{"CompareAndSetSetsOnlyWhatIsStillThere", func(t *testing.T, s profile.Store) {
		try := func(want bool, old, value string) {
			t.Helper()
			var before, after json.RawMessage
			if old != "" {
				before = json.RawMessage(old)
			}
			if value != "" {
				after = json.RawMessage(value)
			}
			if got, err := s.CompareAndSet(t.Context(), "n", "k", before, after); got != want || err != nil {
				t.Errorf("%q to %q: %v, %v, want %v", old, value, got, err, want)
			}
		}
		try(false, `1`, `2`)
		try(true, "", `1`)
		try(false, "", `2`)
		try(false, `2`, `3`)
		equal(t, "value", "1", get(t, s, "n", "k"))
		try(true, `1`, `null`)
		try(true, `null`, `{"a":"日本"}`)
		e, err := s.Get(t.Context(), "n", "k")
		if err != nil || e == nil {
			t.Fatal(e, err)
		}
		try(true, string(e.Value), `4`)
		if err := s.Delete(t.Context(), "n", "k"); err != nil {
			t.Fatal(err)
		}
		try(false, `4`, `5`)
		equal(t, "list", []string{}, list(t, s, "n"))
		try(true, "", "")
		try(true, "", `6`)
		try(false, "", "")
		try(false, `7`, "")
		equal(t, "value", "6", get(t, s, "n", "k"))
		try(true, `6`, "")
		try(false, `6`, "")
		equal(t, "list", []string{}, list(t, s, "n"))
	}},
	{"UpdatesAreNeverLost", func(t *testing.T, s profile.Store) {
		visits := profile.NewKey[map[string]int]("visits")
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for range 10 {
					if _, err := visits.Update(context.Background(), s, profile.Global, func(v map[string]int) (map[string]int, error) {
						v = maps.Clone(v)
						if v == nil {
							v = map[string]int{}
						}
						v["all"]++
						v[fmt.Sprint(w)]++
						return v, nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		equal(t, "value", `{"0":10,"1":10,"2":10,"3":10,"all":40}`, get(t, s, "visits", profile.Global))
	}},
	{"ConcurrentWritersDoNotDisturbEachOther", func(t *testing.T, s profile.Store) {
		ctx := context.Background()
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 20 {
					own := fmt.Sprintf("w%d", w)
					if err := s.Set(ctx, "own", own, json.RawMessage(fmt.Sprint(i))); err != nil {
						t.Error(err)
					}
					if err := s.Set(ctx, "shared", "k", json.RawMessage(fmt.Sprintf(`{"by":%d,"again":%d}`, w, w))); err != nil {
						t.Error(err)
					}
					e, err := s.Get(ctx, "shared", "k")
					var v struct{ By, Again int }
					if err != nil || e == nil || json.Unmarshal(e.Value, &v) != nil || v.By != v.Again {
						t.Errorf("half a value: %v, %v", e, err)
					}
					if _, err := s.List(ctx, "own"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for w := range 8 {
			equal(t, "own value", "19", get(t, s, "own", fmt.Sprintf("w%d", w)))
		}
	}},
}
