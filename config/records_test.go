package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
)

// drawer holds the records of one namespace in memory. Reading after the id fail fails.
type drawer struct {
	list  []Stored
	fail  string
	pages int
}

var errDrawer = errors.New("the drawer is stuck")

func (d *drawer) Records(_ context.Context, _ Namespace, after string, limit int) ([]Stored, error) {
	d.pages++
	if d.fail != "" && after >= d.fail {
		return nil, errDrawer
	}
	i := 0
	for i < len(d.list) && d.list[i].ID <= after {
		i++
	}
	return d.list[i:min(i+limit, len(d.list))], nil
}

// readIDs reads up to a number of ids, until the end or an error.
func readIDs(list func(func(Stored, error) bool), most int) (out []string, err error) {
	for s, err := range list {
		if err != nil {
			return out, err
		}
		if out = append(out, s.ID); len(out) == most {
			break
		}
	}
	return out, nil
}

func TestRecords_ArePagedAndEndWithTheFirstError(t *testing.T) {
	d := &drawer{}
	for i := range 600 {
		d.list = append(d.list, Stored{ID: fmt.Sprintf("%03d", i)})
	}
	r := &records{store: d}
	got, err := readIDs(r.list(t.Context(), Agents, ""), -1)
	if err != nil || len(got) != 600 || !slices.IsSorted(got) || d.pages != 3 {
		t.Errorf("%d records in %d pages (%v), want 600 in 3", len(got), d.pages, err)
	}
	d.pages = 0
	if got, err := readIDs(r.list(t.Context(), Agents, ""), 3); err != nil || len(got) != 3 || d.pages != 1 {
		t.Errorf("%d records in %d pages (%v), want 3 in 1", len(got), d.pages, err)
	}
	d.fail = "255"
	if got, err := readIDs(r.list(t.Context(), Agents, ""), -1); !errors.Is(err, errDrawer) || len(got) != 256 {
		t.Errorf("%d records and %v, want a page and the error", len(got), err)
	}
}

func TestRecords_OfToolsIncludeOverrides(t *testing.T) {
	c := newCurrent(newServers(nil), &accounts{})
	c.swap(t.Context(), at(1, nil))
	box := &toolbox{current: c}
	for _, id := range []string{"d", "b", "a"} {
		box.own = append(box.own, awaken.NewTool(awaken.ToolSpec{ID: id, Description: "does " + id},
			func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "", nil }))
	}
	overridden := Record{Meta: Meta{Revision: 3}}
	d := &drawer{list: []Stored{{"b", overridden}, {"c", overridden}}}
	r := &records{store: d, tools: box}
	revisions := map[string]int64{}
	for s, err := range r.list(t.Context(), Tools, "") {
		if err != nil {
			t.Fatal(err)
		}
		revisions[s.ID] = s.Meta.Revision
	}
	if got := fmt.Sprint(revisions); got != "map[a:0 b:3 c:3 d:0]" {
		t.Errorf("tools by revision are %s", got)
	}
	for most := 1; most <= 4; most++ {
		if got, err := readIDs(r.list(t.Context(), Tools, ""), most); err != nil || !slices.Equal(got, []string{"a", "b", "c", "d"}[:most]) {
			t.Errorf("the first %d are %q (%v)", most, got, err)
		}
	}
	if rec := box.base(Key{Tools, "a"}, nil); rec == nil || rec.Meta.Source.Kind != Builtin {
		t.Errorf("the base of a tool without overrides is %+v, want the program's", rec)
	}
	if box.base(Key{Tools, "x"}, nil) != nil || box.base(Key{Agents, "a"}, nil) != nil {
		t.Error("what is not there has a base")
	}
	if box.base(Key{Tools, "b"}, &overridden) != &overridden {
		t.Error("a record is not its own base")
	}
}
