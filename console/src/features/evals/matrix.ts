import type { Change, Item } from "../../api/evals";

type Cell = Item["cell"];

/** keyOf identifies a variant: the model, the agent, and whatever else tells its cells apart. */
export const keyOf = (cell: Cell): string => JSON.stringify(Object.entries(cell ?? {}).filter(([, v]) => v !== undefined && v !== "").sort());

/** nameOf names a variant, as reports do; "" if cases ran in one way only. */
export function nameOf(cell: Cell): string {
  if (!cell) return "";
  const { agent_id, model_id, ...rest } = cell as Record<string, string | undefined>;
  const named = agent_id && model_id ? `${agent_id} · ${model_id}` : (agent_id ?? model_id ?? "");
  return [named, ...Object.values(rest).filter((v) => typeof v === "string" && v !== "")].filter(Boolean).join(" · ");
}

export interface Square {
  items: Item[];
  passed: number;
  /** What became of it since the baseline: the worst of its samples. */
  change?: string;
}

export interface Row {
  fixture: string;
  squares: Map<string, Square>;
  /** The worst change of its squares, or passed or failed without a baseline. */
  state: string;
}

/** The worst first: what must be looked at before a release. */
export const order = ["regression", "missing_from_new", "drift", "failed", "still_failing", "flaky", "newly_added", "fixed", "passed", "unchanged"] as const;
const rank = (state: string) => {
  const at = (order as readonly string[]).indexOf(state);
  return at < 0 ? order.length : at;
};
const worse = (a: string | undefined, b: string) => (a === undefined || rank(b) < rank(a) ? b : a);

/** variantsOf returns the variants of items, in their order. */
export function variantsOf(items: Item[]): { key: string; cell: Cell; name: string }[] {
  const out = new Map<string, { key: string; cell: Cell; name: string }>();
  for (const it of items) {
    const key = keyOf(it.cell);
    if (!out.has(key)) out.set(key, { key, cell: it.cell, name: nameOf(it.cell) });
  }
  return [...out.values()];
}

/** rowsOf returns a row for each case, what is worst first, otherwise in the order of the run. */
export function rowsOf(items: Item[], diff?: Change[]): Row[] {
  const rows = new Map<string, Row>();
  const square = (fixture: string, cell: Cell): [Row, Square] => {
    let row = rows.get(fixture);
    if (!row) rows.set(fixture, (row = { fixture, squares: new Map(), state: "" }));
    let s = row.squares.get(keyOf(cell));
    if (!s) row.squares.set(keyOf(cell), (s = { items: [], passed: 0 }));
    return [row, s];
  };
  for (const it of items) {
    const [, s] = square(it.fixture_id, it.cell);
    s.items.push(it);
    if (it.report?.passed) s.passed++;
  }
  for (const c of diff ?? []) {
    const [, s] = square(c.fixture_id, c.cell);
    s.change = worse(s.change, c.kind);
  }
  for (const row of rows.values()) {
    let state: string | undefined;
    for (const s of row.squares.values()) {
      const own = s.passed === s.items.length ? "passed" : s.passed > 0 ? "flaky" : "failed";
      state = worse(state, diff ? (s.change ?? own) : own);
    }
    row.state = state ?? "";
  }
  return [...rows.values()].map((row, i) => ({ row, i })).sort((a, b) => rank(a.row.state) - rank(b.row.state) || a.i - b.i).map(({ row }) => row);
}

/** The choices of what to show, with and without a baseline. */
export const views = ["changed", "regressed", "fixed", "failed", "all"] as const;
export type View = (typeof views)[number];

/** shows reports whether a row is among those of a view. */
export function shows(row: Row, view: View): boolean {
  switch (view) {
    case "changed":
      return row.state !== "unchanged" && row.state !== "passed" && row.state !== "still_failing";
    case "regressed":
      return row.state === "regression";
    case "fixed":
      return row.state === "fixed";
    case "failed":
      return [...row.squares.values()].some((s) => s.passed < s.items.length);
    default:
      return true;
  }
}

/** blocking reports whether a change should stop a release. */
export const blocking = (c: Change) => c.kind === "regression" || c.kind === "missing_from_new" || c.kind === "drift" || (c.kind === "newly_added" && c.passed === false);

const words = (text: string) => text.replaceAll("_", " ");

/** titleOf names a case with its variant and sample. */
export function titleOf(c: Pick<Change, "fixture_id" | "cell" | "sample_index">): string {
  const cell = c.cell && (c.cell.agent_id && c.cell.model_id ? `${c.cell.agent_id} on ${c.cell.model_id}` : nameOf(c.cell));
  return c.fixture_id + (cell ? ` with ${cell}` : "") + (c.sample_index !== undefined ? `, sample ${c.sample_index}` : "");
}

/** said says what became of a case, as the command line does. */
export function said(c: Change): string {
  switch (c.kind) {
    case "regression":
      return `passed before and fails: ${(c.new_failures ?? []).map(words).join(", ")}`;
    case "fixed":
      return "failed before and passes";
    case "still_failing":
      return c.new_failures?.length ? `still fails, now also: ${c.new_failures.map(words).join(", ")}` : "still fails";
    case "drift":
      return `passes, but differs in ${(c.fields ?? []).join(", ")}`;
    case "missing_from_new":
      return "was not run";
    case "newly_added":
      return c.passed ? "is new and passes" : "is new and fails";
    default:
      return "did not change";
  }
}

/** changesOf returns what became of each item: since a baseline, or of a run alone, in which all cases are new. */
export const changesOf = (items: Item[], diff?: Change[]): Change[] => diff ?? items.map((it) => ({ kind: "newly_added", fixture_id: it.fixture_id, cell: it.cell, sample_index: it.sample_index, passed: it.report?.passed ?? false }));

const at = (c: Pick<Change, "fixture_id" | "cell" | "sample_index">) => `${c.fixture_id}\n${keyOf(c.cell)}\n${c.sample_index ?? ""}`;

/** ndjson writes reports as files of the command line have them: one per line. */
export const ndjson = (items: Item[]): string => items.map((it) => JSON.stringify({ ...it.report, ...(it.cell && { cell: it.cell }), ...(it.sample_index !== undefined && { sample_index: it.sample_index }) }) + "\n").join("");

const cellText = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(/[\n\r]/g, " ").replaceAll("`", "\\`");

/** markdown writes changes as a table for a pull request: what blocks first. */
export function markdown(changes: Change[]): string {
  const blocks = changes.filter(blocking);
  const others = changes.filter((c) => !blocking(c) && c.kind !== "unchanged");
  const counts = new Map<string, number>();
  for (const c of changes) counts.set(c.kind, (counts.get(c.kind) ?? 0) + 1);
  const names: [string, string, string][] = [
    ["regression", "regression", "regressions"],
    ["missing_from_new", "missing", "missing"],
    ["drift", "drifted", "drifted"],
    ["newly_added", "new", "new"],
    ["fixed", "fixed", "fixed"],
    ["still_failing", "still failing", "still failing"],
    ["unchanged", "unchanged", "unchanged"],
  ];
  const sum = names.flatMap(([kind, one, many]) => (counts.has(kind) ? [`${counts.get(kind)} ${counts.get(kind) === 1 ? one : many}`] : [])).join(", ");
  const rows = [...blocks.map((c) => [c, "blocks"] as const), ...others.map((c) => [c, ""] as const)].map(([c, mark]) => `| ${cellText(titleOf(c))} | ${cellText(said(c))} | ${mark} |\n`);
  return `**${blocks.length > 0 ? "Blocked:" : "Passed:"}** ${sum || "no cases"}\n` + (rows.length > 0 ? `\n| Case | Change | |\n|---|---|---|\n${rows.join("")}` : "");
}

const xml = (text: string) => text.replace(/[<>&'"]/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");

/** junit writes changes as a JUnit file: a test for each case, which fails if its change is blocking. */
export function junit(name: string, changes: Change[], items: Item[]): string {
  const reports = new Map(items.map((it) => [at(it), it.report]));
  const tests = changes.map((c) => {
    const report = reports.get(at(c));
    const time = report ? ` time="${(report.session_duration_ms / 1000).toFixed(3)}"` : "";
    const head = `  <testcase name="${xml(titleOf(c))}" classname="${xml(name)}"${time}>`;
    return blocking(c) ? `${head}\n    <failure message="${xml(said(c))}">${report ? xml(JSON.stringify(report.failures, null, 2)) : ""}</failure>\n  </testcase>\n` : `${head}</testcase>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="${xml(name)}" tests="${changes.length}" failures="${changes.filter(blocking).length}">\n${tests.join("")}</testsuite>\n`;
}

/** reportsOf reads a file of reports, one per line. It fails with what is wrong. */
export function reportsOf(text: string): Item[] {
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    let value: Record<string, unknown>;
    try {
      value = JSON.parse(line) as Record<string, unknown>;
    } catch (err) {
      throw new Error(`${i + 1}: ${(err as Error).message}`);
    }
    if (typeof value?.fixture_id !== "string" || typeof value.passed !== "boolean") throw new Error(`${i + 1}: fixture_id, passed`);
    const { cell, sample_index, ...report } = value;
    return [{ fixture_id: value.fixture_id, cell, sample_index, report: { failures: [], ...report } } as unknown as Item];
  });
}
