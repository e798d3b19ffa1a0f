// A page with CopilotKit.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { CopilotKitCore } from "@copilotkit/core";
import type { Event } from "./clients.ts";

/* eslint-disable @typescript-eslint/no-explicit-any */

// It does not connect where there is no page.
(globalThis as any).window ??= globalThis;

/** A page: CopilotKit, connected, with a client of an agent. */
export async function newPage(url: string, options: { agentId?: string; threadId?: string; [option: string]: any } = {}) {
  const { agentId = "scenario", threadId = randomUUID(), ...rest } = options;
  const errors: any[] = [];
  const core = new CopilotKitCore({ runtimeUrl: `${url}/v1/ag-ui`, ...rest } as any);
  const connected = new Promise<void>((done, failed) => {
    core.subscribe({
      onRuntimeConnectionStatusChanged: ({ status }: any) => {
        if (status === "connected") done();
        if (status === "error") failed(new Error("no connection"));
      },
      onError: ({ code, error }: any) => void errors.push(`${code}: ${error.message}`),
    } as any);
  });
  core.connect();
  await connected;
  const agent: any = core.getAgent(agentId);
  assert.ok(agent, `no agent ${agentId}`);
  agent.threadId = threadId;
  agent.events = [] as Event[];
  agent.subscribe({ onEvent: ({ event }: any) => void agent.events.push(event) });
  const say = async (text: string) => {
    agent.addMessage({ id: randomUUID(), role: "user", content: text });
    const at = agent.events.length;
    await core.runAgent({ agent });
    return agent.events.slice(at) as Event[];
  };
  return { core, agent, say, errors, threadId };
}
