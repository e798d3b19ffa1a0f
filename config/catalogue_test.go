package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
)

// shelf holds publications in memory.
type shelf struct {
	pubs map[int64]*Publication
	docs map[string]json.RawMessage
	read []string // hashes that were asked for
}

func (s *shelf) Publication(_ context.Context, number int64) (*Publication, error) {
	if p := s.pubs[number]; p != nil {
		return p, nil
	}
	return nil, awaken.ErrNotFound
}

func (s *shelf) Documents(_ context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	s.read = append(s.read, hashes...)
	out := map[string]json.RawMessage{}
	for _, h := range hashes {
		if doc, ok := s.docs[h]; ok {
			out[h] = doc
		}
	}
	return out, nil
}

// publish adds a publication based on another. changes maps ids of skills to texts; ""
// deletes.
func (s *shelf) publish(number, base int64, changes map[string]string) *Publication {
	p := &Publication{Number: number, Base: base}
	for id, text := range changes {
		e := Entry{Key: Key{Skills, id}}
		if text != "" {
			doc := skillDoc(id, text)
			e = doc.Entry
			s.docs[doc.Hash] = doc.raw
		}
		p.Entries = append(p.Entries, e)
	}
	s.pubs[number] = p
	return p
}

func skillDoc(id, text string) *document {
	return newDocument(Key{Skills, id}, encode(map[string]any{"id": id, "name": id, "description": "d", "instructions_md": text}), 1)
}

// at returns the state of a process that runs a version with these skills.
func at(number int64, skills map[string]string) *state {
	docs := map[Key]*document{}
	for id, text := range skills {
		docs[Key{Skills, id}] = skillDoc(id, text)
	}
	return &state{head: Head{Live: number}, live: &compiled{number: number, docs: docs, since: 10}, secrets: &secrets{}}
}

// newShelf returns four versions: 2 and 3 follow 1, which has a manifest, and 4 is also
// based on 1.
func newShelf() *shelf {
	s := &shelf{pubs: map[int64]*Publication{}, docs: map[string]json.RawMessage{}}
	first := s.publish(1, 0, map[string]string{"a": "one", "b": "one"})
	first.Manifest = first.Entries
	s.publish(2, 1, map[string]string{"a": "two"})
	s.publish(3, 2, map[string]string{"b": "", "c": "three"})
	s.publish(4, 1, map[string]string{"a": "four"})
	return s
}

// shows formats documents as texts.
func shows(docs map[Key]*document) (out []string) {
	for key, doc := range docs {
		text := "gone"
		if doc != nil {
			var s SkillSpec
			_ = json.Unmarshal(doc.raw, &s)
			text = s.InstructionsMD
		}
		out = append(out, key.ID+" "+text)
	}
	slices.Sort(out)
	return out
}

func TestCatalogue_DifferenceFromWhatRuns(t *testing.T) {
	one := map[string]string{"a": "one", "b": "one"}
	for _, c := range []struct {
		name  string
		from  *state
		to    int64
		want  []string
		since int
	}{
		{"nothing", at(3, nil), 3, nil, 10},
		{"along the chain", at(1, one), 3, []string{"a two", "b gone", "c three"}, 13},
		{"back to a manifest", at(3, map[string]string{"a": "two", "c": "three"}), 1, []string{"a one", "b one", "c gone"}, 0},
		{"to a branch", at(3, map[string]string{"a": "two", "c": "three"}), 4, []string{"a four", "b one", "c gone"}, 1},
		{"to before everything", at(1, one), 0, []string{"a gone", "b gone"}, 0},
		{"from nothing", at(0, nil), 2, []string{"a two", "b one"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShelf()
			docs, since, err := (&catalogue{store: s}).difference(t.Context(), c.from, c.to)
			if err != nil {
				t.Fatal(err)
			}
			if got := shows(docs); !slices.Equal(got, c.want) || since != c.since {
				t.Errorf("the difference is %q, %d entries from a manifest, want %q and %d", got, since, c.want, c.since)
			}
		})
	}
}

func TestCatalogue_ReusesDocumentsOfTheState(t *testing.T) {
	s := newShelf()
	c := &catalogue{store: s}
	has := at(9, map[string]string{"a": "two", "b": "one"})
	entries, err := c.entries(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.documents(t.Context(), has, entries); err != nil || len(s.read) != 0 {
		t.Errorf("read %q (%v), want nothing", s.read, err)
	}
}

func TestCatalogue_MissingVersions(t *testing.T) {
	s := newShelf()
	c := &catalogue{store: s}
	delete(s.pubs, 2)
	_, _, err := c.difference(t.Context(), at(1, nil), 3)
	if !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a chain that is broken is %v, want ErrNotFound", err)
	}
	if _, err := c.entries(t.Context(), 3); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("the entries of a broken chain are %v, want ErrNotFound", err)
	}
	clear(s.docs)
	if _, _, err := c.difference(t.Context(), at(0, nil), 1); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a document that is gone is %v, want ErrNotFound", err)
	}
}

func TestCatalogue_Public(t *testing.T) {
	s := newShelf()
	s.pubs[FirstPreview+7] = &Publication{Number: FirstPreview + 7, Base: 3, Kind: previewKind}
	c := &catalogue{store: s}
	head := Head{Live: 3, Last: 4}
	for number, want := range map[int64]error{0: awaken.ErrNotFound, 1: nil, 4: nil, 5: awaken.ErrNotFound, FirstPreview + 7: awaken.ErrInvalid, FirstPreview + 8: awaken.ErrNotFound} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			if err := c.public(t.Context(), head, number); !errors.Is(err, want) {
				t.Errorf("version %d is %v, want %v", number, err, want)
			}
		})
	}
}
