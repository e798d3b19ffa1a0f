package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// Whatever is written, it is sealed or refused in words; what is sealed stays as it is when
// it is sealed again, and what is shown of it can be written back.
func FuzzSeal(f *testing.F) {
	for i, ns := range Namespaces {
		f.Add(uint8(i), least[ns], "")
		f.Add(uint8(i), examples[ns], examples[ns])
		for _, doc := range secretPlaces[Key{ns, "x"}] {
			f.Add(uint8(i), doc, doc)
			f.Add(uint8(i), strings.ReplaceAll(doc, "S0", hidden), doc)
		}
	}
	f.Add(uint8(0), `{"id":"x","adapter":"a","api_key":{"$secret":"providers/x#/api_key"}}`, `{"id":"x","adapter":"a","api_key":"k"}`)
	f.Add(uint8(7), `{"id":"x","sections":{"a":{"$secret":"a","$secret2":{"token":[["t"]]}}}}`, `{"id":"x"}`)
	f.Fuzz(func(t *testing.T, n uint8, doc, old string) {
		key := Key{Namespaces[int(n)%len(Namespaces)], "x"}
		var stored json.RawMessage
		if s, err := seal(key, json.RawMessage(old), nil); err == nil {
			stored = s.Doc
		}
		s, err := seal(key, json.RawMessage(doc), stored)
		if err != nil {
			if !errors.Is(err, awaken.ErrInvalid) || err.Error() == "" {
				t.Fatal(err)
			}
			return
		}
		for _, ref := range secretsOf(s.Doc) {
			if !strings.HasPrefix(ref, key.String()+"#") {
				t.Fatalf("%s refers to %s", s.Doc, ref)
			}
		}
		again, err := seal(key, s.Doc, s.Doc)
		if err != nil || string(again.Doc) != string(s.Doc) || len(again.Secrets) > 0 {
			t.Fatalf("%s\nbecame\n%+v, %v", s.Doc, again, err)
		}
		shown, err := redact(key.Namespace, s.Doc)
		if err != nil || strings.Contains(string(shown), `{"$secret":`) {
			t.Fatalf("%s, %v", shown, err)
		}
		if back, err := seal(key, shown, s.Doc); err != nil || string(back.Doc) != string(s.Doc) {
			t.Fatalf("%s\nbecame\n%+v, %v", shown, back, err)
		}
		open, err := unseal(key, s.Doc, func(ref string) (awaken.Secret, error) {
			if v, ok := s.Secrets[ref]; ok {
				return v, nil
			}
			return awaken.NewSecret("kept"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := parse(open)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kinds[key.Namespace].read(tree); err != nil && len(s.Secrets) == len(secretsOf(s.Doc)) {
			t.Fatalf("%s: %v", fmt.Sprintf("%.200s", open), err)
		}
		newDocument(key, s.Doc, 1)
	})
}

// Whatever a patch is, it is merged or refused in words. What is merged is as good as
// valid, and to merge it again changes nothing.
func FuzzSealPatch(f *testing.F) {
	for _, patch := range []string{`{}`, `{"max_rounds":3}`, `{"_clear":["sections.a","max_rounds"]}`, `{"sections":{"a":null,"b":{"password":"p"}}}`,
		`{"endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":"t"}}}`, `{"allowed_tools":null,"allowed_tool_patterns":null}`,
		`{"context_policy":{"max_context_tokens":50000}}`, `{"backend":{"kind":"awaken","config":{"max_rounds":3}}}`, `{"description":"d","when_to_use":null}`} {
		for i := range uint8(3) {
			f.Add(i, patch, `{"sections":{"a":{"token":"t"}},"model_id":"m"}`)
			f.Add(i, patch, `{"description":"d"}`)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, patch, old string) {
		key := Key{[]Namespace{Agents, Skills, Tools}[n%3], "x"}
		var stored json.RawMessage
		if s, err := sealPatch(key, json.RawMessage(old), nil); err == nil {
			stored = s.Doc
		}
		s, err := sealPatch(key, json.RawMessage(patch), stored)
		if err != nil {
			if !errors.Is(err, awaken.ErrInvalid) || err.Error() == "" {
				t.Fatal(err)
			}
			return
		}
		if s.Doc == nil {
			return
		}
		again, err := sealPatch(key, s.Doc, s.Doc)
		if err != nil || string(again.Doc) != string(s.Doc) || len(again.Secrets) > 0 {
			t.Fatalf("%s\nbecame\n%+v, %v", s.Doc, again, err)
		}
		r := Record{Spec: mustSeal(t, key, least[key.Namespace], "").Doc, Meta: Meta{UserOverrides: s.Doc}}
		if err := r.validate(key); err != nil && !strings.Contains(err.Error(), "delegates has the agent itself") {
			t.Fatalf("%s: %v", s.Doc, err)
		}
	})
}
