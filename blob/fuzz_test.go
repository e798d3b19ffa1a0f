package blob_test

import (
	"testing"

	"github.com/awaken-go/awaken/blob"
)

// A media type in its stored form is its own stored form, and has no line break.
func FuzzParseMediaType(f *testing.F) {
	for _, s := range []string{"image/png", "text/plain; charset=utf-8", "a/b;c=\"d\\\"e\"", "*/*", "a/b\r\nX: y", "multipart/form-data; boundary=x", "a/b; c*=utf-8''%0a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, err := blob.ParseMediaType(s)
		if err != nil {
			return
		}
		if again, err := blob.ParseMediaType(out); again != out || err != nil {
			t.Errorf("%q is stored as %q, which is stored as %q, %v", s, out, again, err)
		}
		for _, c := range out {
			if c < ' ' || c == 0x7f {
				t.Errorf("%q is stored as %q", s, out)
			}
		}
	})
}
