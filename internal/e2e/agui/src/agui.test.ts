// The built server and the real AG-UI client, in the versions that are in use.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Server } from "../../src/server.ts";
import { input, lastText, newAgent, one, only, post, run, say, take, talk, types, versions } from "./clients.ts";

const server = new Server();
before(() => server.start());
after(() => server.close());

const approve = (interrupt: any, payload: object = { approved: true }) => ({ interruptId: interrupt.id, status: "resolved", payload });
const stored = async (threadId: string) => (await (await fetch(`${server.url}/v1/ag-ui/threads/${threadId}/messages?limit=200`)).json()) as { messages: any[]; total: number };

for (const version of Object.keys(versions)) {
  describe(`client ${version}`, { concurrency: true }, () => {
    const client = (options = {}) => newAgent(server.url, version, options);

    test("text comes in pieces", async () => {
      const agent = client();
      const events = await say(agent, "scenario:text");
      assert.ok(only(events, "TEXT_MESSAGE_CONTENT").length >= 2);
      assert.equal(lastText(agent), "This is a short text that arrives in a few pieces.");
      assert.equal(types(events)[0], "RUN_STARTED");
      assert.equal(types(events).at(-1), "RUN_FINISHED");
      assert.deepEqual(one(events, "RUN_FINISHED").outcome, { type: "success" });
      assert.deepEqual(
        only(events, "STEP_STARTED").map((e) => e.stepName),
        only(events, "STEP_FINISHED").map((e) => e.stepName),
      );
    });

    test("the run has the names that the client gave it", async () => {
      const agent = client();
      const events = await say(agent, "scenario:text", { runId: `run-${agent.threadId}` });
      for (const type of ["RUN_STARTED", "RUN_FINISHED"]) {
        const { threadId, runId } = one(events, type);
        assert.deepEqual([threadId, runId], [agent.threadId, `run-${agent.threadId}`]);
      }
    });

    test("reasoning comes before the text, as a message of its own", async () => {
      const agent = client();
      await say(agent, "scenario:reasoning");
      assert.deepEqual(talk(agent).slice(1), [
        "reasoning: The user wants to see me think, so I think about that first.",
        "assistant: Here is the answer, after some thought.",
      ]);
    });

    test("a tool is called, and its result used", async () => {
      const agent = client();
      const events = await say(agent, "scenario:tool");
      const start = one(events, "TOOL_CALL_START");
      const result = one(events, "TOOL_CALL_RESULT");
      assert.equal(start.toolCallName, "get_weather");
      assert.equal(result.toolCallId, start.toolCallId);
      assert.equal(JSON.parse(result.content).temperature_c, 21);
      assert.deepEqual(
        agent.messages.map((m: any) => m.role),
        ["user", "assistant", "tool", "assistant"],
      );
      assert.match(lastText(agent), /21/);
    });

    test("tools are called at the same time", async () => {
      const agent = client();
      const events = await say(agent, "scenario:parallel");
      const ids = only(events, "TOOL_CALL_START").map((e) => e.toolCallId);
      assert.equal(new Set(ids).size, 2);
      assert.deepEqual(only(events, "TOOL_CALL_RESULT").map((e) => e.toolCallId).sort(), [...ids].sort());
      assert.equal(agent.messages.filter((m: any) => m.role === "assistant" && m.toolCalls?.length === 2).length, 1);
      assert.match(lastText(agent), /21.*188\.42|188\.42.*21/s);
    });

    test("a tool fails, and the run goes on", async () => {
      const agent = client();
      const events = await say(agent, "scenario:tool-error");
      assert.match(one(events, "TOOL_CALL_RESULT").content, /always fails/);
      assert.match(lastText(agent), /always fails/);
    });

    test("state is shared in both directions", async () => {
      const agent = client({ initialState: { counter: 5, mine: ["kept"] } });
      const events = await say(agent, "scenario:state");
      assert.equal(one(events, "STATE_SNAPSHOT").snapshot.counter, 6);
      assert.deepEqual(one(events, "STATE_DELTA").delta, [{ op: "replace", path: "/counter", value: 7 }]);
      assert.deepEqual(agent.state, { counter: 7, mine: ["kept"] });
      agent.setState({ counter: 100 });
      await say(agent, "scenario:state");
      assert.deepEqual(agent.state, { counter: 102 });
      // Who says nothing about the state finds it as it is.
      const other = client({ threadId: agent.threadId });
      await say(other, "scenario:state");
      assert.deepEqual(other.state, { counter: 104 });
    });

    test("activities are shown and changed", async () => {
      const agent = client();
      const events = await say(agent, "scenario:activity");
      assert.equal(one(events, "ACTIVITY_SNAPSHOT").activityType, "demo-steps");
      one(events, "ACTIVITY_DELTA");
      assert.deepEqual(agent.messages.find((m: any) => m.role === "activity").content, { steps: ["a", "b"] });
    });

    test("progress is an activity", async () => {
      const agent = client();
      const events = await say(agent, 'RUN_TOOL progress_demo {"steps":4,"delay_ms":1}');
      assert.deepEqual(
        only(events, "ACTIVITY_SNAPSHOT").map((e) => e.content.progress),
        [0.25, 0.5, 0.75, 1],
      );
      assert.equal(agent.messages.filter((m: any) => m.role === "activity").length, 1);
    });

    test("data of a tool is shown, and what the model used is a custom event", async () => {
      const agent = client();
      const events = await say(agent, "scenario:data");
      const shown = agent.messages.filter((m: any) => m.role === "activity" && m.activityType === "demo-data");
      assert.deepEqual(
        shown.map((m: any) => m.content),
        [{ id: "demo-1", status: "done", value: 2 }],
      );
      const custom = only(events, "CUSTOM");
      assert.deepEqual([...new Set(custom.map((e) => e.name))], ["inference_complete"]);
      assert.ok(one(events, "RUN_FINISHED").usage[0].inputTokens > 0);
    });

    test("files are taken in, and come back in the history", async () => {
      const agent = client();
      const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
      const content = [
        { type: "text", text: "scenario:text" },
        { type: "image", source: { type: "data", value: png, mimeType: "image/png" } },
        { type: "document", source: { type: "url", value: "https://example.com/a.pdf", mimeType: "application/pdf" }, metadata: { filename: "a.pdf" } },
      ];
      await say(agent, content);
      assert.deepEqual((await stored(agent.threadId)).messages[0].content, content);
    });

    test("a call that a person approves is made", async () => {
      const agent = client();
      const asked = await say(agent, "scenario:approval");
      const [interrupt] = one(asked, "RUN_FINISHED").outcome.interrupts;
      assert.equal(interrupt.reason, "tool_call");
      assert.equal(interrupt.message, "Delete /tmp/x?");
      assert.equal(interrupt.toolCallId, one(asked, "TOOL_CALL_START").toolCallId);
      assert.deepEqual(agent.pendingInterrupts.map((i: any) => i.id), [interrupt.id]);
      const events = await run(agent, { resume: [approve(interrupt)] });
      assert.equal(one(events, "TOOL_CALL_RESULT").toolCallId, interrupt.toolCallId);
      assert.deepEqual(only(events, "TOOL_CALL_START"), []);
      assert.match(one(events, "TOOL_CALL_RESULT").content, /deleted/);
      assert.match(lastText(agent), /deleted/);
      assert.deepEqual(agent.pendingInterrupts, []);
    });

    test("a call that a person denies is not made, and the model learns why", async () => {
      const agent = client();
      const [interrupt] = one(await say(agent, "scenario:approval"), "RUN_FINISHED").outcome.interrupts;
      const events = await run(agent, { resume: [approve(interrupt, { approved: false, reason: "far too dangerous" })] });
      assert.match(one(events, "TOOL_CALL_RESULT").content, /far too dangerous/);
      assert.doesNotMatch(lastText(agent), /"deleted"/);
    });

    test("a question that is dismissed is a denial", async () => {
      const agent = client();
      const [interrupt] = one(await say(agent, "scenario:approval"), "RUN_FINISHED").outcome.interrupts;
      const events = await run(agent, { resume: [{ interruptId: interrupt.id, status: "cancelled" }] });
      assert.match(one(events, "TOOL_CALL_RESULT").content, /refused/);
    });

    test("a person changes the arguments of a call", async () => {
      const agent = client();
      const [interrupt] = one(await say(agent, "scenario:approval"), "RUN_FINISHED").outcome.interrupts;
      const events = await run(agent, { resume: [approve(interrupt, { approved: true, editedArgs: { path: "/tmp/other" } })] });
      assert.equal(JSON.parse(one(events, "TOOL_CALL_RESULT").content).path, "/tmp/other");
    });

    test("several calls wait at once, and each has its answer", async () => {
      const agent = client();
      const asked = await say(agent, "scenario:approvals");
      const { interrupts } = one(asked, "RUN_FINISHED").outcome;
      assert.deepEqual(interrupts.map((i: any) => i.message).sort(), ["Delete /tmp/x?", "Delete /tmp/y?"]);
      const [x, y] = [...interrupts].sort((a: any, b: any) => a.message.localeCompare(b.message));
      await assert.rejects(run(agent, { resume: [approve(x)] }), /not addressed/); // the client itself
      const events = await run(agent, { resume: [approve(x), approve(y, { approved: false, reason: "not that one" })] });
      const content = new Map(only(events, "TOOL_CALL_RESULT").map((e) => [e.toolCallId, e.content]));
      assert.match(content.get(x.toolCallId), /deleted/);
      assert.match(content.get(y.toolCallId), /not that one/);
      assert.deepEqual(one(events, "RUN_FINISHED").outcome, { type: "success" });
    });

    test("an answer to one of several questions leaves the others open", async () => {
      const agent = client();
      const { interrupts } = one(await say(agent, "scenario:approvals"), "RUN_FINISHED").outcome;
      agent.pendingInterrupts = []; // a page that does not insist
      const events = await run(agent, { resume: [approve(interrupts[0])] });
      assert.deepEqual(one(events, "RUN_FINISHED").outcome.interrupts.map((i: any) => i.id), [interrupts[1].id]);
      const rest = await run(agent, { resume: [approve(interrupts[1])] });
      assert.deepEqual(one(rest, "RUN_FINISHED").outcome, { type: "success" });
    });

    test("a message cannot stand in for an answer", async () => {
      const agent = client();
      const [interrupt] = one(await say(agent, "scenario:approval"), "RUN_FINISHED").outcome.interrupts;
      const other = client({ threadId: agent.threadId });
      const events = await say(other, "scenario:text").catch(() => other.events);
      assert.equal(one(events, "RUN_ERROR").code, "interrupt_pending");
      assert.match(one(events, "RUN_ERROR").message, new RegExp(interrupt.id));
      await run(agent, { resume: [approve(interrupt)] }); // and nothing is lost
      assert.match(lastText(agent), /deleted/);
    });

    test("the client makes a call itself", async () => {
      const agent = client();
      const tools = [{ name: "get_user_location", description: "where the user is", parameters: { type: "object", properties: {} } }];
      const asked = await say(agent, "scenario:frontend-tool", { tools });
      const call = one(asked, "TOOL_CALL_START");
      const pending = version === "1.0" ? { pendingToolCallIds: [call.toolCallId] } : {};
      assert.deepEqual(one(asked, "RUN_FINISHED").outcome, { type: "success", ...pending });
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call.toolCallId, content: '{"city":"Oslo"}' });
      await run(agent, { tools });
      assert.match(lastText(agent), /Oslo/);
      assert.deepEqual((await stored(agent.threadId)).messages.map((m) => m.role), ["user", "assistant", "tool", "assistant"]);
    });

    test("a tool that only this client has is offered to the model", async () => {
      const agent = client();
      const tools = [{ name: "paint", description: "paints", parameters: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] } }];
      const asked = await say(agent, 'RUN_TOOL paint {"colour":"red"}', { tools });
      const { toolCallId } = one(asked, "TOOL_CALL_START");
      assert.deepEqual(only(asked, "TOOL_CALL_RESULT"), []);
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId, content: "painted it red" });
      await run(agent, { tools });
      assert.match(lastText(agent), /painted it red/);
    });

    test("who does not make its call may say something else", async () => {
      const agent = client();
      await say(agent, "scenario:frontend-tool");
      await say(agent, "scenario:text");
      assert.match(lastText(agent), /short text/);
    });

    test("nothing is stored twice, however often the history is sent", async () => {
      const agent = client();
      for (const word of ["text", "tool", "reasoning", "text"]) await say(agent, `scenario:${word}`);
      const { messages } = await stored(agent.threadId);
      assert.equal(new Set(messages.map((m) => m.id)).size, messages.length);
      assert.deepEqual(messages, agent.messages); // and the client has what is stored
    });

    test("a client that sends only what is new goes on where the thread is", async () => {
      const first = client();
      await say(first, "scenario:text");
      const second = client({ threadId: first.threadId });
      await say(second, "scenario:tool");
      assert.equal((await stored(first.threadId)).total, 6);
    });

    test("a new thread begins with what the client says was said", async () => {
      const agent = client({ initialMessages: [{ id: randomUUID(), role: "assistant", content: "How can I help?" }] });
      await say(agent, "scenario:text");
      assert.deepEqual((await stored(agent.threadId)).messages.map((m) => m.role), ["assistant", "user", "assistant"]);
    });

    test("the last message is answered once more", async () => {
      const agent = client();
      await say(agent, "scenario:text");
      await say(agent, "scenario:tool");
      const [, , , ...dropped] = agent.messages;
      await new Promise((done) => setTimeout(done, 2100)); // a person reads the answer; at once, it would be the same request sent twice
      agent.setMessages(agent.messages.slice(0, 3)); // as a page does it
      await run(agent);
      assert.match(lastText(agent), /21/);
      const { messages } = await stored(agent.threadId);
      assert.deepEqual(messages, agent.messages);
      assert.ok(dropped.every((d) => !messages.some((m) => m.id === d.id)));
    });

    test("the same message, sent twice at once, is answered once", async () => {
      const one = client();
      const two = client({ threadId: one.threadId });
      const message = { id: randomUUID(), role: "user", content: "scenario:tool" } as const;
      for (const agent of [one, two]) agent.addMessage(message);
      await Promise.all([run(one), run(two)]);
      const { messages } = await stored(one.threadId);
      assert.deepEqual(one.messages, messages);
      assert.deepEqual(two.messages, messages);
      assert.equal(messages.filter((m) => m.role === "user").length, 1);
    });

    test("a run that fails says why", async () => {
      const agent = client();
      const events = await say(agent, "scenario:error").catch(() => agent.events);
      assert.match(one(events, "RUN_ERROR").message, /boom/);
      await say(agent, "scenario:text"); // and the thread is not lost
      assert.match(lastText(agent), /short text/);
    });

    test("an agent that does not exist is an error", async () => {
      await assert.rejects(say(client({ agentId: "missing" }), "hello"), /400.*agent not found: missing/s);
    });

    test("a run is stopped from elsewhere", async () => {
      const agent = client();
      let stop: Promise<Response> | undefined;
      agent.subscribe({
        onActivitySnapshotEvent: () => {
          stop ??= post(`${server.url}/v1/ag-ui/agent/scenario/stop/${agent.threadId}`, {});
        },
      });
      const events = await say(agent, 'RUN_TOOL progress_demo {"steps":100,"delay_ms":300}');
      assert.deepEqual(await (await stop!).json(), { stopped: true });
      assert.deepEqual(one(events, "RUN_FINISHED").outcome, { type: version === "1.0" ? "cancelled" : "success" });
      assert.ok(only(events, "ACTIVITY_SNAPSHOT").length < 100);
      assert.deepEqual(
        (await stored(agent.threadId)).messages,
        agent.messages.filter((m: any) => m.role !== "activity"),
      );
      const again = await post(`${server.url}/v1/ag-ui/agent/scenario/stop/${agent.threadId}`, {});
      assert.deepEqual(await again.json(), { stopped: true }, "stopping again gets the same answer");
    });

    test("leaving does not stop a run", async () => {
      const agent = client();
      // The client's promise may never settle once it has left, so the test does not wait for it.
      await new Promise<void>((left) => {
        agent.subscribe({
          onActivitySnapshotEvent: () => {
            agent.abortRun();
            left();
          },
        });
        say(agent, 'RUN_TOOL progress_demo {"steps":40,"delay_ms":100}').catch(() => {});
      });
      const rest = await fetch(`${server.url}/v1/ag-ui/threads/${agent.threadId}/stream`);
      // On a busy machine the run may have ended before the client saw its first step.
      if (rest.status !== 204) assert.match(await take(rest), /step 40 of 40/);
      assert.match((await stored(agent.threadId)).messages.at(-1).content, /"steps":40/);
    });

    test("a new message ends the run that goes on", async () => {
      const agent = client();
      const begun = new Promise<void>((seen) => agent.subscribe({ onActivitySnapshotEvent: () => seen() }));
      const long = say(agent, 'RUN_TOOL progress_demo {"steps":100,"delay_ms":300}');
      await begun;
      const other = client({ threadId: agent.threadId });
      await say(other, "scenario:text");
      const events = await long;
      assert.notEqual(one(events, "RUN_FINISHED").runId, one(other.events, "RUN_FINISHED").runId);
      assert.ok(only(events, "ACTIVITY_SNAPSHOT").length < 100);
      assert.match(lastText(other), /short text/);
    });
  });
}

describe("requests and streams", { concurrency: true }, () => {
  const url = () => `${server.url}/v1/ag-ui/agent/scenario/run`;
  const resumable: [string, string][] = [["text", "scenario:slow"], ["tool input", "scenario:slow-tool"], ["a short run", "scenario:tool"]];
  for (const [what, word] of resumable) {
    test(`a stream that breaks off in ${what} is taken up where it was`, async () => {
      const body = input(randomUUID(), word);
      const whole = take(await post(url(), body)); // it starts the run
      const ids = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].map((m) => m[1]);
      let got = await take(await post(url(), body), 700);
      for (let cuts = 1; !/"RUN_FINISHED".*\n\n$/.test(got); cuts++) {
        got = got.slice(0, got.lastIndexOf("\n\n") + 2); // what was cut is not complete
        const last = ids(got).at(-1);
        const rest = await take(await post(url(), body, { headers: last ? { "last-event-id": last } : {} }), 300 + 97 * (cuts % 7));
        got += rest;
        assert.ok(cuts < 200, "it does not end");
      }
      assert.equal(got, await whole);
      assert.equal(new Set(ids(got)).size, ids(got).length);
    });
  }

  test("two tabs see the same run", async () => {
    const body = input(randomUUID(), "scenario:slow");
    const first = take(await post(url(), body));
    const second = take(await fetch(`${server.url}/v1/ag-ui/threads/${body.threadId}/stream?run_id=${body.runId}`));
    const third = take(await post(url(), body)); // the same request again
    assert.equal(await second, await first);
    assert.equal(await third, await first);
  });

  test("an answer that was sent twice counts once", async () => {
    const agent = newAgent(server.url);
    const [interrupt] = one(await say(agent, "scenario:approval"), "RUN_FINISHED").outcome.interrupts;
    const body = { ...input(agent.threadId, "", { messages: [] }), resume: [approve(interrupt)] };
    const first = await take(await post(url(), body));
    const second = await take(await post(url(), body));
    assert.equal(second, first);
    assert.match(first, /deleted/);
    const other = await post(url(), { ...body, runId: randomUUID(), resume: [approve(interrupt, { approved: false })] });
    assert.equal(other.status, 409);
    assert.match(await other.text(), /already_decided/);
  });

  test("a result that was sent twice counts once", async () => {
    const agent = newAgent(server.url);
    const { toolCallId } = one(await say(agent, "scenario:frontend-tool"), "TOOL_CALL_START");
    const messages = [...agent.messages, { id: randomUUID(), role: "tool", toolCallId, content: "Oslo" }];
    const body = input(agent.threadId, "", { messages });
    const first = await take(await post(url(), body));
    assert.equal(await take(await post(url(), body)), first);
    assert.match(first, /Oslo/);
  });

  test("the same name for another run is refused", async () => {
    const body = input(randomUUID(), "scenario:text");
    await take(await post(url(), body));
    const other = await post(url(), { ...body, messages: [{ id: randomUUID(), role: "user", content: "something else" }] });
    assert.equal(other.status, 409);
  });

  test("a long thread", async () => {
    const agent = newAgent(server.url);
    for (let i = 0; i < 60; i++) await say(agent, `RUN_TOOL get_weather {"city":"Town ${i}"}`);
    assert.equal(agent.messages.length, 240);
    const list: any[] = [];
    for (let offset = 0, more = true; more; offset += 100) {
      const page = (await (await fetch(`${server.url}/v1/ag-ui/threads/${agent.threadId}/messages?limit=100&offset=${offset}`)).json()) as any;
      list.push(...page.messages);
      more = page.has_more;
    }
    assert.deepEqual(list, agent.messages);
  });

  test("every route of the book", async () => {
    const thread = randomUUID();
    for (const path of ["run", `threads/${thread}/runs`, "agents/scenario/runs"]) {
      const body = { agentId: "scenario", messages: [{ role: "user", content: "scenario:text" }] };
      assert.match(await take(await post(`${server.url}/v1/ag-ui/${path}`, body)), /RUN_FINISHED/);
    }
    assert.equal((await stored(thread)).total, 2);
    const nothing = await post(`${server.url}/v1/ag-ui/threads/${thread}/interrupt`, "");
    assert.equal(nothing.status, 404);
    assert.equal((await fetch(`${server.url}/v1/ag-ui/threads/${thread}/stream`)).status, 204);
    assert.equal((await fetch(`${server.url}/v1/ag-ui/threads/missing/messages`)).status, 404);
  });

  const bad: [string, unknown, number, RegExp][] = [
    ["not JSON", "{", 400, /not JSON/],
    ["a list", [], 422, /array/],
    ["a thread that is a number", { threadId: 7 }, 422, /threadId/],
    ["nothing new", { threadId: "t", messages: [] }, 400, /nothing new/],
    ["no role", { messages: [{ content: "x" }] }, 400, /messages\[0\]\.role is \\"\\"/],
    ["an unknown role", { messages: [{ role: "king", content: "x" }] }, 400, /messages\[0\]\.role is \\"king\\"/],
    ["no content", { messages: [{ role: "user" }] }, 400, /messages\[0\]\.content is empty/],
    ["content that is a number", { messages: [{ role: "user", content: 7 }] }, 422, /messages\[0\]\.content/],
    ["an unknown part", { messages: [{ role: "user", content: [{ type: "smell" }] }] }, 400, /content\[0\]\.type is \\"smell\\"/],
    ["a file that is no base64", { messages: [{ role: "user", content: [{ type: "image", source: { type: "data", value: "%", mimeType: "image/png" } }] }] }, 400, /content\[0\]/],
    ["a file of a provider", { messages: [{ role: "user", content: [{ type: "image", source: { type: "file", value: "f1" } }] }] }, 400, /source\.type is \\"file\\"/],
    ["an answer to nothing", { threadId: "missing", resume: [{ interruptId: "i", status: "resolved" }] }, 404, /missing/],
    ["an answer without a status", { resume: [{ interruptId: "i" }] }, 400, /resume\[0\]\.status/],
    ["an answer that is no list", { resume: {} }, 422, /resume/],
    ["a tool without a name", { tools: [{ description: "x" }], messages: [{ role: "user", content: "x" }] }, 400, /tools\[0\]\.name/],
    ["a tool that is there twice", { tools: [{ name: "a" }, { name: "a" }], messages: [{ role: "user", content: "x" }] }, 400, /tools\[1\]\.name/],
    ["a tool whose schema is none", { tools: [{ name: "a", parameters: { type: 7 } }], messages: [{ role: "user", content: "x" }] }, 400, /tools\[0\]\.parameters/],
    ["context that is a text", { context: "x", messages: [{ role: "user", content: "x" }] }, 422, /context/],
    ["a thread with a line break", { threadId: "a\nb", messages: [{ role: "user", content: "x" }] }, 400, /threadId/],
  ];
  for (const [what, body, status, message] of bad) {
    test(`refused: ${what}`, async () => {
      const response = await post(url(), body);
      const text = await response.text();
      assert.equal(response.status, status, text);
      assert.match(text, message);
      assert.equal(typeof JSON.parse(text).code, "string");
    });
  }
});

describe("a server that is killed", () => {
  test("a question outlives it, and is answered afterwards", async () => {
    const own = await new Server().start();
    try {
      const agent = newAgent(own.url);
      const [interrupt] = one(await say(agent, "scenario:approval"), "RUN_FINISHED").outcome.interrupts;
      await own.restart("SIGKILL");
      const events = await run(agent, { resume: [approve(interrupt)] });
      assert.match(one(events, "TOOL_CALL_RESULT").content, /deleted/);
      assert.match(lastText(agent), /deleted/);
    } finally {
      await own.close();
    }
  });

  test("a run goes on after it, and its client with it", async () => {
    const own = await new Server("mailbox:\n  lease_ms: 1000\n  lease_renewal_interval: 300ms\n").start();
    try {
      const body = input(randomUUID(), "scenario:slow");
      const response = await post(`${own.url}/v1/ag-ui/agent/scenario/run`, body);
      let got = "";
      await assert.rejects(async () => {
        const reader = response.body!.getReader();
        const decoder = new TextDecoder();
        for (let cut = false; ; ) {
          const { done, value } = await reader.read();
          if (done) throw new Error("the stream ended");
          got += decoder.decode(value);
          if (!cut && got.includes("tick1")) {
            cut = true;
            void own.end("SIGKILL");
          }
        }
      });
      await own.start();
      const last = [...got.slice(0, got.lastIndexOf("\n\n")).matchAll(/^id: (.*)$/gm)].at(-1)![1];
      // The client may be back before another process has taken over. In either case it starts over: it gets
      // what is left, and then what really happens.
      const rest = await take(await post(`${own.url}/v1/ag-ui/agent/scenario/run`, body, { headers: { "last-event-id": last } }));
      if (got.includes("RUN_FINISHED")) return assert.equal(rest, ""); // only if the run had ended before the server did
      const events = rest.split("\n\n").filter((f) => f.includes("data: ")).map((f) => JSON.parse(f.slice(f.indexOf("data: ") + 6)));
      const at = types(events).indexOf("MESSAGES_SNAPSHOT");
      assert.ok(at >= 0, `no snapshot in ${types(events)}`);
      assert.ok(events[at].messages.every((m: any) => m.role === "user" || m.content === ""));
      const text = only(events.slice(at), "TEXT_MESSAGE_CONTENT").map((e) => e.delta).join("");
      assert.equal(text, Array.from({ length: 20 }, (_, i) => `tick${i} `).join(""));
      assert.equal(types(events).at(-1), "RUN_FINISHED");
    } finally {
      await own.close();
    }
  });
});
