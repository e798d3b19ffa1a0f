package stat

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// Every figure is that of SciPy to 1e-9. The vectors were computed with SciPy 1.10.1: binomtest and its Wilson interval,
// t.interval and wilcoxon. Its wilcoxon approximates a few differences if some have the same size, so [TestSignedRank_OfTiesIsExact] checks those.
func TestFigures_AreThoseOfSciPy(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Wilson  [][5]float64
		Mean    [][5]json.RawMessage
		McNemar [][3]float64
		Rank    [][2]json.RawMessage
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	checked := 0
	check := func(what string, got, want float64) {
		t.Helper()
		checked++
		if math.IsNaN(got) || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %.12g, want %.12g", what, got, want)
		}
	}
	decode := func(raw json.RawMessage, into any) {
		t.Helper()
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range vectors.Wilson {
		in := Wilson(int(v[0]), int(v[1]), v[2])
		check("lower bound of Wilson", in.Low, v[3])
		check("upper bound of Wilson", in.High, v[4])
	}
	for _, v := range vectors.Mean {
		var values []float64
		var confidence, mean, low, high float64
		decode(v[0], &values)
		for i, into := range []*float64{&confidence, &mean, &low, &high} {
			decode(v[i+1], into)
		}
		got, in := Mean(values, confidence)
		check("mean", got, mean)
		check("lower bound of the mean", in.Low, low)
		check("upper bound of the mean", in.High, high)
	}
	for _, v := range vectors.McNemar {
		check("McNemar", SignFlip(discordant(int(v[0]), int(v[1]))), v[2])
		check("McNemar, exchanged", SignFlip(discordant(int(v[1]), int(v[0]))), v[2])
	}
	for _, v := range vectors.Rank {
		var differences []float64
		var p float64
		decode(v[0], &differences)
		decode(v[1], &p)
		check("signed rank", SignedRank(differences), p)
	}
	if checked < 55 {
		t.Errorf("%d figures were checked, want at least 60", checked)
	}
}

// discordant returns the differences of cases with one attempt each, of which some were lost and some won, and one was neither.
func discordant(lost, won int) []int {
	return slices.Concat(slices.Repeat([]int{-1}, lost), slices.Repeat([]int{1}, won), []int{0})
}

// Paired and clustered figures of published data equal the figures of SciPy and statsmodels to 1e-9; testdata/published.py names the data and computes them.
func TestFigures_OfPublishedData(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/published.json")
	if err != nil {
		t.Fatal(err)
	}
	var published struct {
		SignFlip map[string]struct {
			Differences []int
			P           float64
		} `json:"sign_flip"`
		SignedRank map[string]struct {
			Differences []float64
			P           float64
		} `json:"signed_rank"`
		Clustered map[string]struct {
			Values          [][]float64
			Mean, Low, High float64
		}
		ClusteredRate map[string]struct {
			Passed, Attempts []int
			Low, High        float64
		} `json:"clustered_rate"`
	}
	if err := json.Unmarshal(data, &published); err != nil {
		t.Fatal(err)
	}
	checked := 0
	check := func(what, name string, got, want float64) {
		t.Helper()
		checked++
		if math.IsNaN(got) || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s of %s is %.12g, want %.12g", what, name, got, want)
		}
	}
	for name, v := range published.SignFlip {
		check("sign flip", name, SignFlip(v.Differences), v.P)
	}
	for name, v := range published.SignedRank {
		check("signed rank", name, SignedRank(v.Differences), v.P)
	}
	for name, v := range published.Clustered {
		mean, in := Clustered(v.Values, 0.95)
		check("mean", name, mean, v.Mean)
		check("lower bound", name, in.Low, v.Low)
		check("upper bound", name, in.High, v.High)
	}
	for name, v := range published.ClusteredRate {
		var rates []Rate
		for i := range v.Passed {
			rates = append(rates, Rate{v.Passed[i], v.Attempts[i]})
		}
		in := ClusteredWilson(rates, 0.95)
		check("lower bound of the rate", name, in.Low, v.Low)
		check("upper bound of the rate", name, in.High, v.High)
	}
	if checked != 15 {
		t.Errorf("%d figures were checked, want 15", checked)
	}
}

// With one attempt in each cluster the clustered figures are the plain ones.
func TestClustered_OfSinglesIsPlain(t *testing.T) {
	t.Parallel()
	values := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	var clusters [][]float64
	var rates []Rate
	for i, v := range values {
		clusters, rates = append(clusters, []float64{v}), append(rates, Rate{i % 2, 1})
	}
	mean, in := Mean(values, 0.9)
	got, clustered := Clustered(clusters, 0.9)
	if math.Abs(mean-got) > 1e-12 || math.Abs(in.Low-clustered.Low) > 1e-12 || math.Abs(in.High-clustered.High) > 1e-12 {
		t.Errorf("%g in %v, want %g in %v", got, clustered, mean, in)
	}
	if plain, clustered := Wilson(4, 8, 0.9), ClusteredWilson(rates, 0.9); plain != clustered {
		t.Errorf("the rate is in %v, want %v", clustered, plain)
	}
}

// Ten samples of a case that always end alike are worth one.
func TestClustered_RepeatedCasesAddNothing(t *testing.T) {
	t.Parallel()
	for _, passed := range []int{0, 3, 5} {
		var rates []Rate
		for i := range 5 {
			rates = append(rates, Rate{})
			if rates[i].Attempts = 10; i < passed {
				rates[i].Passed = 10
			}
		}
		want, got := Wilson(passed, 5, 0.95), ClusteredWilson(rates, 0.95)
		if math.Abs(want.Low-got.Low) > 1e-12 || math.Abs(want.High-got.High) > 1e-12 {
			t.Errorf("%d of 5 cases with ten samples: %v, want %v", passed, got, want)
		}
	}
	if once, often := SignFlip([]int{1, 1, 1, -1, 0}), SignFlip([]int{10, 10, 10, -10, 0}); once != often {
		t.Errorf("p is %g with one sample and %g with ten that are alike", once, often)
	}
}

// Of a few differences, some with the same size, the p-value is the share of all signs that are as far from the middle.
func TestSignedRank_OfTiesIsExact(t *testing.T) {
	t.Parallel()
	for _, differences := range [][]float64{{3}, {3, 3}, {3, 3, 3, 3, 3}, {-1, 1}, {1, 1, -2, 3, 3, 3, -4, 0, 0}, {2, -2, 2, -2, 5}, {1, 1, 2, 2, 3, 3, 4, 4, -1, -2}} {
		var ranks []float64
		observed, total := 0.0, 0.0
		for _, d := range differences {
			if d == 0 {
				continue
			}
			below, same := 0.0, 0.0
			for _, other := range differences {
				switch x, y := math.Abs(other), math.Abs(d); {
				case x != 0 && x < y:
					below++
				case x == y:
					same++
				}
			}
			rank := below + (same+1)/2
			ranks, total = append(ranks, rank), total+rank
			if d > 0 {
				observed += rank
			}
		}
		far := 0
		for signs := range 1 << len(ranks) {
			sum := 0.0
			for i, r := range ranks {
				if signs>>i&1 == 1 {
					sum += r
				}
			}
			if math.Abs(sum-total/2) >= math.Abs(observed-total/2) {
				far++
			}
		}
		want := float64(far) / float64(int(1)<<len(ranks))
		if p := SignedRank(differences); math.Abs(p-want) > 1e-12 {
			t.Errorf("signed rank of %v is %.12g, want %.12g", differences, p, want)
		}
	}
}

// Too few values give no figure that looks sure.
func TestFigures_OfFewValues(t *testing.T) {
	t.Parallel()
	if in := Wilson(0, 0, 0.95); in != (Interval{0, 1}) {
		t.Errorf("interval without attempts is %v", in)
	}
	if mean, _ := Mean(nil, 0.95); !math.IsNaN(mean) {
		t.Errorf("mean of nothing is %g", mean)
	}
	if mean, in := Mean([]float64{3}, 0.95); mean != 3 || !math.IsInf(in.Low, -1) || !math.IsInf(in.High, 1) {
		t.Errorf("mean of one value is %g in %v", mean, in)
	}
	if mean, in := Clustered([][]float64{{3, 5}, nil}, 0.95); mean != 4 || !math.IsInf(in.Low, -1) || !math.IsInf(in.High, 1) {
		t.Errorf("mean of one cluster is %g in %v", mean, in)
	}
	if in := ClusteredWilson([]Rate{{1, 4}}, 0.95); in != Wilson(1, 4, 0.95) {
		t.Errorf("interval of one cluster is %v", in)
	}
	if in := ClusteredWilson(nil, 0.95); in != (Interval{0, 1}) {
		t.Errorf("interval without clusters is %v", in)
	}
	if p := SignFlip([]int{0, 0}); p != 1 {
		t.Errorf("sign flip of no difference is %g, want 1", p)
	}
	if p := SignedRank([]float64{0, 0}); p != 1 {
		t.Errorf("signed rank of no difference is %g, want 1", p)
	}
}

// A p-value is a probability, whatever the values are.
func FuzzPaired(f *testing.F) {
	f.Add([]byte{1, 2, 3, 255})
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 || len(data) > 2000 {
			return
		}
		differences, whole := make([]float64, len(data)), make([]int, len(data))
		for i, b := range data {
			differences[i], whole[i] = float64(int8(b))/3, int(int8(b))
		}
		for what, p := range map[string]float64{"signed rank": SignedRank(differences), "sign flip": SignFlip(whole), "McNemar": SignFlip(discordant(int(data[0]), int(data[1])))} {
			if !(p >= 0 && p <= 1) {
				t.Errorf("%s of %v is %g", what, differences, p)
			}
		}
	})
}
