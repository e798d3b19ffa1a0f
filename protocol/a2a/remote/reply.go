package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// reply is the answer of a task: the text of its artifacts, in their order. What has been yielded is a beginning of it, or is
// retracted.
type reply struct {
	parts []replyPart
	size  int
	shown []byte // yielded
	said  *said  // beginning that an earlier step has shown, or nil
}

type replyPart struct {
	id   string
	text []byte
}

// update is what a change of the reply yields.
type update struct {
	retracts bool // all that was yielded
	text     string
}

// separator is between two artifacts.
const separator = "\n\n"

// add takes a new artifact or a change of one.
func (r *reply) add(a *artifact, appends bool) update {
	text := artifactText(a)
	i := r.index(a.ArtifactID)
	if appends && i >= 0 && i == len(r.parts)-1 && len(r.shown) > 0 && r.said == nil { // nearly always
		r.parts[i].text = append(r.parts[i].text, text...)
		r.shown = append(r.shown, text...)
		r.size += len(text)
		return update{text: text}
	}
	switch {
	case i < 0:
		r.parts = append(r.parts, replyPart{a.ArtifactID, []byte(text)})
	case appends:
		r.parts[i].text = append(r.parts[i].text, text...)
	default:
		r.parts[i].text = []byte(text)
	}
	return r.compare()
}

// replace takes all artifacts of a task.
func (r *reply) replace(all []artifact) update {
	r.parts = r.parts[:0]
	for i := range all {
		a := &all[i]
		if at := r.index(a.ArtifactID); at >= 0 {
			r.parts[at].text = []byte(artifactText(a))
			continue
		}
		r.parts = append(r.parts, replyPart{a.ArtifactID, []byte(artifactText(a))})
	}
	return r.compare()
}

func (r *reply) index(id string) int {
	for i := len(r.parts) - 1; i >= 0; i-- {
		if r.parts[i].id == id {
			return i
		}
	}
	return -1
}

// text returns the whole answer.
func (r *reply) text() []byte {
	var out []byte
	for i := range r.parts {
		if len(r.parts[i].text) == 0 {
			continue
		}
		if len(out) > 0 {
			out = append(out, separator...)
		}
		out = append(out, r.parts[i].text...)
	}
	return out
}

// compare returns how the answer differs from what was yielded.
func (r *reply) compare() update {
	want := r.text()
	r.size = len(want)
	if s := r.said; s != nil && len(want) >= s.Length && hashOf(want[:s.Length]) == s.Hash {
		want = bytes.TrimPrefix(want[s.Length:], []byte(separator))
	} else if s != nil && len(want) > 0 {
		r.said = nil // replaced
	}
	if bytes.HasPrefix(want, r.shown) {
		u := update{text: string(want[len(r.shown):])}
		r.shown = want
		return u
	}
	u := update{retracts: true, text: string(want)}
	r.shown = want
	return u
}

// silent reports whether the step has said nothing.
func (r *reply) silent() bool { return len(r.shown) == 0 }

// all identifies the whole answer so far, or nil if there is none.
func (r *reply) all() *said {
	text := r.text()
	return &said{len(text), hashOf(text)}
}

func hashOf(text []byte) uint64 {
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// fallback returns the answer of a task without text in its artifacts: what its status says, its data, or the last message of
// its history.
func (r *reply) fallback(s *status, history []*message) update {
	text := textOf(s.Message)
	for i := range r.parts {
		if text != "" {
			break
		}
		text = string(r.parts[i].text)
	}
	for i := len(history) - 1; text == "" && i >= 0; i-- {
		if m := history[i]; m.Role == roleAgent {
			text = textOf(m)
		} else {
			break
		}
	}
	r.size, r.shown = len(text), []byte(text)
	return update{text: text}
}

// hasText reports whether an artifact has text.
func hasText(a *artifact) bool {
	for i := range a.Parts {
		if a.Parts[i].Text != nil {
			return true
		}
	}
	return false
}

// artifactText returns the text of an artifact: its text and its files. Data is left out if there is text.
func artifactText(a *artifact) string { return partsText(a.Parts) }

// textOf returns the text of a message, or of its data if it has no text.
func textOf(m *message) string {
	if m == nil {
		return ""
	}
	if text := partsText(m.Parts); text != "" {
		return text
	}
	var out []string
	for i := range m.Parts {
		if d := m.Parts[i].Data; len(d) > 0 {
			out = append(out, compact(d))
		}
	}
	return strings.Join(out, "\n")
}

func partsText(parts []part) string {
	var b strings.Builder
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Text != nil:
			b.WriteString(strings.ToValidUTF8(strings.ReplaceAll(*p.Text, "\x00", ""), "\uFFFD"))
		case p.URL != "":
			name := p.Filename
			if name == "" {
				name = p.URL
			}
			fmt.Fprintf(&b, "[%s](%s)", clip(name, 200), clip(p.URL, 2000))
		case p.Raw != "":
			fmt.Fprintf(&b, "[file %s (%s)]", clip(p.Filename, 200), clip(p.MediaType, 100))
		}
	}
	return b.String()
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}
