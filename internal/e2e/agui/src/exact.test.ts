// A page shows exactly what is stored, whatever disturbs it.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Server } from "../../src/server.ts";
import { lastText, newAgent, one, run, say, talk, versions } from "./clients.ts";
import { newPage } from "./page.ts";

const server = new Server();
before(() => server.start());
after(() => server.close());

/* eslint-disable @typescript-eslint/no-explicit-any */

const ticks = [...Array(20).keys()].map((i) => `tick${i} `).join("");
const stored = async (url: string, threadId: string): Promise<any[]> => ((await (await fetch(`${url}/v1/ag-ui/threads/${threadId}/messages?limit=200`)).json()) as any).messages;
const shown = (agent: any): any[] => agent.messages.filter((m: any) => m.role !== "activity");
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

// The client cancels the reader of a stream that has failed and throws again what that says, which a test takes for its own failure.
const { cancel } = ReadableStreamDefaultReader.prototype;
ReadableStreamDefaultReader.prototype.cancel = function (reason) {
  return cancel.call(this, reason).catch(() => {});
};

describe("exact pages, the server stops", { concurrency: 3 }, () => {
  const own = async (fn: (s: Server) => Promise<void>) => {
    const s = await new Server().start();
    try {
      await fn(s);
    } finally {
      await s.close();
    }
  };

  /** Says something, ends the server when the page shows what is awaited, and connects the page again. */
  const disturbed = async (s: Server, text: string, signal: NodeJS.Signals, awaited: (agent: any) => boolean, before: string[] = []) => {
    const p = await newPage(s.url);
    for (const word of before) await p.say(word);
    const seen = new Promise<void>((done) => p.agent.subscribe({ onEvent: () => void (awaited(p.agent) && done()) }));
    const done = p.say(text).catch(() => {});
    await seen;
    await s.restart(signal);
    await done;
    for (let tries = 1; ; tries++) { // until another process has taken over, a page is sent away
      p.errors.length = 0;
      await p.core.connectAgent({ agent: p.agent }).catch((e: Error) => p.errors.push(e));
      const latest: any = await (await fetch(`${s.url}/v1/threads/${p.threadId}/runs/latest`)).json();
      if (p.errors.length === 0 && latest.status === "done") break;
      assert.ok(tries < 300, `it does not end: ${p.errors}, ${JSON.stringify(latest)}`);
      await sleep(500);
    }
    assert.deepEqual(shown(p.agent), await stored(s.url, p.threadId));
    return p;
  };

  const calmly = async (s: Server, text: string) => {
    const p = await newPage(s.url);
    await p.say(text);
    return talk({ messages: shown(p.agent) });
  };

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(`${signal} in the middle of a text: the page connects again`, () => own(async (s) => {
      const { agent } = await disturbed(s, "scenario:slow", signal, (a) => lastText(a).includes("tick3"));
      assert.equal(lastText(agent), ticks);
      assert.deepEqual(talk({ messages: shown(agent) }), await calmly(s, "scenario:slow"));
    }));

    test(`${signal} in the middle of a tool, in a later run: the page connects again`, () => own(async (s) => {
      const words = 'RUN_TOOL progress_demo {"steps":10,"delay_ms":100}';
      const { agent } = await disturbed(s, words, signal, (a) => a.messages.some((m: any) => m.role === "activity"), ["scenario:text"]);
      assert.deepEqual(talk({ messages: shown(agent).slice(2) }), await calmly(s, words));
    }));
  }
});

for (const version of Object.keys(versions)) {
  describe(`exact pages, client ${version}`, { concurrency: 4 }, () => {
    const client = (options = {}) => newAgent(server.url, version, options);

    test("two tabs say something at the same moment", async () => {
      const one = client();
      const two = client({ threadId: one.threadId });
      for (const r of await Promise.allSettled([say(one, "scenario:text one"), say(two, "scenario:text two")])) {
        if (r.status === "rejected") assert.match(`${r.reason.message}`, /cancelled before it began/);
      }
      const messages = await stored(server.url, one.threadId);
      const said = messages.filter((m) => m.role === "user").map((m) => m.content);
      assert.deepEqual(said.sort(), ["scenario:text one", "scenario:text two"], "what was accepted is in the history");
      assert.match(messages.at(-1).content, /short text/);
      two.setMessages(messages); // a page that is loaded again
      await say(two, "scenario:text");
      assert.deepEqual(shown(two), await stored(server.url, one.threadId));
    });

    for (const gap of [10, 50, 200, 1000]) {
      test(`two pages decide differently, ${gap} ms apart`, async () => {
        const first = client();
        const [interrupt] = one(await say(first, "scenario:approval"), "RUN_FINISHED").outcome.interrupts;
        const second = client({ threadId: first.threadId, initialMessages: structuredClone(first.messages) });
        const decide = (agent: any, approved: boolean) =>
          run(agent, { resume: [{ interruptId: interrupt.id, status: "resolved", payload: { approved, reason: "a person said so" } }] });
        const deciding = decide(first, true);
        deciding.catch(() => {}); // it is looked at below
        await sleep(gap);
        const results = await Promise.allSettled([deciding, decide(second, false)]);
        assert.deepEqual(results.map((r) => r.status).sort(), ["fulfilled", "rejected"], "one decision is accepted");
        const approved = results[0].status === "fulfilled";
        const [winner, loser] = approved ? [first, second] : [second, first];
        const refused: any = results.find((r) => r.status === "rejected");
        assert.match(`${refused.reason.message} ${JSON.stringify(refused.reason.payload ?? "")}`, /already_decided/);
        const messages = await stored(server.url, first.threadId);
        assert.deepEqual(shown(winner), messages);
        assert.match(messages.find((m) => m.role === "tool").content, approved ? /deleted/ : /a person said so/);
        loser.setMessages(messages); // as the page shows it when it has told the person
        loser.pendingInterrupts = [];
        await say(loser, "scenario:text");
        assert.deepEqual(shown(loser), await stored(server.url, first.threadId));
      });
    }
  });
}
