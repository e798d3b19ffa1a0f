import type { Case, Scorer } from "../../api/evals";

/** casesOf reads cases from a file: a dataset, a list of cases or one case as JSON, or one case per line. It fails with what is wrong. */
export function casesOf(text: string): Case[] {
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("empty");
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (whole) {
    const lines = trimmed.split("\n").filter((line) => line.trim() !== "");
    if (lines.length < 2) throw whole;
    value = lines.map((line, i) => {
      try {
        return JSON.parse(line) as unknown;
      } catch (err) {
        throw new Error(`${i + 1}: ${(err as Error).message}`);
      }
    });
  }
  const doc = value as { fixtures?: unknown; spec?: { fixtures?: unknown } };
  const list = Array.isArray(value) ? value : Array.isArray(doc.fixtures) ? doc.fixtures : Array.isArray(doc.spec?.fixtures) ? doc.spec.fixtures : [value];
  return list.map((item, i) => {
    const c = item as Partial<Case> | null;
    if (c === null || typeof c !== "object" || typeof c.id !== "string" || typeof c.user_input !== "string") throw new Error(`${i + 1}: id, user_input`);
    return { ...c, expect: c.expect ?? {} } as Case;
  });
}

/** merged puts cases into a list: those with a known id replace it, others follow. */
export function merged(list: Case[], more: Case[]): Case[] {
  const by = new Map(list.map((c) => [c.id, c]));
  for (const c of more) by.set(c.id, c);
  return [...by.values()];
}

/** replaced puts a case in the place of the one with an id, or at the end if there is none; undefined removes it. */
export function replaced(list: Case[], id: string, next?: Case): Case[] {
  const at = list.findIndex((c) => c.id === id);
  if (at < 0) return next ? [...list, next] : list;
  return next ? list.map((c, i) => (i === at ? next : c)) : list.filter((_, i) => i !== at);
}

/** fieldOf returns which field of the case with a number an error is about: "" if it is about none of them. */
export function fieldOf(message: string, n: number): string {
  const m = /spec\.fixtures\[(\d+)\]\.([\w.[\]]+)/.exec(message);
  if (!m || Number(m[1]) !== n) return "";
  const path = m[2]!.replace(/\.$/, "");
  return /^expect\.scorers\[\d+\]/.exec(path)?.[0] ?? /^(expect\.\w+|\w+)/.exec(path)?.[0] ?? "";
}

export type ScorerField = "text" | "pattern" | "path" | "name" | "number" | "tolerance" | "max" | "ignore_case" | "not" | "schema" | "equals" | "calls" | "order" | "rules";

/** The fields of each kind of scorer, beside its name. */
export const scorerFields: Record<string, ScorerField[]> = {
  exact: ["text", "ignore_case"],
  contains: ["text", "ignore_case", "not"],
  regex: ["pattern", "not"],
  json_schema: ["schema"],
  json_path: ["path", "equals"],
  numeric: ["number", "tolerance", "path"],
  tool_calls: ["calls", "order"],
  no_tool: [],
  cost: ["max"],
  latency: ["max"],
  tokens: ["max"],
  steps: ["max"],
  safety: ["rules"],
  func: [],
};

/** ofKind returns a scorer of another kind, with those of its fields that both have. */
export function ofKind(s: Scorer, kind: string): Scorer {
  const keep = new Set<string>(["name", ...(scorerFields[kind] ?? [])]);
  return { ...Object.fromEntries(Object.entries(s).filter(([name]) => keep.has(name))), kind };
}

/** scripted reports whether a case can be run without a model. */
export const scripted = (c: Case) => (c.provider_script?.length ?? 0) > 0 || c.mock_response !== undefined;

/** expectations counts what a case expects. */
export const expectations = (c: Case) => Object.entries(c.expect).reduce((n, [name, v]) => n + (name === "rubric" || name === "tool_sequence_mode" || v === undefined || v === "" ? 0 : name === "scorers" || name === "required_tool_calls" || name.startsWith("final_") || name === "forbidden_tools" ? (v as unknown[]).length : 1), 0);
