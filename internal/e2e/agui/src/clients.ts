// AG-UI clients: those of today, and those of the version that CopilotKit has.
import { randomUUID } from "node:crypto";
import * as now from "@ag-ui/client";
import * as before from "@ag-ui/client-before";

/* The types of the versions differ in what does not matter here. */
/* eslint-disable @typescript-eslint/no-explicit-any */
export type Event = { type: string; [field: string]: any };
export type Agent = any;

export const versions: Record<string, any> = { "1.0": now, "0.0.59": before };

/** A client of an agent, as a page has it. It keeps the events of its runs. */
export function newAgent(url: string, version = "1.0", options: { agentId?: string; threadId?: string; path?: string; [option: string]: any } = {}): Agent {
  const { agentId = "scenario", path = `/v1/ag-ui/agent/${agentId}/run`, threadId = randomUUID(), ...rest } = options;
  const agent = new versions[version].HttpAgent({ url: url + path, agentId, threadId, ...rest });
  agent.events = [] as Event[];
  agent.subscribe({ onEvent: ({ event }: { event: Event }) => void agent.events.push(event) });
  return agent;
}

/** Says something, and returns the events of the run that follows. */
export async function say(agent: Agent, text: unknown, parameters: object = {}): Promise<Event[]> {
  agent.addMessage({ id: randomUUID(), role: "user", content: text });
  return await run(agent, parameters);
}

export async function run(agent: Agent, parameters: object = {}): Promise<Event[]> {
  const at = agent.events.length;
  await agent.runAgent(parameters);
  return agent.events.slice(at);
}

export const types = (events: Event[]): string[] => events.map((e) => e.type);
export const only = (events: Event[], type: string): Event[] => events.filter((e) => e.type === type);
export const one = (events: Event[], type: string): Event => {
  const found = only(events, type);
  if (found.length !== 1) throw new Error(`${found.length} ${type} in ${types(events)}`);
  return found[0];
};

/** What the conversation of a client says, without what differs from run to run. */
export const talk = (agent: Agent): string[] =>
  agent.messages.map((m: any) => {
    const calls = (m.toolCalls ?? []).map((c: any) => ` [${c.function.name} ${c.function.arguments}]`).join("");
    return `${m.role}: ${typeof m.content === "string" ? m.content : JSON.stringify(m.content ?? "")}${calls}`;
  });

export const lastText = (agent: Agent): string => agent.messages.at(-1)?.content ?? "";

/** Posts to a route, and returns the answer. */
export function post(url: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { "content-type": "application/json", ...(init.headers as object) };
  return fetch(url, { method: "POST", ...init, headers, body: typeof body === "string" ? body : JSON.stringify(body) });
}

/** Reads a stream up to a number of bytes, or to its end. */
export async function take(response: Response, bytes = Infinity): Promise<string> {
  const reader = response.body!.getReader();
  const parts: Uint8Array[] = [];
  let n = 0;
  while (n < bytes) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    n += value.length;
  }
  await reader.cancel();
  const all = Buffer.concat(parts);
  return all.subarray(0, Math.min(bytes, all.length)).toString();
}

export const input = (threadId: string, text: string, more: object = {}) => ({
  threadId,
  runId: randomUUID(),
  protocolVersion: "1.0",
  messages: [{ id: randomUUID(), role: "user", content: text }],
  tools: [],
  context: [],
  state: {},
  forwardedProps: {},
  ...more,
});
