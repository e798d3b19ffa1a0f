import { Ban, Check, CircleDashed, CircleHelp, Coins, Diamond, Dot, Hand, Hourglass, LoaderCircle, Pin, Play, RotateCw, ShieldAlert, Square, X, type LucideIcon } from "lucide-react";
import type { components } from "../api/schema";
import { useLanguage, type Key } from "../i18n/i18n";

type Run = Pick<components["schemas"]["Run"], "status"> & { outcome?: string; reason?: string };
type Call = components["schemas"]["CallRow"];
type CallStatus = Call["status"] | "in_doubt" | "committed" | "made" | "not_made";
export type Tone = "run" | "ok" | "wait" | "fail" | "doubt" | "idle";

interface Look {
  icon: LucideIcon;
  tone: Tone;
  word: Key;
  spins?: boolean;
}

const toneText: Record<Tone, string> = { run: "text-run", ok: "text-ok", wait: "text-wait", fail: "text-fail", doubt: "text-doubt", idle: "text-idle" };
export const toneFill: Record<Tone, string> = { run: "bg-run", ok: "bg-ok", wait: "bg-wait", fail: "bg-fail", doubt: "bg-doubt", idle: "bg-idle" };
export const toneOf = (tone: Tone) => toneText[tone];

const waits: Record<string, Look> = {
  budget_exhausted: { icon: Coins, tone: "wait", word: "status.waitsBudget" },
  pin_unavailable: { icon: Pin, tone: "wait", word: "status.waitsVersion" },
  restored: { icon: CircleHelp, tone: "doubt", word: "status.waitsRelease" },
  background_tasks: { icon: Hourglass, tone: "wait", word: "status.waitsTask" },
  external_event: { icon: Hourglass, tone: "wait", word: "status.waitsTask" },
  rate_limit: { icon: Hourglass, tone: "wait", word: "status.waitsRate" },
};

const outcomes: Record<string, Look> = {
  natural_end: { icon: Check, tone: "ok", word: "status.done" },
  behavior_requested: { icon: Check, tone: "ok", word: "status.done" },
  stopped: { icon: Square, tone: "idle", word: "status.stopped" },
  blocked: { icon: ShieldAlert, tone: "wait", word: "status.blocked" },
  cancelled: { icon: Ban, tone: "idle", word: "status.cancelled" },
  error: { icon: X, tone: "fail", word: "status.failed" },
};

export function lookOfRun({ status, outcome, reason }: Run): Look {
  switch (status) {
    case "created":
      return { icon: CircleDashed, tone: "idle", word: "status.queued" };
    case "running":
      return { icon: LoaderCircle, tone: "run", word: "status.running", spins: true };
    case "waiting":
      return waits[reason ?? ""] ?? { icon: Hand, tone: "wait", word: "status.waitsPerson" };
    default:
      return outcomes[outcome ?? ""] ?? { icon: Check, tone: "idle", word: "status.ended" };
  }
}

const calls: Record<CallStatus, Look> = {
  new: { icon: Dot, tone: "idle", word: "call.new" },
  running: { icon: Play, tone: "run", word: "call.running" },
  committed: { icon: Diamond, tone: "run", word: "call.running" },
  suspended: { icon: Hand, tone: "wait", word: "call.suspended" },
  resuming: { icon: RotateCw, tone: "run", word: "call.resuming" },
  succeeded: { icon: Check, tone: "ok", word: "call.succeeded" },
  failed: { icon: X, tone: "fail", word: "call.failed" },
  cancelled: { icon: Ban, tone: "idle", word: "call.cancelled" },
  in_doubt: { icon: CircleHelp, tone: "doubt", word: "call.inDoubt" },
  made: { icon: Check, tone: "ok", word: "settle.wasMade" },
  not_made: { icon: Ban, tone: "idle", word: "settle.wasNotMade" },
};

const lookOfCall = (status: CallStatus): Look => calls[status];

/** lookOf is how a call is shown. One in doubt stays so, whatever became of its run, until a person, its tool or a probe says whether it took effect. */
export function lookOf(c: Call): Look {
  if (c.outcome === "in_doubt") return lookOfCall("in_doubt");
  const settled = c.doubt?.settled;
  const over = c.status === "failed" || c.status === "cancelled";
  const again = c.decisions?.some((d) => d.outcome === "not_made" && d.action === "resume"); // then its status is of the attempt after
  if (settled?.by === "person" && over && !again) return lookOfCall(settled.outcome === "made" ? "made" : "not_made");
  return lookOfCall(!c.doubt && c.in_doubt && (c.status === "failed" ? !c.decisions?.length : c.status !== "succeeded") ? "in_doubt" : c.status); // records of older releases have no doubt
}

/** Badge shows a state as icon, word and colour. */
export function Badge({ look, iconOnly }: { look: Look; iconOnly?: boolean }) {
  const { t } = useLanguage();
  const Icon = look.icon;
  return (
    <span className={`inline-flex items-center gap-1 whitespace-nowrap ${toneText[look.tone]}`} title={iconOnly ? t(look.word) : undefined}>
      <Icon aria-hidden className={`size-3.5 shrink-0 ${look.spins ? "spin" : ""}`} />
      <span className={iconOnly ? "sr-only" : "font-medium"}>{t(look.word)}</span>
    </span>
  );
}

/** outcomeOf returns how a run ended, and what it waits for. */
export function stateOf(run: components["schemas"]["Run"]): Run {
  return { status: run.status, outcome: run.termination_reason?.type, reason: run.waiting?.reason };
}
