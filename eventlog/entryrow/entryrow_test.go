package entryrow_test

import (
	"reflect"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/entryrow"
)

func entry(epoch, seq uint64, run, text string, chunks ...awaken.Chunk) awaken.Entry {
	return awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: seq}, RunID: run, Time: 9, Event: &awaken.TextDelta{Delta: text}, Chunks: chunks}
}

var row = []awaken.Entry{
	entry(2, 1, "r", "ä"),
	entry(1, 2, "other", "of another run and an older owner"),
	entry(2, 3, "", "of no run"),
	entry(2, 4, "r", "abc", awaken.Chunk{Offset: 0, Len: 1}, awaken.Chunk{Offset: 2, Len: 2}),
	entry(2, 7, "r", "last"),
}

func encode(t *testing.T) []byte {
	t.Helper()
	var buf []byte
	for i := range row {
		var err error
		if buf, err = entryrow.Append(append(buf, "[,"[min(i, 1)]), &row[i], 2, "r"); err != nil {
			t.Fatal(err)
		}
	}
	return append(buf, ']')
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    awaken.EntryQuery
		want []awaken.Entry
	}{
		"all":             {awaken.EntryQuery{}, row},
		"behind":          {awaken.EntryQuery{After: 3}, row[3:]},
		"inside an entry": {awaken.EntryQuery{After: 5}, row[3:]},
		"behind it":       {awaken.EntryQuery{After: 6}, row[4:]},
		"of later owners": {awaken.EntryQuery{Epoch: 1}, []awaken.Entry{row[0], row[2], row[3], row[4]}},
		"of a run":        {awaken.EntryQuery{RunID: "other"}, row[1:2]},
		"at most":         {awaken.EntryQuery{Limit: 2}, row[:2]},
		"none":            {awaken.EntryQuery{After: 7}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := entryrow.Select(nil, encode(t), 2, "r", &c.q)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestSelect_NamesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{`, `[{"seq":-1}]`, `[{"seq":1,"event":{"event_type":7}}]`} {
		if got, err := entryrow.Select(nil, []byte(bad), 1, "r", &awaken.EntryQuery{}); err == nil {
			t.Errorf("%s is read as %+v", bad, got)
		}
	}
}
