import type { components } from "../api/schema";
import type { Envelope } from "./log";

type Event = components["schemas"]["Event"];

/** What the events of a log say about a call, beyond its row in the timeline. */
export interface FoldedCall {
  id: string;
  name: string;
  args: unknown;
  /** The arguments as far as the model has written them. */
  partial: string;
  result?: components["schemas"]["ToolResult"] | null;
  outcome?: string;
}

/** One answer of a model. */
export interface FoldedStep {
  messageId: string;
  runId: string;
  text: string;
  reasoning: string;
  calls: string[];
  done: boolean;
}

/** Fold is what a log says, in a form that pages show. It is never changed: fold returns a new one. */
export interface Fold {
  events: Envelope[];
  /** The ids of all events, in parts that do not change once they are full, so that a long log is not copied for each event. */
  seen: ReadonlySet<string>[];
  steps: FoldedStep[];
  calls: Map<string, FoldedCall>;
}

export const emptyFold: Fold = { events: [], seen: [], steps: [], calls: new Map() };

const PART = 1000;

/** noted returns the parts of seen with further ids. */
function noted(seen: ReadonlySet<string>[], events: Envelope[]): ReadonlySet<string>[] {
  const parts = [...seen];
  let last = new Set(parts.pop() ?? []);
  for (const e of events) {
    if (last.size === PART) {
      parts.push(last);
      last = new Set();
    }
    last.add(e.event_id);
  }
  parts.push(last);
  return parts;
}

/** cursorIn returns the position of an event in the log of its run. */
export function cursorIn(e: Envelope, scope: "run" | "thread"): string {
  return e.cursors_by_scope.find((c) => c.scope.scope_type === scope)?.cursor ?? "";
}

/** seqOf returns the number of an event in the log of its thread: the second part of a cursor. A lost owner's events, which were never committed,
 * have the numbers of those that its successor makes. */
export function seqOf(cursor: string): number {
  return Number(cursor.slice(cursor.indexOf("-") + 1));
}

/** retract returns events without those that a reset takes back: all after the one whose cursor it names. */
export function retract(events: Envelope[], cursor: string): Envelope[] {
  const upto = seqOf(cursor);
  return events.filter((e) => seqOf(cursorIn(e, "run")) <= upto);
}

/** fold adds events to a fold. Duplicates do not count; a reset takes back what it names. */
export function fold(before: Fold, added: Envelope[]): Fold {
  const once = new Set<string>();
  const fresh = added.filter((e) => !before.seen.some((part) => part.has(e.event_id)) && !once.has(e.event_id) && once.add(e.event_id));
  if (fresh.length === 0) return before;
  const reset = fresh.some((e) => (e.payload as Event).event_type === "stream_reset");
  if (!reset) return apply({ events: [...before.events, ...fresh], seen: noted(before.seen, fresh), steps: [...before.steps], calls: new Map(before.calls) }, fresh);
  let kept = before.events;
  for (const e of fresh) {
    const p = e.payload as Event;
    if (p.event_type === "stream_reset") kept = retract(kept, p.cursor ?? "");
    kept = [...kept, e];
  }
  return apply({ events: kept, seen: noted([], kept), steps: [], calls: new Map() }, kept);
}

function apply(f: Fold, events: Envelope[]): Fold {
  for (const e of events) {
    const p = e.payload as Event;
    const last = f.steps.length - 1;
    const change = (c: Partial<FoldedStep>) => {
      if (last >= 0) f.steps[last] = { ...f.steps[last]!, ...c };
    };
    const call = (id: string, c: Partial<FoldedCall>) => f.calls.set(id, { ...(f.calls.get(id) ?? { id, name: "", args: undefined, partial: "" }), ...c });
    switch (p.event_type) {
      case "step_start":
        f.steps.push({ messageId: p.message_id, runId: e.run_id ?? "", text: "", reasoning: "", calls: [], done: false });
        break;
      case "text_delta":
        change({ text: (f.steps[last]?.text ?? "") + p.delta });
        break;
      case "reasoning_delta":
        change({ reasoning: (f.steps[last]?.reasoning ?? "") + p.delta });
        break;
      case "tool_call_start":
        call(p.id, { name: p.name });
        if (last >= 0 && !f.steps[last]!.calls.includes(p.id)) change({ calls: [...f.steps[last]!.calls, p.id] });
        break;
      case "tool_call_delta":
        call(p.id, { partial: (f.calls.get(p.id)?.partial ?? "") + p.args_delta });
        break;
      case "tool_call_ready":
        call(p.id, { name: p.name, args: p.arguments });
        break;
      case "tool_call_done":
        call(p.id, { result: p.result, outcome: p.outcome, ...(p.arguments !== undefined ? { args: p.arguments } : {}) });
        break;
      case "step_end":
        change({ done: true });
    }
  }
  return f;
}
