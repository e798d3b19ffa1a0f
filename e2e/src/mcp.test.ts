// The official MCP clients call agents as tools, in both eras of the protocol: the scenario agent's words, plain, cut off and
// resumed, and across a crash.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client";
import { Server } from "./server";

const server = new Server();
before(() => server.start());
after(() => server.close());

const ticks = [...Array(20).keys()].map((i) => `tick${i} `).join("");
const text = (r: any): string => r.content[0].text;
let approves = true;
const answer = () => ({ action: "accept" as const, content: { approved: approves } });

async function older() {
  const client = new Client({ name: "e2e", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async () => answer());
  const fast = { initialReconnectionDelay: 100, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1, maxRetries: 100 };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/v1/mcp`), { reconnectionOptions: fast }));
  return { close: () => client.close(), call: (message: string, more: object = {}, options: object = {}) => client.callTool({ name: "scenario", arguments: { message, ...more } }, undefined, options), client };
}

async function newer(versionNegotiation: object) {
  const client = new Client2({ name: "e2e", version: "1" }, { capabilities: { elicitation: { form: {} } }, versionNegotiation } as any);
  (client as any).setRequestHandler("elicitation/create", async () => answer());
  await client.connect(new Transport2(new URL(`${server.url}/v1/mcp`)));
  return { close: () => client.close(), call: (message: string, more: object = {}, options: object = {}) => client.callTool({ name: "scenario", arguments: { message, ...more } }, options as any), client };
}

const clients = { "sdk 1, 2025-11-25": older, "client 2, 2025-11-25": () => newer({}), "client 2, 2026-07-28": () => newer({ mode: "auto" }) };

for (const [name, connect] of Object.entries(clients)) {
  describe(name, () => {
    test("the words of the scenario agent", async () => {
      const c = await connect();
      const { tools } = await c.client.listTools();
      assert.ok(tools.some((t: any) => t.name === "scenario"));
      const first: any = await c.call("scenario:text");
      assert.ok(text(first).length > 10 && first.structuredContent.status === "completed");
      const more: any = await c.call("scenario:tool", { thread_id: first.structuredContent.thread_id });
      assert.match(text(more), /21/);
      assert.equal(more.structuredContent.thread_id, first.structuredContent.thread_id);
      assert.ok(!(await c.call("scenario:tool-error")).isError);
      const failed = await c.call("scenario:error");
      assert.ok(failed.isError && /boom/.test(text(failed)));
      approves = true;
      assert.match(text(await c.call("scenario:approval")), /deleted/);
      approves = false;
      assert.doesNotMatch(text(await c.call("scenario:approval")), /deleted/);
      await c.close();
    });

    test("progress", async () => {
      const c = await connect();
      let said = "";
      const done = await c.call("scenario:slow", {}, { onprogress: (p: any) => (said += p.message) });
      assert.equal(text(done), ticks);
      assert.equal(said, ticks);
      await c.close();
    });

    test("cancelling", async () => {
      const c = await connect();
      const stop = new AbortController();
      const thread = `cancelled by ${name}`;
      await assert.rejects(c.call("scenario:slow", { thread_id: thread }, { signal: stop.signal, onprogress: () => stop.abort() }));
      for (;;) {
        const { runs, items }: any = await (await fetch(`${server.url}/v1/threads/${encodeURIComponent(thread)}/runs`)).json();
        const run = (runs ?? items)[0];
        if (run.status === "done") {
          assert.equal(run.termination_reason?.type ?? run.termination_reason, "cancelled");
          break;
        }
      }
      await c.close();
    });
  });
}

test("a call survives a server that is killed", async () => {
  const c = await older();
  let killed: Promise<void> | undefined;
  const done = await c.call("scenario:slow", {}, { timeout: 60_000, onprogress: (p: any) => { if (p.progress === 5) killed = server.restart("SIGKILL"); } });
  await killed;
  assert.equal(text(done), ticks);
  await c.close();
});
