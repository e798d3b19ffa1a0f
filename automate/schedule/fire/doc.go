// Package fire starts the runs of schedules on time.
//
//	w, err := fire.New(fire.Config{Store: db.Schedules(), Runs: runs})
//	…
//	w.Work(ctx) // in every process
//
// All processes look for due schedules by the clock of the store. The first process to store its decision about a time carries it out. If
// that process dies before it has recorded the outcome, another process repeats the start after [Config.Lease]; starting an existing run
// has no effect. So each time of a schedule has one log entry, and one run if the entry says so.
package fire
