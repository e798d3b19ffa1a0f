package bus

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText is the maximum length of a text that is sent in parts.
const MaxText = 1 << 20

// version begins every part. Processes that speak another version ignore it.
const version = "awaken1"

// headRoom is what the first line of a part takes at most, with a sender of up to 64 bytes.
const headRoom = len(version) + 64 + 3*20 + 5

// Split splits a text into parts of at most limit bytes, which a [Joiner] in another process joins. Number identifies the text among the
// texts of the sender. For a text longer than [MaxText], Split returns nil.
func Split(from string, number uint64, text string, limit int) []string {
	room := limit - headRoom
	if len(text) > MaxText || len(from) > 64 || room < utf8.UTFMax {
		return nil
	}
	var cuts []string
	for len(text) > room {
		n := room
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		if n == 0 { // not UTF-8
			n = room
		}
		cuts, text = append(cuts, text[:n]), text[n:]
	}
	cuts = append(cuts, text)
	for i, cut := range cuts {
		cuts[i] = fmt.Sprintf("%s %s %d %d %d\n%s", version, from, number, i+1, len(cuts), cut)
	}
	return cuts
}

// Joiner joins the parts of texts. The parts of a text must arrive in order, without parts of another long text of the same sender between
// them; otherwise the text is lost. The zero Joiner is ready for use.
type Joiner struct {
	open map[string]*joining // by sender
}

// joining is a text of which parts are missing.
type joining struct {
	number uint64
	next   int
	parts  int
	text   strings.Builder
}

// maxJoining is the maximum number of senders with an incomplete text.
const maxJoining = 64

// Add adds a part. If the part completes a text, Add returns the text and its sender.
func (j *Joiner) Add(part string) (from, text string, ok bool) {
	from, number, i, n, cut, ok := parse(part)
	if !ok {
		return "", "", false
	}
	if n == 1 {
		return from, cut, true
	}
	if i == 1 {
		if j.open == nil || len(j.open) >= maxJoining {
			j.open = map[string]*joining{}
		}
		j.open[from] = &joining{number: number, next: 1, parts: n}
	}
	t := j.open[from]
	if t == nil {
		return "", "", false
	}
	if t.number != number || t.next != i || t.parts != n || t.text.Len()+len(cut) > MaxText {
		delete(j.open, from)
		return "", "", false
	}
	t.next++
	t.text.WriteString(cut)
	if i < n {
		return "", "", false
	}
	delete(j.open, from)
	return from, t.text.String(), true
}

// parse reads the first line of a part.
func parse(part string) (from string, number uint64, i, n int, cut string, ok bool) {
	head, cut, ok := strings.Cut(part, "\n")
	f := strings.Split(head, " ")
	if !ok || len(f) != 5 || f[0] != version || f[1] == "" {
		return "", 0, 0, 0, "", false
	}
	number, err1 := strconv.ParseUint(f[2], 10, 64)
	i, err2 := strconv.Atoi(f[3])
	n, err3 := strconv.Atoi(f[4])
	if err1 != nil || err2 != nil || err3 != nil || i < 1 || i > n || n > MaxText {
		return "", 0, 0, 0, "", false
	}
	return f[1], number, i, n, cut, true
}
