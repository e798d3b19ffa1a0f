package engine

import "github.com/awaken-go/awaken/internal/failpoint"

// The points where a process may die: one between any two things that must not both be lost or
// both be done. Crash tests stop a process at each of them.
var (
	atAcquired    = failpoint.New("run.acquired")
	atOpened      = failpoint.New("run.opened")
	atCommit      = failpoint.New("commit.before")
	atCommitted   = failpoint.New("commit.after")
	atPublished   = failpoint.New("commit.published")
	atStarted     = failpoint.New("run.started")
	atActivated   = failpoint.New("run.activated")
	atStep        = failpoint.New("step.started")
	atInference   = failpoint.New("inference.before")
	atDelta       = failpoint.New("inference.delta")
	atReply       = failpoint.New("inference.after")
	atAnswer      = failpoint.New("answer.taken")
	atIntent      = failpoint.New("intent.before")
	atIntended    = failpoint.New("intent.after")
	atCall        = failpoint.New("call.before")
	atCalled      = failpoint.New("call.after")
	atResult      = failpoint.New("result.taken")
	atResults     = failpoint.New("results.before")
	atResultsDone = failpoint.New("results.after")
	atStepEnd     = failpoint.New("step.before_end")
	atHandedOver  = failpoint.New("step.handed_over")
	atStepDone    = failpoint.New("step.after")
	atPark        = failpoint.New("park.before")
	atParked      = failpoint.New("park.after")
	atRunEnd      = failpoint.New("finish.before")
	atRunEnded    = failpoint.New("finish.run_end")
	atFinished    = failpoint.New("finish.after")
	atEffect      = failpoint.New("effect.before")
	atEffectDone  = failpoint.New("effect.after")
	atSend        = failpoint.New("outbox.before")
	atSent        = failpoint.New("outbox.after")
	atDecision    = failpoint.New("decision.taken")
	atTakenUp     = failpoint.New("resume.taken_up")
	atDoubt       = failpoint.New("resume.doubt")
	atPosted      = failpoint.New("inbox.posted")
	atInterrupted = failpoint.New("cancel.interrupted")

	atToolStepIntent = failpoint.New("tool_step.intent") // a step of a tool is about to be committed as begun
	atToolStepBegun  = failpoint.New("tool_step.begun")  // and about to run
	atToolStepRun    = failpoint.New("tool_step.run")    // it has run, and its result is not known to the run
	atToolStepEnded  = failpoint.New("tool_step.ended")  // its result is about to be committed
	atToolStepStored = failpoint.New("tool_step.stored")
	atToolStepDoubt  = failpoint.New("tool_step.doubt") // the tool comes to a step in doubt again

	atPlanned    = failpoint.New("compaction.planned")    // the attempt is not announced
	atAnnounced  = failpoint.New("compaction.announced")  // announced, and no request made
	atSummarised = failpoint.New("compaction.summarised") // only this process has the summary
	atLeft       = failpoint.New("compaction.left")       // the run has ended; the result will be posted
	atPosting    = failpoint.New("compaction.posting")    // to the inbox, for the next run
	atSummaryIn  = failpoint.New("compaction.posted")
	atTaken      = failpoint.New("compaction.taken") // applied to the conversation, and not committed

	atReserve  = failpoint.New("budget.reserving")
	atReserved = failpoint.New("budget.reserved") // and the model not called
	atSettle   = failpoint.New("budget.settling") // the answer has arrived
	atSettled  = failpoint.New("budget.settled")  // and not committed
)
