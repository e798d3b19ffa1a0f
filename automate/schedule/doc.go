// Package schedule defines schedules, which start runs at given times, and the store that keeps them.
//
//	plans := db.Schedules() // of a database; new(schedule.Memory) of this process
//	s := &schedule.Schedule{Tenant: "acme", ID: "report", Spec: schedule.Spec{Cron: "0 9 * * mon-fri", TimeZone: "Europe/Berlin", Run: body}}
//	if err := s.Arm(time.Now()); err != nil { … } // an error names the field
//	ok, err := plans.Swap(ctx, s)
//
// Package automate/schedule/fire starts the runs.
//
// A schedule has nominal times: those of its expression. [Spec.Jitter] delays each of them by an amount that depends on the schedule and the
// time alone. What becomes of a nominal time is decided once, written down, and only then done ([State.Pending]): the run of a time has an
// id that follows from the schedule and the time, so whichever process starts it, and however often, it starts once. What became of every
// time is in the log of the schedule ([Firing]).
package schedule
