// Package schedule defines schedules, which start runs at given times, and their storage.
//
//	plans := db.Schedules() // of a database; new(schedule.Memory) of this process
//	s := &schedule.Schedule{Tenant: "acme", ID: "report", Spec: schedule.Spec{Cron: "0 9 * * mon-fri", TimeZone: "Europe/Berlin", Run: body}}
//	if err := s.Arm(time.Now()); err != nil { … } // an error names the field
//	ok, err := plans.Swap(ctx, s)
//
// Package automate/schedule/fire starts the runs.
//
// The times of a schedule's cron expression are its nominal times. [Spec.JitterSecs] delays each start by an amount that depends only on
// the schedule and the time. The outcome of a nominal time is decided once, stored, and only then carried out ([State.Pending]). The run ID
// is derived from the schedule and the time, so a run starts once, even if several processes try or one process tries again. The schedule's
// log records the outcome of every time ([Firing]).
package schedule
