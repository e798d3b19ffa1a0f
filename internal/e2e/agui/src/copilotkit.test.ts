// The built server as the runtime of CopilotKit: its runtimeUrl is …/v1/ag-ui.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Server } from "../../src/server.ts";
import { lastText, one, only, talk } from "./clients.ts";
import { newPage } from "./page.ts";

const server = new Server();
before(() => server.start());
after(() => server.close());

/* eslint-disable @typescript-eslint/no-explicit-any */

const stored = async (threadId: string) => ((await (await fetch(`${server.url}/v1/ag-ui/threads/${threadId}/messages?limit=200`)).json()) as any).messages;
const activityFree = (agent: any) => agent.messages.filter((m: any) => m.role !== "activity");

for (const transport of ["auto", "rest", "single"]) {
  describe(`CopilotKit, ${transport} transport`, { concurrency: true }, () => {
    const open = (options = {}) => newPage(server.url, { runtimeTransport: transport, ...options });

    test("it finds the agents, and runs one", async () => {
      const { core, agent, say, errors } = await open();
      assert.ok(Object.keys(core.agents).includes("default"));
      await say("scenario:tool");
      assert.match(lastText(agent), /21/);
      assert.deepEqual(errors, []);
    });

    test("it calls the page's tools, and goes on with their results", async () => {
      let called = 0;
      const { agent, say, errors } = await open({
        tools: [{ name: "get_user_location", description: "where the user is", handler: async () => (called++, { city: "Oslo" }) }],
      });
      const events = await say("scenario:frontend-tool");
      assert.equal(called, 1);
      assert.equal(only(events, "RUN_FINISHED").length, 2);
      assert.match(lastText(agent), /Oslo/);
      assert.deepEqual(errors, []);
    });

    test("a page that is loaded anew shows the conversation", async () => {
      const first = await open();
      await first.say("scenario:reasoning");
      await first.say("scenario:state");
      const second = await open({ threadId: first.threadId });
      await second.core.connectAgent({ agent: second.agent });
      assert.deepEqual(second.agent.messages, activityFree(first.agent));
      assert.deepEqual(second.agent.state, { counter: 2 });
      await second.say("scenario:text");
      assert.equal((await stored(first.threadId)).length, second.agent.messages.length);
      assert.deepEqual(second.errors, []);
    });

    test("a page that is loaded anew in the middle of an answer shows the rest of it", async () => {
      const first = await open();
      const begun = new Promise<void>((seen) => first.agent.subscribe({ onTextMessageContentEvent: () => seen() }));
      const answer = first.say("scenario:slow");
      await begun;
      const second = await open({ threadId: first.threadId });
      await second.core.connectAgent({ agent: second.agent });
      await answer;
      assert.deepEqual(talk(second.agent), talk(first.agent));
      assert.deepEqual(second.agent.messages, await stored(first.threadId));
      // Connecting again doubles nothing.
      await second.core.connectAgent({ agent: second.agent });
      assert.deepEqual(second.agent.messages, await stored(first.threadId));
      assert.deepEqual(second.errors, []);
    });

    test("it stops a run", async () => {
      const { core, agent, say } = await open();
      agent.subscribe({ onActivitySnapshotEvent: () => core.stopAgent({ agent }) });
      await say('RUN_TOOL progress_demo {"steps":100,"delay_ms":300}');
      const watcher = await open({ threadId: agent.threadId });
      await watcher.core.connectAgent({ agent: watcher.agent }); // until the run is over
      const run: any = await (await fetch(`${server.url}/v1/threads/${agent.threadId}/runs/latest`)).json();
      assert.deepEqual([run.status, run.termination_reason?.type], ["done", "cancelled"]);
    });

    test("a person approves a call, and the page has the call's own result", async () => {
      const { core, agent, say } = await open();
      const [interrupt] = one(await say("scenario:approval"), "RUN_FINISHED").outcome.interrupts;
      // What useInterrupt does: the answer stands in for the result until that is there.
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: interrupt.toolCallId, content: '{"approved":true}' });
      await core.runAgent({ agent, resume: [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }] } as any);
      assert.match(lastText(agent), /deleted/);
      assert.deepEqual(agent.messages, await stored(agent.threadId));
    });

    test("a question is still there after a reload, and can be answered", async () => {
      const first = await open();
      const { interrupts } = one(await first.say("scenario:approvals"), "RUN_FINISHED").outcome;
      const second = await open({ threadId: first.threadId });
      await second.core.connectAgent({ agent: second.agent });
      assert.deepEqual(second.agent.pendingInterrupts, interrupts);
      const resume = interrupts.map((i: any) => ({ interruptId: i.id, status: "resolved", payload: { approved: true } }));
      await second.core.runAgent({ agent: second.agent, resume } as any);
      assert.match(lastText(second.agent), /deleted.*deleted/s);
      // The first page learns of it when it connects again.
      await first.core.connectAgent({ agent: first.agent }).catch(() => {});
      first.agent.pendingInterrupts = [];
      await first.core.connectAgent({ agent: first.agent });
      assert.deepEqual(first.agent.messages, await stored(first.threadId));
      // Results are shown as they come, and stored in the order of their calls.
      const byID = (a: any, b: any) => a.id.localeCompare(b.id);
      assert.deepEqual([...second.agent.messages].sort(byID), [...first.agent.messages].sort(byID));
    });

    test("a new thread is empty", async () => {
      const { core, agent, errors } = await open();
      await core.connectAgent({ agent });
      assert.deepEqual(agent.messages, []);
      assert.deepEqual(errors, []);
    });

    test("it shares state, context and properties", async () => {
      const { core, agent, say } = await open({ properties: { theme: "dark" } });
      core.addContext({ description: "what the user looks at", value: "a map" } as any);
      agent.setState({ counter: 40 });
      await say("scenario:state");
      assert.deepEqual(agent.state, { counter: 42 });
      assert.ok((await stored(agent.threadId)).every((m: any) => !JSON.stringify(m).includes("a map"))); // it is no message
    });

    test("an error reaches the page", async () => {
      const { say, errors } = await open();
      await say("scenario:error");
      assert.match(errors.join("\n"), /boom/);
    });
  });
}
