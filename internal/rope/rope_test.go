package rope

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestRope_IsTheSumOfItsPieces(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var r Rope
		var want strings.Builder
		for range rnd.IntN(400) {
			s := strings.Repeat(string(rune('a'+rnd.IntN(26))), rnd.IntN(1+rnd.IntN(5000)))
			r.Append(s)
			want.WriteString(s)
		}
		if got := r.String(); got != want.String() || r.Len() != len(got) {
			t.Fatalf("the rope has %d bytes, and says %d; want %d", len(got), r.Len(), want.Len())
		}
		if !r.Is(want.String()) || r.Is(want.String()+"x") || want.Len() > 0 && r.Is(strings.Repeat("-", want.Len())) {
			t.Fatal("Is does not compare the text")
		}
		r = New(r.Buffer())
		if r.Len() != 0 || r.String() != "" {
			t.Fatal("a new rope is not empty")
		}
	}
}

// A long text is not copied when it grows.
func TestRope_SharesLongPieces(t *testing.T) {
	var r Rope
	piece := strings.Repeat("x", 8<<10)
	if n := testing.AllocsPerRun(1, func() {
		r = Rope{}
		for range 2048 { // 16 MiB
			r.Append(piece)
		}
	}); n > 40 {
		t.Errorf("16 MiB in 2048 pieces took %v allocations, want no more than a list takes", n)
	}
}
