package server_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/server"
)

func TestExemplars_AreMadeOnceASecond(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: []float64{1}})
		observe := server.ObserveWithExemplars()
		of := func(trace, flags string) string {
			observe(tracecontext.With(t.Context(), tracecontext.Parse("00-0000000000000000000000000000000"+trace+"-b7ad6b7169203331-"+flags, "")), h, .5)
			var m dto.Metric
			if err := h.Write(&m); err != nil {
				t.Fatal(err)
			}
			e := m.GetHistogram().GetBucket()[0].GetExemplar()
			if e == nil {
				return ""
			}
			id := e.GetLabel()[0].GetValue()
			return id[len(id)-1:]
		}
		got := of("1", "00") + "," + of("2", "01") + "," + of("3", "01")
		time.Sleep(time.Second)
		if got += "," + of("4", "00") + "," + of("5", "01"); got != ",2,2,2,5" {
			t.Errorf("the exemplars are %q: none of a trace that is not recorded, and one a second", got)
		}
	})
}
