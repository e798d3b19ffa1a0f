package runs

import "testing"

// A cursor that is accepted is the text of a cursor, so that a client cannot make two of one.
func FuzzChangeCursor(f *testing.F) {
	for _, text := range []string{"", "0", "42", "42~1x9.3-17", "42.mi2bnwrk", "42.mi2bnwrk~1x9.3-17", "42.", "42.0", "42.-1", "42.MI", "42.1.2", "42~a.1-2~b.3-4", "-1", "042", "42~", "42~a", "42~a.1", "42~.1-2", "9223372036854775808", "42~a.01-2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseChangeCursor(text)
		if err != nil || text == "" {
			return
		}
		again, err := parseChangeCursor(string(c.append(nil)))
		if err != nil || string(again.append(nil)) != string(c.append(nil)) || again.log != c.log || len(again.threads) != len(c.threads) {
			t.Errorf("%q is %v and then %v, %v", text, c, again, err)
		}
	})
}
