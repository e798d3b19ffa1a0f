package protocol_test

import (
	"encoding/base64"
	"testing"
	"unicode/utf8"

	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

func TestSay_AFileIsTheSameHoweverItIsReferredTo(t *testing.T) {
	d := blob.NewDigest("image/png")
	d.Write([]byte("picture"))
	say := func(s *llm.Source) string {
		t.Helper()
		said, err := protocol.Say(&llm.Message{ID: "m", Role: llm.User, Content: []llm.Block{llm.Text("look"), llm.Image(s)}})
		if err != nil || said.MessageID != "m" {
			t.Fatal(said, err)
		}
		return said.Content
	}
	inline := &llm.Source{Type: "base64", MediaType: "image/png", Data: base64.StdEncoding.EncodeToString([]byte("picture"))}
	stored := &llm.Source{Type: "blob", MediaType: "image/png", ID: d.ID(), Size: 7}
	other := &llm.Source{Type: "base64", MediaType: "image/png", Data: base64.StdEncoding.EncodeToString([]byte("another"))}
	if say(inline) != say(stored) || say(inline) == say(other) || inline.Data == "" {
		t.Errorf("digests %s, %s and %s, want the first two equal", say(inline), say(stored), say(other))
	}
}

func TestSay_NamesOnlyMessagesOfUsersWithIDs(t *testing.T) {
	for _, m := range []*llm.Message{nil, llm.UserText("no id"), {ID: "m", Role: llm.Assistant}, {ID: "m", Role: llm.System}} {
		if said, err := protocol.Say(m, "manner"); said.MessageID != "" || err != nil {
			t.Errorf("%+v: %+v, %v", m, said, err)
		}
	}
	if said, err := protocol.SayLast(nil); said.MessageID != "" || err != nil {
		t.Errorf("no messages: %+v, %v", said, err)
	}
}

// Equal messages have equal digests, and the digest of a different one differs.
func FuzzSay(f *testing.F) {
	f.Add("hello", "hello", "a", "a")
	f.Add("hello", "hello ", "a", "b")
	f.Fuzz(func(t *testing.T, one, two, how, other string) {
		say := func(text string, manner ...string) (string, string) {
			said, err := protocol.Say(&llm.Message{ID: "m", Role: llm.User, Content: []llm.Block{llm.Text(text)}}, manner...)
			if err != nil {
				t.Skip() // no JSON
			}
			return said.Content, said.Manner
		}
		a, x := say(one, how)
		b, y := say(two, other)
		if one == two != (a == b) && utf8.ValidString(one+two) || how == other != (x == y) {
			t.Errorf("%q and %q: %s and %s; %q and %q: %s and %s", one, two, a, b, how, other, x, y)
		}
		if _, split := say(one, how, other); split == x {
			t.Errorf("%q with %q is the same as alone", how, other)
		}
	})
}
