package bus

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText is the length of the longest text that can be sent in parts.
const MaxText = 1 << 20

// version begins every part. Processes that speak another version ignore it.
const version = "awaken1"

// headRoom is what the first line of a part takes at most, with a sender of up to 64 bytes.
const headRoom = len(version) + 64 + 3*20 + 5

// Split returns a text as parts of at most limit bytes, which a [Joiner] of another process puts
// together. Number tells the texts of one sender apart. A text longer than [MaxText] has no parts.
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

// Joiner puts parts together. The parts of a text must arrive in order, with no part of another long
// text of the same sender between them; otherwise the text is lost. The zero Joiner is ready for use.
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

// maxJoining is how many senders may have a text in parts at a time.
const maxJoining = 64

// Add takes a part. It returns the text that the part completes, if any, and its sender.
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
