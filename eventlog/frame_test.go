package eventlog

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// FuzzReceive: whatever arrives, a process does not crash, and keeps only consecutive entries whose
// epoch does not fall.
func FuzzReceive(f *testing.F) {
	delta := func(epoch, seq uint64) awaken.Entry {
		return awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: seq}, RunID: "r", Event: &awaken.TextDelta{Delta: "x"}}
	}
	frame, _, err := appendFrame(nil, "", "t", []awaken.Entry{delta(3, 4), delta(3, 5), delta(4, 6)}, true, 1000)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"frames":[`+string(frame)+`]}`, `{"hello":true,"want":[{"thread":"t","epoch":1,"seq":2,"again":true}],"drop":[{"thread":"u"}]}`)
	f.Add(`{"bye":true}`, `{"frames":[{"thread":"t","epoch":1,"entries":[{"seq":1,"event":{"event_type":"text_delta","delta":"a"},"chunks":[[0,9]]}]}]}`)
	f.Add(`{"frames":[{"thread":"t","epoch":18446744073709551615,"entries":[{"seq":18446744073709551615,"event":{"event_type":"step_end"}}]}]}`, `[]`)
	f.Fuzz(func(t *testing.T, one, two string) {
		r := NewRelay(bus.NewExchange(bustest.NewMemory(1000, bustest.Faults{}).Join()), nil)
		l := New(nil, &Options{Relay: r, Buffer: 8})
		defer l.Watch("t")()
		for _, body := range []string{one, two, one} {
			r.receive("p", body)
			out := &round{relay: r, limit: 500, parcels: map[string]*parcel{}}
			r.tell(out)
			r.sendEntries(out)
			out.close()
			entries := l.live["t"].entries
			for i := 1; i < len(entries); i++ {
				if entries[i].Seq != entries[i-1].Seq+1 || entries[i].Epoch < entries[i-1].Epoch {
					t.Fatalf("entry %s follows %s", entries[i].Cursor, entries[i-1].Cursor)
				}
			}
		}
	})
}

func TestAppendFrame_CutsAtTheLimitAndIsDecodedAsItWas(t *testing.T) {
	var entries []awaken.Entry
	for seq := range uint64(100) {
		entries = append(entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: 2 + seq/50, Seq: 7 + seq}, RunID: "r", Time: 5, Event: &awaken.TextDelta{Delta: "Zürich \x00 \"🦊\""}})
	}
	at := 0
	for at < len(entries) {
		buf, n, err := appendFrame(nil, "tenant", "t", entries[at:], at == 0, 1000)
		if err != nil || len(buf) > 1000 || n == 0 {
			t.Fatalf("%d entries in %d bytes: %v", n, len(buf), err)
		}
		var f frame
		if err := json.Unmarshal(buf, &f); err != nil {
			t.Fatal(err)
		}
		got, err := f.decode()
		if err != nil || len(got) != n || f.Tenant != "tenant" || f.Thread != "t" || f.First != (at == 0) {
			t.Fatalf("%d of %d entries of %q %q: %v", len(got), n, f.Tenant, f.Thread, err)
		}
		for i, e := range got {
			want := entries[at+i]
			if e.Cursor != want.Cursor || e.RunID != "r" || e.Time != 5 || e.Event.(*awaken.TextDelta).Delta != want.Event.(*awaken.TextDelta).Delta {
				t.Fatalf("entry %d is %+v, want %+v", i, e, want)
			}
		}
		at += n
	}
	if buf, n, err := appendFrame(nil, "", "t", entries, false, 10); n != 1 || err != nil {
		t.Errorf("a frame that is too small for any entry has %d: %s, %v", n, buf, err)
	}
}

// An event of a type that only another version knows is one like others. One that this version cannot read is not asked for again: what
// follows begins a new list, and readers find it in the store.
func TestReceive_AnUnknownEventIsNotAskedForAgain(t *testing.T) {
	r := NewRelay(bus.NewExchange(bustest.NewMemory(1000, bustest.Faults{}).Join()), nil)
	l := New(nil, &Options{Relay: r})
	defer l.Watch("t")()
	frame := func(seq, event string) {
		r.receive("p", `{"frames":[{"thread":"t","epoch":1,"run":"r","entries":[{"seq":`+seq+`,"event":`+event+`}]}]}`)
	}
	frame("4", `{"event_type":"text_delta","delta":"a"}`)
	frame("5", `{"event_type":"of_the_next_version"}`)
	if entries := l.live["t"].entries; len(entries) != 2 || entries[1].Event.Type() != "of_the_next_version" {
		t.Errorf("in memory: %v, want both", entries)
	}
	frame("6", `{"event_type":"text_delta","delta":["of the next version"]}`)
	frame("7", `{"event_type":"text_delta","delta":"b"}`)
	if entries := l.live["t"].entries; len(entries) != 1 || entries[0].Seq != 7 {
		t.Errorf("in memory: %v, want only what follows", entries)
	}
	if len(r.repairs) > 0 {
		t.Error("it was asked for again")
	}
	frame("9", `{"event_type":"text_delta","delta":"c"}`)
	if len(r.repairs) == 0 {
		t.Error("a lost entry is not asked for: the test proves nothing")
	}
}

// Lost entries that do not come are asked for less and less often.
func TestReceive_AsksForLostEntriesLessAndLessOften(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		r := NewRelay(bus.NewExchange(bustest.NewMemory(1000, bustest.Faults{}).Join()), nil)
		l := New(nil, &Options{Relay: r})
		defer l.Watch("t")()
		asked := 0
		for i := range 6000 { // ten minutes
			seq := uint64(10 + i)
			if i == 0 {
				seq = 1
			}
			r.receive("p", fmt.Sprintf(`{"frames":[{"thread":"t","epoch":1,"run":"r","entries":[{"seq":%d,"event":{"event_type":"text_delta","delta":"a"}}]}]}`, seq))
			asked += len(r.repairs)
			clear(r.repairs)
			time.Sleep(100 * time.Millisecond)
		}
		if asked < 10 || asked > 130 {
			t.Errorf("asked %d times in ten minutes, want at most every five seconds in the end", asked)
		}
	})
}
