package eval

import (
	"fmt"
	"strings"
)

// Title names the case of a change with its variant and sample.
func (c *Change) Title() string { return title(c.FixtureID, c.Cell, c.SampleIndex) }

// Title names the case of an item with its variant and sample.
func (i *Item) Title() string { return title(i.FixtureID, i.Cell, i.SampleIndex) }

func title(fixture string, cell *Cell, sample *int) string {
	if cell != nil {
		fixture += " with " + cell.String()
	}
	if sample != nil {
		fixture += fmt.Sprintf(", sample %d", *sample)
	}
	return fixture
}

// Explain describes the change in a few words.
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

// Explain describes the failure in a few words.
func (f *Failure) Explain() string {
	kind := strings.ReplaceAll(string(f.Kind), "_", " ")
	switch {
	case f.Failure != nil && f.Failure.Message != "":
		return strings.ReplaceAll(string(f.Failure.Kind), "_", " ") + ": " + f.Failure.Message
	case f.Failure != nil:
		return strings.ReplaceAll(string(f.Failure.Kind), "_", " ")
	case f.Scorer != "":
		return f.Scorer + ": " + f.Reason
	case f.Phrase != "":
		return fmt.Sprintf("%s %q", kind, f.Phrase)
	case f.Tool != "":
		return kind + ": " + f.Tool
	case f.Required != nil && f.Matched != nil:
		return fmt.Sprintf("%s: %s, %d calls fit", kind, f.Required.Name, *f.Matched)
	case f.Kind == ToolSequenceMismatch:
		return fmt.Sprintf("%s: %s instead of %s", kind, list(f.Actual), list(f.Expected))
	case f.Limit != nil && f.Value != nil:
		return fmt.Sprintf("%s: %g, the limit is %g", kind, *f.Value, *f.Limit)
	case f.ActualErrorType != "":
		return fmt.Sprintf("%s: %s instead of %s", kind, f.ActualErrorType, f.ErrorType)
	case f.ErrorType != "":
		return kind + ": " + f.ErrorType
	}
	return kind
}

func list(names []string) string {
	if len(names) == 0 {
		return "no call"
	}
	return strings.Join(names, ", ")
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
