package configtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

var publicationCases = []testCase{
	{"NothingIsLiveAtFirst", func(k *kit) {
		equal(k, "head", config.Head{}, must(k.Store.Head(k.Context())))
		equal(k, "publications", nil, must(k.Store.Publications(k.Context(), 0, 0)))
		for _, number := range []int64{0, 1, -1} {
			if p, err := k.Store.Publication(k.Context(), number); !errors.Is(err, awaken.ErrNotFound) {
				k.Errorf("publication %d: %v, %v", number, p, err)
			}
		}
		equal(k, "documents", nil, must(k.Store.Documents(k.Context(), "x", sum("y"))))
		equal(k, "no documents", nil, must(k.Store.Documents(k.Context())))
	}},
	{"KeepsThemWithAndWithoutAManifest", func(k *kit) {
		first := publish(1, 0, time.UnixMilli(1000), map[string]string{"a": `1`})
		first.Publish.Note, first.Publish.Kind, first.Publish.Actor = "日本 <note>", "seed", "system:seed"
		k.apply(first)
		second := publish(2, 1, time.UnixMilli(2000), map[string]string{"日本/x%": `2`})
		second.Publish.Manifest = append(slices.Clone(second.Publish.Entries), first.Publish.Entries...)
		k.apply(second)
		third := publish(3, 2, time.UnixMilli(3000), nil)
		third.Publish.Entries = []config.Entry{{Key: key(config.Agents, "a"), Revision: 9}} // it is gone
		k.apply(third)
		for _, s := range k.stores() {
			for _, c := range []*config.Change{first, second, third} {
				equal(k, "publication", c.Publish, must(s.Publication(k.Context(), c.Publish.Number)))
			}
			list := must(s.Publications(k.Context(), 0, 0))
			short := *second.Publish
			short.Manifest = nil
			equal(k, "list", []*config.Publication{third.Publish, &short, first.Publish}, list)
		}
	}},
	{"ListsThemInPages", func(k *kit) {
		for n := range int64(130) {
			k.apply(publish(n+1, n, time.UnixMilli(n), map[string]string{"a": fmt.Sprint(n)}))
		}
		numbers := func(before int64, limit int) (out []int64) {
			for _, p := range must(k.Store.Publications(k.Context(), before, limit)) {
				out = append(out, p.Number)
			}
			return out
		}
		if got := numbers(0, 0); len(got) != 100 || got[0] != 130 || got[99] != 31 {
			k.Errorf("got %v", got)
		}
		equal(k, "before 3", []int64{2, 1}, numbers(3, 0))
		equal(k, "two before 50", []int64{49, 48}, numbers(50, 2))
		equal(k, "before 1", nil, numbers(1, 0))
		equal(k, "before one that is not there", []int64{130}, numbers(1000, 1))
	}},
	{"HeadAndCanaryComeBack", func(k *kit) {
		k.apply(publish(1, 0, time.UnixMilli(1000), map[string]string{"a": `1`}))
		preview := publish(2, 1, time.UnixMilli(1000), map[string]string{"a": `2`})
		preview.SetHead = nil
		k.apply(preview)
		equal(k, "head after a preview", config.Head{Revision: 1, Last: 2, Live: 1}, must(k.Store.Head(k.Context())))
		canary := &config.Canary{Version: 2, Share: 0.125, StartedAt: 77, Rule: &config.CanaryRule{MinRuns: 3, MaxErrorRate: 0.1, MaxCostRatio: 1.5, PromoteAfterRuns: 9}}
		k.apply(&config.Change{Head: &config.Head{Revision: 1, Last: 2}, SetHead: &config.Head{Revision: 99, Last: 99, Live: 1, Canary: canary}})
		for _, s := range k.stores() {
			equal(k, "head with a canary", config.Head{Revision: 2, Last: 2, Live: 1, Canary: canary}, must(s.Head(k.Context())))
		}
		k.apply(&config.Change{SetHead: &config.Head{Live: 2}})
		equal(k, "promoted", config.Head{Revision: 3, Last: 2, Live: 2}, must(k.Store.Head(k.Context())))
		k.apply(&config.Change{SetHead: &config.Head{Live: 2}})
		equal(k, "the same once more", config.Head{Revision: 4, Last: 2, Live: 2}, must(k.Store.Head(k.Context())))
		k.apply(&config.Change{SetHead: &config.Head{}})
		equal(k, "nothing live", config.Head{Revision: 5, Last: 2}, must(k.Store.Head(k.Context())))
	}},
	{"KeepsADocumentOnce", func(k *kit) {
		k.apply(publish(1, 0, time.UnixMilli(1000), map[string]string{"a": `1`, "b": `1`, "c": `2`}))
		k.apply(publish(2, 1, time.UnixMilli(1000), map[string]string{"b": `2`})) // is there already
		c := publish(3, 2, time.UnixMilli(1000), map[string]string{"d": `1`})
		c.Documents = nil // needs not be given again
		k.apply(c)
		want := map[string]json.RawMessage{sum(`1`): json.RawMessage(`1`), sum(`2`): json.RawMessage(`2`)}
		equal(k, "documents", want, must(k.Store.Documents(k.Context(), sum(`1`), sum(`2`), sum(`1`), sum(`3`), "")))
	}},
	{"TakesManyDocumentsAtOnce", func(k *kit) {
		docs := map[string]string{}
		for i := range 3000 {
			docs[fmt.Sprint(i)] = fmt.Sprintf(`{"i":%d}`, i)
		}
		c := publish(1, 0, time.UnixMilli(1000), docs)
		c.Publish.Manifest = slices.Clone(c.Publish.Entries)
		for id, doc := range docs {
			c.Records = append(c.Records, write(id, 0, record(1, doc)))
		}
		k.apply(c)
		got := must(k.Store.Documents(k.Context(), c.Publish.Hashes()...))
		if len(got) != 3000 || string(got[sum(docs["7"])]) != docs["7"] {
			k.Errorf("got %d documents", len(got))
		}
		equal(k, "publication", c.Publish, must(k.Store.Publication(k.Context(), 1)))
	}},
}

var tallyCases = []testCase{
	{"AddsUp", func(k *kit) {
		for n := range int64(3) {
			k.apply(publish(n+1, n, time.UnixMilli(1000), map[string]string{"a": fmt.Sprint(n)}))
		}
		for range 10 {
			for _, s := range k.stores() {
				if err := s.Tally(k.Context(), 1, config.Tally{Runs: 2, Errors: 1, CostUSD: 0.1, LatencyMS: 1500}); err != nil {
					k.Fatal(err)
				}
			}
		}
		if err := k.Store.Tally(k.Context(), 2, config.Tally{CostUSD: 0.000000001}); err != nil {
			k.Fatal(err)
		}
		n := int64(10 * len(k.stores()))
		want := map[int64]config.Tally{1: {Runs: 2 * n, Errors: n, CostUSD: float64(n / 10), LatencyMS: 1500 * n}, 2: {CostUSD: 0.000000001}}
		for _, s := range k.stores() {
			equal(k, "tallies", want, must(s.Tallies(k.Context(), 1, 2, 3, 4)))
		}
		equal(k, "no tallies", nil, must(k.Store.Tallies(k.Context())))
	}},
	{"OfAMissingPublicationIsNotFound", func(k *kit) {
		if err := k.Store.Tally(k.Context(), 1, config.Tally{Runs: 1}); !errors.Is(err, awaken.ErrNotFound) {
			k.Errorf("error is %v", err)
		}
		k.apply(publish(1, 0, time.UnixMilli(1000), nil))
		equal(k, "tallies", nil, must(k.Store.Tallies(k.Context(), 1)))
	}},
}
