import type { Problem } from "../../api/config";
import type { components } from "../../api/schema";

export const modes = ["recorded", "refuse", "read_only", "real"] as const;
export type Mode = (typeof modes)[number];
export const parameters = ["temperature", "top_p", "max_tokens"] as const;
export const efforts = ["none", "low", "medium", "high", "max"] as const;

/** What is said of a call before the fork, instead of what it returned. */
export interface Instead {
  kind: "result" | "refused";
  text: string;
}

/** A result that calls in the fork get. */
export interface Stub {
  tool: string;
  /** JSON, or "" for every call of the tool. */
  args: string;
  result: string;
}

/** What the form of a fork holds. A text that is empty, and a prompt that is undefined, stays as it is. */
export interface ForkForm {
  step: number;
  /** "" is the version of the run. */
  version: string;
  /** "" is the agent of the run. */
  agent: string;
  model: string;
  prompt?: string;
  numbers: Partial<Record<(typeof parameters)[number], string>>;
  effort: string;
  calls: Record<string, Instead>;
  tools: Mode;
  stubs: Stub[];
}

export const fresh = (step: number): ForkForm => ({ step, version: "", agent: "", model: "", numbers: {}, effort: "", calls: {}, tools: "recorded", stubs: [] });

type Body = components["schemas"]["RunForkBody"];

/** What is wrong with a form, by field: step, version, agent, model, prompt, a parameter, call:<id> or stub:<n>. */
export type Wrong = Record<string, string>;

/** bodyOf returns the request that a form stands for, and what is wrong with it. */
export function bodyOf(form: ForkForm): { body: Body; wrong: Wrong } {
  const wrong: Wrong = {};
  const body: Body = { from_step: form.step, tools: form.tools };
  if (form.agent) body.agent = form.agent;
  else if (form.version) body.version = form.version;
  if (form.model) body.model_id = form.model;
  if (form.prompt !== undefined) body.system_prompt = form.prompt;
  const overrides: Record<string, unknown> = {};
  for (const name of parameters) {
    const text = form.numbers[name]?.trim() ?? "";
    if (text === "") continue;
    const n = Number(text);
    if (Number.isNaN(n)) wrong[name] = "number";
    else overrides[name] = n;
  }
  if (form.effort) overrides.reasoning_effort = form.effort;
  if (Object.keys(overrides).length > 0) body.overrides = overrides as Body["overrides"];
  for (const [id, c] of Object.entries(form.calls)) {
    if (c.kind === "refused") body.refused = { ...body.refused, [id]: c.text };
    else body.results = { ...body.results, [id]: c.text };
  }
  form.stubs.forEach((s, i) => {
    let args: unknown;
    if (s.tool.trim() === "") wrong[`stub:${i}`] = "tool";
    if (s.args.trim() !== "") {
      try {
        args = JSON.parse(s.args);
      } catch {
        wrong[`stub:${i}`] = "json";
      }
    }
    body.fixtures = [...(body.fixtures ?? []), { tool: s.tool.trim(), ...(args !== undefined && { arguments: args }), result: { tool_name: s.tool.trim(), status: "success", message: s.result } as never }];
  });
  return { body, wrong };
}

/** wrongOf puts what the server says about a request next to its field; "" is the whole form. */
export function wrongOf(message: string, problems: Problem[]): Wrong {
  const out: Wrong = {};
  for (const p of problems) out[fieldOf(p.path || p.message)] = p.message;
  if (problems.length === 0) out[fieldOf(message)] = message;
  return out;
}

function fieldOf(text: string): string {
  const call = /results\["([^"]+)"\]|call "([^"]+)"/.exec(text);
  if (call) return `call:${call[1] ?? call[2]}`;
  const stub = /(?:results|fixtures)\[(\d+)\]/.exec(text);
  if (stub) return `stub:${stub[1]}`;
  const named = /\b(temperature|top_p|max_tokens|reasoning_effort|from_step|step|version|system_prompt|prompt|model(?:_id)?|agent)\b/.exec(text)?.[1] ?? "";
  return ({ from_step: "step", system_prompt: "prompt", model_id: "model", reasoning_effort: "effort" } as Record<string, string>)[named] ?? named;
}
