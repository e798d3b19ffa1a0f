package sqlite

import (
	"strings"
	"testing"
)

// What is packed is the same text when it is unpacked, whatever the id of the run is.
func FuzzPacked(f *testing.F) {
	f.Add("0193-run-1", `{"run_id":"0193-run-1","key":"0193-run-1/0/0"}`, `{"id":2}`, `{"snapshot":{"a":`, `,"b":`)
	f.Add("aaaaaaaa", `"aaaaaaaaaaaaaaaa"`, `"aaaaaaa"`, `aaaa`, `aaaaaaaaaaaa`)
	f.Add("short", `{}`, `[]`, "", "")
	f.Add(`{"x":0},`, `{"x":0}`, `{"x":0}`, `[`, `]`)
	f.Fuzz(func(t *testing.T, run, a, b, before, between string) {
		for _, s := range []string{run, a, b, before, between} {
			if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
				t.Skip("JSON does not contain it")
			}
		}
		a, b = `{"a":`+a+`}`, `{"b":`+b+`}`
		calls := []byte("[")
		calls = packRun(append(calls, a...), 1, []byte(run))
		starts := []int{1, len(calls) + 1}
		calls = packRun(append(append(calls, ','), b...), len(calls)+1, []byte(run))
		calls = append(calls, ']')
		text := before + a + between + b + before
		packed := packCalls(packRun([]byte("["+text), 1, []byte(run)), 1, string(calls), starts)
		if packed[0] != '[' || len(packed) > len(text)+1 {
			t.Fatalf("packed %q", packed)
		}
		expand := func(s string) string { return strings.ReplaceAll(s, string(runReference), run) }
		got := string(packed[1:])
		got = strings.ReplaceAll(got, string(callReference)+"0", string(calls[1:starts[1]-1]))
		got = expand(strings.ReplaceAll(got, string(callReference)+"1", string(calls[starts[1]:len(calls)-1])))
		if got != text {
			t.Fatalf("%q is %q when it is unpacked", text, got)
		}
	})
}

// A row has the id of its run and the records of its calls once.
func TestPacked_RefersToCalls(t *testing.T) {
	const run, call, other = "01a1e372-run", `{"run_id":"01a1e372-run","result":"large"}`, `{"id":"other"}`
	text := `[{"calls":{"c1":` + call + `,"c2":` + other + `},"run":"01a1e372-run"}]`
	calls := packRun([]byte("["+call+","+other+"]"), 0, []byte(run))
	starts := []int{1, strings.Index(string(calls), `,{"id"`) + 1}
	packed := string(packCalls(packRun([]byte(text), 0, []byte(run)), 0, string(calls), starts))
	if want := "[{\"calls\":{\"c1\":\x020,\"c2\":\x021},\"run\":\"\x01\"}]"; packed != want {
		t.Errorf("packed %q, want %q", packed, want)
	}
	for _, test := range []struct {
		text, calls, want string
		fails             bool
	}{
		{text: packed, calls: string(calls), want: text},
		{text: text, calls: "", want: text}, // as earlier versions wrote it
		{text: `["` + string(runReference) + `"]`, calls: "", want: `["` + run + `"]`},
		{text: "[\x022]", calls: string(calls), fails: true},
		{text: "[\x02", calls: string(calls), fails: true},
		{text: "[\x020]", calls: "", fails: true},
	} {
		got, err := unpackEntries(test.text, []byte(test.calls), run)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%q is %q, %v when it is unpacked", test.text, got, err)
		}
	}
}
