package config

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
)

// cabinet holds records in memory.
type cabinet map[Key]*Record

func (c cabinet) Record(_ context.Context, key Key) (*Record, error) {
	if rec := c[key]; rec != nil {
		return rec, nil
	}
	return nil, awaken.ErrNotFound
}

// newPlan returns a plan based on a live version.
func newPlan(now *state, has cabinet, v *Vault) *plan {
	now.secrets = &secrets{v, now.secrets.sealed}
	return &plan{now: now, store: has, vault: v, at: time.UnixMilli(5000), docs: map[Key]*document{}, tools: &toolbox{},
		audit: &AuditLog{clock: time.Now, newID: func() string { return "e" }}}
}

func TestPlan_ChecksTheCondition(t *testing.T) {
	there, none := Key{Agents, "there"}, Key{Agents, "none"}
	p := newPlan(at(1, nil), cabinet{there: {Meta: Meta{Revision: 3}}}, nil)
	for _, c := range []struct {
		key  Key
		when Condition
		want error
	}{
		{there, Condition{}, nil},
		{none, Condition{}, nil},
		{there, Condition{Absent: true}, ErrExists},
		{none, Condition{Absent: true}, nil},
		{there, Condition{Present: true}, nil},
		{none, Condition{Present: true}, ErrStale},
		{there, Condition{Revision: 3}, nil},
		{there, Condition{Revision: 2}, ErrStale},
		{none, Condition{Revision: 1}, ErrStale},
	} {
		rec, err := p.expect(t.Context(), c.key, c.when)
		if !errors.Is(err, c.want) || err == nil && (rec != nil) != (c.key == there) {
			t.Errorf("%s with %+v is %v (%v), want %v", c.key, c.when, rec, err, c.want)
		}
	}
}

func TestPlan_PublishesOnlyWhatDiffers(t *testing.T) {
	p := newPlan(at(1, map[string]string{"a": "one", "b": "one"}), nil, nil)
	record := func(id, text string) *Record { return &Record{Spec: skillDoc(id, text).raw} }
	for id, text := range map[string]string{"a": "one", "b": "two", "c": "new"} {
		if err := p.live(Key{Skills, id}, record(id, text)); err != nil {
			t.Fatal(err)
		}
	}
	hidden := record("b", "two")
	hidden.Meta.Hidden = true
	if got := shows(p.docs); strings.Join(got, ", ") != "b two, c new" {
		t.Errorf("live after it are %q", got)
	}
	if err := p.live(Key{Skills, "b"}, hidden); err != nil {
		t.Fatal(err)
	}
	p.gone(Key{Skills, "d"}) // it never was
	delete(p.docs, Key{Skills, "c"})
	if got := shows(p.docs); strings.Join(got, ", ") != "b gone" {
		t.Errorf("live after it are %q, want that b is gone", got)
	}
	if docs := p.documents(); len(docs) != 0 {
		t.Errorf("%d documents are published, want none", len(docs))
	}
}

func TestPlan_IncrementsRevisions(t *testing.T) {
	p := newPlan(at(1, nil), nil, nil)
	key := Key{Skills, "a"}
	p.write(key, &Record{}, nil)
	p.write(key, &Record{}, &Record{Meta: Meta{Revision: 7, CreatedAt: 2}})
	first, next := p.records[0], p.records[1]
	if m := first.Record.Meta; first.Expect != 0 || m.Revision != 1 || m.CreatedAt != 5000 || m.UpdatedAt != 5000 {
		t.Errorf("a new record is %+v, expected %d", m, first.Expect)
	}
	if m := next.Record.Meta; next.Expect != 7 || m.Revision != 8 || m.CreatedAt != 2 || m.UpdatedAt != 5000 {
		t.Errorf("a record that is replaced is %+v, expected %d", m, next.Expect)
	}
}

func TestPlan_StoresNewSecretsAndDeletesUnusedOnes(t *testing.T) {
	v := vault(t, strings.Repeat("42", 32))
	key := Key{Providers, "p"}
	write := func(p *plan, spec string, old *Record) (*Record, error) {
		return p.put(key, []byte(spec), old, false)
	}
	p := newPlan(at(1, nil), nil, v)
	rec, err := write(p, `{"id":"p","adapter":"x","api_key":"sk-one"}`, nil)
	if err != nil || len(p.secrets) != 1 || strings.Contains(string(rec.Spec), "sk-one") {
		t.Fatalf("the record is %s with %d secrets (%v)", rec.Spec, len(p.secrets), err)
	}
	now := at(2, nil)
	now.live.docs[key] = p.docs[key]
	now.secrets = p.now.secrets.with(p.secrets)

	p = newPlan(now, nil, v)
	if _, err := write(p, `{"id":"p","adapter":"x","api_key":"sk-one"}`, rec); err != nil || len(p.secrets) != 0 {
		t.Errorf("the same secret makes %d changes (%v)", len(p.secrets), err)
	}
	p = newPlan(now, nil, v)
	if _, err := write(p, `{"id":"p","adapter":"x","api_key":""}`, rec); err != nil || len(p.secrets) != 1 || p.secrets[0].Secret != nil {
		t.Errorf("a secret that is cleared makes the changes %+v (%v), want one that removes it", p.secrets, err)
	}
	p = newPlan(now, nil, v)
	if p.remove(key, rec); len(p.secrets) != 1 || p.secrets[0].Secret != nil || p.events[0].Action != "delete" {
		t.Errorf("a record that goes makes the changes %+v, want one that removes its secret", p.secrets)
	}
	now.canary = now.live // needs it still
	p = newPlan(now, nil, v)
	if p.remove(key, rec); len(p.secrets) != 0 {
		t.Errorf("the secret of the canary goes: %+v", p.secrets)
	}
	p = newPlan(at(1, nil), nil, nil)
	if _, err := write(p, `{"id":"p","adapter":"x","api_key":"sk-one"}`, nil); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("a secret without a key is %v, want ErrInvalid", err)
	}
}

func TestPlan_BuiltinStaysBuiltinIfOverridesSuffice(t *testing.T) {
	p := newPlan(at(1, nil), nil, nil)
	key := Key{Skills, "a"}
	builtin := &Record{Spec: skillDoc("a", "one").raw, Meta: Meta{Source: Source{Kind: Builtin, BinaryVersion: "1"}}}
	if rec, err := p.become(key, builtin, builtin.Spec); err != nil || rec != nil {
		t.Errorf("what it is already is %+v (%v), want nil", rec, err)
	}
	rec, err := p.become(key, builtin, skillDoc("a", "two").raw)
	if err != nil || rec.Meta.Source != builtin.Meta.Source || string(rec.Meta.UserOverrides) != `{"instructions_md":"two"}` {
		t.Errorf("another text is %+v (%v), want an override", rec, err)
	}
	tree, _ := parse(builtin.Spec)
	tree["context"] = "fork"
	tree["paths"] = []any{"p"} // that no patch has
	if rec, err := p.become(key, builtin, encode(tree)); err != nil || rec.Meta.Source.Kind != User {
		t.Errorf("what overrides cannot say is %+v (%v), want a record of people", rec, err)
	}
}
