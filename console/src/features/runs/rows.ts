import type { components } from "../../api/schema";
import type { Span } from "./scale";
import type { Call, Step, Timeline } from "./queries";

export type Row =
  | { kind: "activation"; key: string; at: number; row: components["schemas"]["Activation"] }
  | { kind: "step"; key: string; at: number; row: Step }
  | { kind: "call"; key: string; at: number; row: Call }
  | { kind: "wait"; key: string; at: number; row: components["schemas"]["WaitRow"] }
  | { kind: "takeover"; key: string; at: number; row: components["schemas"]["Takeover"] }
  | { kind: "reset"; key: string; at: number; row: components["schemas"]["Reset"] };

const rank = { activation: 0, takeover: 1, step: 2, reset: 3, call: 4, wait: 5 };

/** rowsOf returns the rows of a timeline in the order in which they are read: a step is followed by its calls. */
export function rowsOf(t: Timeline): Row[] {
  const startOf = new Map(t.steps.map((s) => [s.step, s.started_at]));
  const rows: (Row & { order: number; sub: number })[] = [];
  for (const row of t.activations) rows.push({ kind: "activation", key: `a${row.seq}`, at: row.started_at, row, order: row.started_at, sub: -1 });
  for (const row of t.steps) rows.push({ kind: "step", key: `s${row.step}`, at: row.started_at, row, order: row.started_at, sub: row.step });
  for (const row of t.calls) rows.push({ kind: "call", key: `c${row.step}/${row.call_id}`, at: row.queued_at ?? startOf.get(row.step) ?? 0, row, order: startOf.get(row.step) ?? row.queued_at ?? 0, sub: row.step + row.index / 10_000 });
  for (const row of t.waits) rows.push({ kind: "wait", key: `w${row.seq}`, at: row.since, row, order: row.since, sub: Infinity });
  for (const row of t.takeovers) rows.push({ kind: "takeover", key: `t${row.seq}`, at: row.at, row, order: row.at, sub: row.step ?? 0 });
  for (const row of t.resets) rows.push({ kind: "reset", key: `r${row.seq}`, at: row.at, row, order: startOf.get(row.step) ?? row.at, sub: row.step });
  return rows.sort((a, b) => a.order - b.order || a.sub - b.sub || rank[a.kind] - rank[b.kind]);
}

/** A row at its place in the tree: calls are below their step, and the rows of a child run below its call. */
export interface Placed {
  row: Row;
  /** Tells it apart from the rows of all runs that are shown. */
  key: string;
  level: number;
  timeline: Timeline;
  /** Whether there are rows below it, and whether they are shown. */
  expands: boolean;
  expanded: boolean;
  /** The run below it, if it is not here yet. */
  loads?: string;
}

/** placedOf returns the rows that are shown. Steps are unfolded unless their key is in folded, child runs only if theirs is in unfolded. */
export function placedOf(t: Timeline, folded: ReadonlySet<string>, unfolded: ReadonlySet<string>, children: ReadonlyMap<string, Timeline>, level = 1, out: Placed[] = []): Placed[] {
  const withCalls = new Set(t.calls.map((c) => c.step));
  let hidden = -1;
  for (const row of rowsOf(t)) {
    const key = `${t.run_id}/${row.key}`;
    if (row.kind === "step") {
      const expands = withCalls.has(row.row.step);
      const expanded = expands && !folded.has(key);
      hidden = expands && !expanded ? row.row.step : -1;
      out.push({ row, key, level, timeline: t, expands, expanded });
      continue;
    }
    if (row.kind === "call") {
      if (row.row.step === hidden) continue;
      const child = row.row.child_run_id;
      const expanded = child !== undefined && unfolded.has(key);
      const below = child ? children.get(child) : undefined;
      out.push({ row, key, level: level + 1, timeline: t, expands: child !== undefined, expanded, ...(expanded && !below && { loads: child }) });
      if (expanded && below && level < 40) placedOf(below, folded, unfolded, children, level + 2, out);
      continue;
    }
    out.push({ row, key, level, timeline: t, expands: false, expanded: false });
  }
  return out;
}

/** spansOf returns when the run was at work. Waiting is not work. */
export function spansOf(t: Timeline, now: number): Span[] {
  return [
    ...t.steps.map((s) => ({ from: s.started_at, to: s.ended_at ?? s.answered_at ?? (t.status === "running" ? now : s.started_at) })),
    ...t.calls.flatMap((c) => (c.started_at ? [{ from: c.started_at, to: c.ended_at ?? (c.status === "running" ? now : c.started_at) }] : [])),
    ...t.commits.map((c) => ({ from: c.at, to: c.at })),
  ];
}
