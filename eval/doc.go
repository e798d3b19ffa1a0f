// Package eval checks whether agents do what is expected of them.
//
// A [Dataset] is a list of cases. A [Fixture] is one: what the user says, what a scripted model answers, and an
// [Expectation] of the run. What a run did is an [Observation]; [NewReport] compares the two. [Diff] compares the reports of a run
// over a dataset with those of a baseline, and [Aggregates] adds up samples. The statistics are in eval/stat.
//
//	report := eval.NewReport(fixture, &eval.Observation{FinalText: "It is 21 degrees."})
//	if !report.Passed {
//		log.Print(report.Failures)
//	}
//
// Documents and reports have the JSON of the original system, so that its datasets and NDJSON reports can be read.
package eval
