package messagelog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

// stored returns samples as a store returns them, n in all, with times.
func stored(t testing.TB, n int) (msgs []*llm.Message, created []int64) {
	t.Helper()
	var d Decoder
	for i := range n {
		m, err := d.Message(string(encode(t, samples[i%len(samples)])))
		if err != nil {
			t.Fatal(err)
		}
		msgs, created = append(msgs, m), append(created, 1_700_000_000_000+int64(i*i%97))
	}
	return msgs, created
}

func TestSegment_HoldsEverythingThatIsStored(t *testing.T) {
	for _, n := range []int{0, 1, 12, SegmentLength} {
		msgs, created := stored(t, n)
		data, err := Segment(msgs, created)
		if err != nil {
			t.Fatal(err)
		}
		got, times, err := ReadSegment(data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range msgs {
			if !reflect.DeepEqual(msgs[i], got[i]) || created[i] != times[i] {
				t.Errorf("message %d at %d, want %d (-want +got):\n%s", i, times[i], created[i], cmp.Diff(msgs[i], got[i]))
			}
		}
		if len(got) != n {
			t.Errorf("%d messages, want %d", len(got), n)
		}
	}
}

func TestSegment_RefusesWhatItCannotHold(t *testing.T) {
	for name, m := range map[string]*llm.Message{
		"no message":         nil,
		"a role":             {Role: "friend"},
		"a block":            {Role: llm.User, Content: []llm.Block{{Type: "song"}}},
		"a visibility":       {Role: llm.User, Visibility: "all"},
		"a finish reason":    {Role: llm.User, Metadata: &llm.Metadata{Finish: "x"}},
		"more than it takes": {Role: llm.User, Content: []llm.Block{llm.Text(string(make([]byte, MaxSegment)))}},
	} {
		if _, err := Segment([]*llm.Message{m}, []int64{1}); err == nil {
			t.Errorf("%s is in a segment", name)
		}
	}
}

func TestReadSegment_NoticesEveryDamage(t *testing.T) {
	msgs, created := stored(t, 12)
	data, err := Segment(msgs, created)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] ^= 0x10
		if _, _, err := ReadSegment(data); err == nil {
			t.Errorf("byte %d of %d is damaged, and is read", i, len(data))
		}
		data[i] ^= 0x10
		if _, _, err := ReadSegment(data[:i]); err == nil {
			t.Errorf("%d bytes of %d are read", i, len(data))
		}
	}
	data[4]++
	binary.LittleEndian.PutUint32(data, crc32.Checksum(data[4:], castagnoli))
	if _, _, err := ReadSegment(data); !errors.Is(err, ErrVersion) {
		t.Errorf("a segment of a newer version: %v", err)
	}
}

func FuzzReadSegment(f *testing.F) {
	for _, n := range []int{0, 1, 12} {
		msgs, created := stored(f, n)
		data, err := Segment(msgs, created)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[4:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(data, castagnoli)), data...)
		msgs, created, err := ReadSegment(data)
		if err != nil {
			return
		}
		again, err := Segment(msgs, created)
		if err != nil {
			return // such as a tool in a tool
		}
		got, times, err := ReadSegment(again)
		if err != nil || !reflect.DeepEqual(msgs, got) || !reflect.DeepEqual(created, times) {
			t.Errorf("%v: %s", err, cmp.Diff(msgs, got))
		}
	})
}

func TestReadSegment_AllocatesAFewTimes(t *testing.T) {
	var msgs []*llm.Message
	var created []int64
	for i := range SegmentLength {
		m := &llm.Message{ID: fmt.Sprint("m", i), Role: llm.Assistant, Content: []llm.Block{llm.Text("It rains.\n"), llm.Thinking("hm", &llm.Opaque{Provider: "p", Signature: "s"})},
			ToolCalls: []llm.ToolCall{{ID: "c", Name: "n", Arguments: json.RawMessage(`{}`)}}, Metadata: &llm.Metadata{RunID: "r", StepIndex: pointer(i)}}
		msgs, created = append(msgs, m), append(created, int64(i))
	}
	data, err := Segment(msgs, created)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() {
		if _, _, err := ReadSegment(data); err != nil {
			t.Fatal(err)
		}
	}); n > 12 {
		t.Errorf("a segment takes %v allocations", n)
	}
}

func BenchmarkReadSegment(b *testing.B) {
	msgs, created := stored(b, SegmentLength)
	data, err := Segment(msgs, created)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := ReadSegment(data); err != nil {
			b.Fatal(err)
		}
	}
}
