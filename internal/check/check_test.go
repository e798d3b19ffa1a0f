package check_test

import (
	"errors"
	"testing"

	"github.com/awaken-go/awaken/internal/check"
)

func TestProblems_ReportsEverythingAtOnce(t *testing.T) {
	p := check.Problems{Prefix: "doc."}
	p.NotBlank("id", " \t")
	p.NotBlank("name", "x")
	p.NotNegative("size", -1)
	p.NotNegative("count", 0)
	p.OneOf("mode", "fast", "", "slow", "slower", "slowest")
	p.OneOf("kind", "", "a", "b")
	p.OneOf("only", "no", "yes")
	p.OneOf("left_out", "", "", "a")
	p.NoDuplicates("list", []string{"a", "b", "a", "c", "a", "b"})
	p.Include(nil)
	p.Include(errors.New("as it is"))
	want := `doc.id is empty
doc.size is -1, want 0 or more
doc.mode is "fast", want slow, slower or slowest
doc.kind is "", want a or b
doc.only is "no", want yes
doc.list lists "a" twice
doc.list lists "b" twice
as it is`
	if got := p.Err(); got == nil || got.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", got, want)
	}
}

func TestProblems_AreNoErrorWhenThereAreNone(t *testing.T) {
	var p check.Problems
	p.Include(nil)
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}
