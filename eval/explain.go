package eval

import (
	"fmt"
	"strings"
)

// Title names the case of a change with its variant and sample.
func (c *Change) Title() string {
	title := c.FixtureID
	if c.Cell != nil {
		title += " with " + c.Cell.ModelID
	}
	if c.SampleIndex != nil {
		title += fmt.Sprintf(", sample %d", *c.SampleIndex)
	}
	return title
}

// Explain says in a few words what became of the case.
func (c *Change) Explain() string {
	switch c.Kind {
	case Regression:
		return "passed before and fails: " + join(c.NewFailures)
	case Fixed:
		return "failed before and passes"
	case StillFailing:
		if len(c.NewFailures) > 0 {
			return "still fails, now also: " + join(c.NewFailures)
		}
		return "still fails"
	case Drift:
		return "passes, but differs in " + strings.Join(c.Fields, ", ")
	case MissingFromNew:
		return "was not run"
	case NewlyAdded:
		if *c.Passed {
			return "is new and passes"
		}
		return "is new and fails"
	}
	return "did not change"
}

func join(kinds []FailureKind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = strings.ReplaceAll(string(k), "_", " ")
	}
	return strings.Join(names, ", ")
}

// Summary counts changes by kind: "2 regressions, 1 fixed, 39 unchanged".
func Summary(changes []Change) string {
	counts := map[ChangeKind]int{}
	for i := range changes {
		counts[changes[i].Kind]++
	}
	var parts []string
	for _, k := range []struct {
		kind      ChangeKind
		one, many string
	}{
		{Regression, "regression", "regressions"}, {MissingFromNew, "missing", "missing"}, {Drift, "drifted", "drifted"}, {NewlyAdded, "new", "new"},
		{Fixed, "fixed", "fixed"}, {StillFailing, "still failing", "still failing"}, {Unchanged, "unchanged", "unchanged"},
	} {
		switch n := counts[k.kind]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+k.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, k.many))
		}
	}
	if len(parts) == 0 {
		return "no cases"
	}
	return strings.Join(parts, ", ")
}
