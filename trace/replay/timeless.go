package replay

import "strings"

// times are the names of the fields of events and records that hold a time or a duration.
var times = names("updated_at", "started_at", "ended_at", "created_at", "finished_at", "expires_at", "at", "duration_ms", "started_ms", "not_before",
	"since", "started_at_ms", "timestamp_ms", "not_before_ms")

// foreign are the names of the fields whose objects come from a model, a tool or a client: fields in them are not times of the runtime,
// whatever their names.
var foreign = names("arguments", "data", "structured_output", "input", "payload", "parameters", "client")

func names(all ...string) map[string]bool {
	out := make(map[string]bool, len(all))
	for _, name := range all {
		out[name] = true
	}
	return out
}

// timeless returns an event or a record, which is JSON without spaces, with 0 for every time of the runtime.
func timeless(s string) string {
	var out strings.Builder
	done := 0 // how much of s is in out
	for i := 0; i < len(s); {
		if s[i] != '"' {
			i++
			continue
		}
		from := i + 1
		i = afterString(s, i)
		if i >= len(s) || s[i] != ':' {
			continue
		}
		name := s[from : i-1]
		i++
		if foreign[name] {
			i = afterValue(s, i)
			continue
		}
		if end := afterDigits(s, i); times[name] && end > i {
			out.WriteString(s[done:i])
			out.WriteByte('0')
			i, done = end, end
		}
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// afterString returns the index after the string that begins at i, or len(s) if it does not end.
func afterString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// afterValue returns the index after the object or array that begins at i. It returns i for another value.
func afterValue(s string, i int) int {
	for depth := 0; i < len(s); {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if depth > 0 {
				i = afterString(s, i)
				continue
			}
		}
		if depth <= 0 {
			if s[i] == '}' || s[i] == ']' {
				i++
			}
			return i
		}
		i++
	}
	return i
}

// afterDigits returns the index after the digits that begin at i.
func afterDigits(s string, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}
