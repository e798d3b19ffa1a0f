// Package fire starts the runs of schedules, at their times.
//
//	w, err := fire.New(fire.Config{Store: db.Schedules(), Runs: runs})
//	…
//	w.Work(ctx) // in every process
//
// All processes look for schedules that are due, by the clock of the store. The one that is first to write down what becomes of a time does it. If it dies
// before it has written that this is done, another one does the same again after [Config.Lease]; a run that exists is not started again. So
// each time of a schedule has one entry in its log, and one run if the entry says so.
package fire
