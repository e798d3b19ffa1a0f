package stat

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// Every figure is that of SciPy to 1e-9. The vectors were computed with SciPy 1.10.1: binomtest and its Wilson interval,
// t.interval, ttest_1samp and wilcoxon. Its wilcoxon approximates a few differences if some have the same size, so [TestSignedRank_OfTiesIsExact] checks those.
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
		Paired  [][2]json.RawMessage
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
		check("McNemar", McNemar(int(v[0]), int(v[1])), v[2])
		check("McNemar, exchanged", McNemar(int(v[1]), int(v[0])), v[2])
	}
	for _, v := range vectors.Paired {
		var differences []float64
		var p float64
		decode(v[0], &differences)
		decode(v[1], &p)
		check("paired t", PairedT(differences), p)
	}
	for _, v := range vectors.Rank {
		var differences []float64
		var p float64
		decode(v[0], &differences)
		decode(v[1], &p)
		check("signed rank", SignedRank(differences), p)
	}
	if checked < 60 {
		t.Errorf("%d figures were checked, want at least 60", checked)
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
	if p := PairedT([]float64{1}); !math.IsNaN(p) {
		t.Errorf("paired t of one difference is %g", p)
	}
	for _, tt := range []struct {
		differences []float64
		paired      float64
	}{{[]float64{0, 0, 0}, 1}, {[]float64{2, 2, 2}, 0}} {
		if p := PairedT(tt.differences); p != tt.paired {
			t.Errorf("paired t of %v is %g, want %g", tt.differences, p, tt.paired)
		}
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
		differences := make([]float64, len(data))
		for i, b := range data {
			differences[i] = float64(int8(b)) / 3
		}
		for what, p := range map[string]float64{"paired t": PairedT(differences), "signed rank": SignedRank(differences), "McNemar": McNemar(int(data[0]), int(data[1]))} {
			if !(p >= 0 && p <= 1) {
				t.Errorf("%s of %v is %g", what, differences, p)
			}
		}
	})
}
