// Package eval evaluates agents: it checks runs against expectations.
//
// A [Dataset] is a list of cases. A case is a [Fixture]: the user's message, the answers of a scripted model, and an [Expectation] of the
// run. An [Observation] records what a run did; [NewReport] compares it with the expectation. [Diff] compares the reports of a run over a
// dataset with the reports of a baseline, and [Aggregates] adds up samples. The statistics are in eval/stat.
//
//	report := eval.NewReport(fixture, &eval.Observation{FinalText: "It is 21 degrees."})
//	if !report.Passed {
//		log.Print(report.Failures)
//	}
//
// Documents and reports have the JSON of the original system, so that its datasets and NDJSON reports can be read.
package eval
