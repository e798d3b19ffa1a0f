package tracecontext_test

import (
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/internal/tracecontext"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestParse_OnlyWhatTheStandardAllows(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		parent: true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00":       true,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       true,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later": true,
		"": false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later": false,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       false,
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01":       false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":       false,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":       false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0\n":      false,
		"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       false,
	} {
		if got := tracecontext.Parse(text, "").Parent != ""; got != ok {
			t.Errorf("%q is accepted: %v, want %v", text, got, ok)
		}
	}
	c := tracecontext.Parse(parent, "a=b")
	if c.TraceID() != "0af7651916cd43dd8448eb211c80319c" || !c.Sampled() || c.State != "a=b" {
		t.Errorf("the position is %+v", c)
	}
	if tracecontext.Parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "").Sampled() {
		t.Error("a trace that is not recorded counts as recorded")
	}
}

func TestHeaders_ThereAndBack(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	tracecontext.Context{}.Inject(h.Set)
	if len(h) != 0 {
		t.Errorf("without a position the headers are %v", h)
	}
	want := tracecontext.Parse(parent, "a=b")
	tracecontext.Of(tracecontext.With(t.Context(), want)).Inject(h.Set)
	if got := tracecontext.FromHeader(h.Values); got != want {
		t.Errorf("%+v became %+v", want, got)
	}
	if got := tracecontext.ParseText(want.String()); got != want {
		t.Errorf("%+v became %+v as text", want, got)
	}
	h.Add("Traceparent", parent)
	if got := tracecontext.FromHeader(h.Values); got.Parent != "" {
		t.Errorf("a request with two parents is at %+v", got)
	}
}

func TestContinue_IsAtTheBeginningAndKnowsTheCause(t *testing.T) {
	t.Parallel()
	began, cause := tracecontext.Parse(parent, ""), tracecontext.Parse("00-00000000000000000000000000000001-0000000000000002-01", "")
	ctx := tracecontext.Continue(tracecontext.With(t.Context(), cause), began)
	if got, ok := tracecontext.Cause(ctx); tracecontext.Of(ctx) != began || got != cause || !ok {
		t.Errorf("it is at %v because of %v, %v", tracecontext.Of(ctx), got, ok)
	}
	if got, ok := tracecontext.Cause(tracecontext.With(ctx, cause)); ok {
		t.Errorf("what begins below continues because of %v", got)
	}
	if ctx := tracecontext.Continue(t.Context(), tracecontext.Context{}); ctx != t.Context() {
		t.Error("what began nowhere continues")
	}
}
