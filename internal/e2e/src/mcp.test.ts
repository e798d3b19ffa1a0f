// The official MCP clients call agents as tools, in both eras of the protocol: the scenario agent's words, plain, cut off, across
// a crash, and on another replica.
//
// In the newer era a stream cannot be resumed: cutting it off cancels the run, and after a crash the run ends without its client.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client";
import { Gate, Server } from "./server";

const server = new Server();
const gate = new Gate(() => server.port);
before(async () => {
  await server.start();
  await gate.start();
});
after(async () => {
  gate.close();
  await server.close();
});

const ticks = [...Array(20).keys()].map((i) => `tick${i} `).join("");
const text = (r: any): string => r.content[0].text;
let approves = true;
let asked = () => {}; // is called when the client is asked
const answer = () => {
  asked();
  return { action: "accept" as const, content: { approved: approves } };
};
const fast = { initialReconnectionDelay: 100, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1, maxRetries: 100 };

async function older() {
  const client = new Client({ name: "e2e", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async () => answer());
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gate.url}/v1/mcp`), { reconnectionOptions: fast }));
  return { close: () => client.close(), call: (message: string, more: object = {}, options: object = {}) => client.callTool({ name: "scenario", arguments: { message, ...more } }, undefined, options), client };
}

async function newer(versionNegotiation: object) {
  const client = new Client2({ name: "e2e", version: "1" }, { capabilities: { elicitation: { form: {} } }, versionNegotiation } as any);
  (client as any).setRequestHandler("elicitation/create", async () => answer());
  await client.connect(new Transport2(new URL(`${gate.url}/v1/mcp`), { reconnectionOptions: fast }));
  return { close: () => client.close(), call: (message: string, more: object = {}, options: object = {}) => client.callTool({ name: "scenario", arguments: { message, ...more } }, options as any), client };
}

const clients = { "sdk 1, 2025-11-25": older, "client 2, 2025-11-25": () => newer({}), "client 2, 2026-07-28": () => newer({ mode: "auto" }) };

for (const [name, connect] of Object.entries(clients)) {
  const resumes = name.endsWith("2025-11-25");
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
      await assert.rejects(c.call("scenario:hang", { thread_id: thread }, { signal: stop.signal, onprogress: () => stop.abort() }));
      assert.equal(await ended(thread), "cancelled");
      await c.close();
    });

    // A call of scenario:slow, during which something happens after the second piece of its answer.
    const slow = async (thread: string, happens: () => unknown, word = "scenario:slow") => {
      const c = await connect();
      let said = "";
      let happened: unknown;
      const options = {
        timeout: resumes ? 180_000 : 5_000, // the newer one does not notice that a stream was cut off
        onprogress: (p: any) => {
          said += p.message;
          if (p.progress === 2) happened = happens();
        },
      };
      let done: any;
      try {
        done = await c.call(word, { thread_id: thread }, options);
      } catch (err) {
        done = err;
      }
      await happened;
      void c.close().catch(() => {}); // its connections may be gone
      return { done, said };
    };

    test("cut off", async () => {
      const thread = `cut off from ${name}`;
      const { done, said } = await slow(thread, () => gate.cut(), resumes ? undefined : "scenario:hang"); // what is cancelled must not have ended
      if (resumes) assert.deepEqual([text(done), said], [ticks, ticks]);
      else assert.deepEqual([done instanceof Error, await ended(thread)], [true, "cancelled"]);
    });

    test("the server is killed", async () => {
      const thread = `killed under ${name}`;
      const { done } = await slow(thread, () => server.restart("SIGKILL"));
      if (resumes) assert.equal(text(done), ticks);
      else {
        assert.deepEqual([await ended(thread), await last(thread)], ["natural_end", ticks]);
        if (!(done instanceof Error)) assert.equal(text(done), ticks); // only if the run had ended before the server did
      }
    });

    test("another replica", async () => {
      const other = await server.another();
      const first = gate.port;
      const move = () => {
        gate.port = () => other;
      };
      try {
        approves = true;
        asked = move; // the answer goes to the other one
        const c = await connect();
        assert.match(text(await c.call("scenario:approval")), /deleted/);
        const more: any = await c.call("scenario:tool", { thread_id: `moved by ${name}` });
        assert.match(text(more), /21/);
        await c.close();
        if (!resumes) return;
        gate.port = first;
        const { done, said } = await slow(`resumed by ${name}`, () => {
          move();
          gate.cut();
        });
        assert.deepEqual([text(done), said], [ticks, ticks]);
      } finally {
        asked = () => {};
        gate.port = first;
      }
    });
  });
}

// ended returns how the run of a thread ended.
async function ended(thread: string): Promise<string> {
  for (;;) {
    const { runs, items }: any = await (await fetch(`${server.url}/v1/threads/${encodeURIComponent(thread)}/runs`)).json();
    const run = (runs ?? items)[0];
    if (run.status === "done") return run.termination_reason?.type ?? run.termination_reason;
    await new Promise((next) => setTimeout(next, 50));
  }
}

// last returns the text of the last message of a thread.
async function last(thread: string): Promise<string> {
  const { messages, items }: any = await (await fetch(`${server.url}/v1/threads/${encodeURIComponent(thread)}/messages`)).json();
  const message = (messages ?? items).at(-1);
  return (message.message ?? message).content.map((b: any) => b.text).join("");
}
