package replay

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken"
)

// Two records of a call that differ only in their times are equal, whatever became of the call.
func TestTimeless_HasNoTimesOfCalls(t *testing.T) {
	call := func(ms int64) string {
		data, err := json.Marshal(&awaken.CallState{CallID: "c1", ToolName: "pay", StartedAt: ms, UpdatedAt: ms,
			Doubt: &awaken.Doubt{Since: ms, Origin: awaken.DoubtIntent}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if a, b := timeless(call(1)), timeless(call(2)); a != b {
		t.Errorf("records with other times differ:\n%s\n%s", a, b)
	}
	if a, b := timeless(call(1)), call(1); a == b {
		t.Error("the record has no times, so that shows nothing")
	}
}

// Fields of a model, a tool or a client may have the names of times; a change of one is a difference.
func TestTimeless_KeepsForeignFields(t *testing.T) {
	for in, want := range map[string]string{
		`{"at":5,"b":1}`: `{"at":0,"b":1}`,
		`{"arguments":{"at":5,"in":[{"since":1}],"s":"}\\\"]"},"at":5}`: `{"arguments":{"at":5,"in":[{"since":1}],"s":"}\\\"]"},"at":0}`,
		`{"result":{"data":[{"created_at":7}],"at":1}}`:                 `{"result":{"data":[{"created_at":7}],"at":0}}`,
		`{"arguments":"text","at":5}`:                                   `{"arguments":"text","at":0}`,
		`{"arguments":null,"at":5}`:                                     `{"arguments":null,"at":0}`,
		`{"text":"\\"at\\":5","at":"5"}`:                                `{"text":"\\"at\\":5","at":"5"}`,
		`{"input":{},"input":[],"at":12}`:                               `{"input":{},"input":[],"at":0}`,
		`{"arguments":{"at":5`:                                          `{"arguments":{"at":5`,
		`}"at`:                                                          `}"at`,
	} {
		if got := timeless(in); got != want {
			t.Errorf("timeless(%s) is %s, want %s", in, got, want)
		}
	}
}

// FuzzTimeless looks for a text that cannot be read, and for one that changes when its times were taken out already.
func FuzzTimeless(f *testing.F) {
	f.Add(`{"at":5,"arguments":{"at":5},"s":"\\"","data":[1,{"since":2}]}`)
	f.Add(`"at":}]{"data":`)
	f.Fuzz(func(t *testing.T, s string) {
		once := timeless(s)
		if twice := timeless(once); twice != once {
			t.Errorf("%q becomes %q and then %q", s, once, twice)
		}
	})
}
