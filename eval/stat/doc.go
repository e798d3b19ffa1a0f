// Package stat has the few statistics with which evaluations are judged: how sure a pass rate or a mean
// is, and whether two variants that were tried on the same cases differ.
//
//	in := stat.Wilson(38, 42, 0.95) // from in.Low to in.High
//	p := stat.SignFlip(differences) // of each case: samples passed more than before
//
// Several samples of one case are not several cases: [Clustered], [ClusteredWilson] and [SignFlip] count by case.
//
// All functions are pure. Those that return a p-value return that of the two-sided test.
package stat
