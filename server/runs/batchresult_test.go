package runs

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// After a failure that says nothing of its item, the rest of a batch is not tried. The log says why, because the response
// does not.
func TestBatchResult_StopsAtAnOutage(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	admit := func(...string) error { return nil }
	out := batchResult{admit: admit, logger: slog.New(slog.NewTextHandler(&log, nil))}
	tried := ""
	for i, err := range []error{nil, awaken.ErrNotFound, errors.New("disk full"), nil} {
		if err := out.try(batchItem{ID: fmt.Sprint("r", i)}, func(item *batchItem) error { tried += item.ID; return err }); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, item := range out.Items {
		got = append(got, fmt.Sprint(item.ID, " ", item.Status, " ", item.Code))
	}
	if want := "r0 202 ,r1 404 not_found,r2 500 internal,r3 503 not_tried"; strings.Join(got, ",") != want || tried != "r0r1r2" || out.Failed != 3 {
		t.Errorf("the batch is %s with %s tried and %d failed, want %s", got, tried, out.Failed, want)
	}
	if text := log.String(); strings.Count(text, "disk full") != 1 || strings.Count(text, "\n") != 1 {
		t.Errorf("the log is %s, want the outage", text)
	}
	first := batchResult{admit: admit, logger: out.logger}
	if err := first.try(batchItem{ID: "r"}, func(*batchItem) error { return errors.New("disk full") }); err == nil || len(first.Items) != 0 {
		t.Errorf("the outage at the first item: %v, %v, want the error alone", first.Items, err)
	}
}
