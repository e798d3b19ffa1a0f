// What pages do, with the client packages of both majors against the built server.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { cancel, dataOf, history, last, lasting, majors, type Message, newChat, newID, type Part, plain, settled, textOf, toolsOf, until } from "./clients";
import { Server } from "./server";

const server = new Server();
before(() => server.start());
after(() => server.close());

for (const major of Object.keys(majors)) {
  const { ai } = majors[major];
  const say = async (chat: any, text: string) => {
    await chat.sendMessage({ text });
    return last(chat);
  };

  describe(`ai ${major}`, { concurrency: 8 }, () => {
    const fresh = (what: string, options: object = {}) => newChat(major, { url: server.url, id: newID(`${what}-${major}`), ...options });

    test("text streams", async () => {
      const chat = fresh("text");
      const seen: string[] = [];
      chat["~registerMessagesCallback"](() => seen.push(textOf(last(chat))));
      const m = await say(chat, "scenario:text");
      assert.equal(textOf(m), "This is a short text that arrives in a few pieces.");
      assert.equal(chat.status, "ready");
      assert.ok(new Set(seen.filter((s) => s && m.parts.length)).size > 3, `seen ${seen}`);
      assert.deepEqual(m.parts.map((p: Part) => p.type).filter((t: string) => !t.startsWith("data-")), ["step-start", "text"]);
    });

    test("message ids are those that are stored", async () => {
      const chat = fresh("ids");
      await say(chat, "scenario:text");
      await say(chat, "scenario:tool");
      const stored: any = await (await fetch(`${server.url}/v1/threads/${chat.id}/messages`)).json();
      const ids = stored.messages.map((m: Message) => m.id);
      for (const m of chat.messages) assert.ok(ids.includes(m.id), `${m.role} ${m.id} is not stored`);
      assert.deepEqual((await history(server.url, chat.id)).messages.map((m) => m.id), chat.messages.map((m: Message) => m.id));
    });

    test("reasoning comes before the text", async () => {
      const m = await say(fresh("reasoning"), "scenario:reasoning");
      assert.deepEqual(m.parts.filter((p: Part) => p.text).map((p: Part) => [p.type, p.state]), [["reasoning", "done"], ["text", "done"]]);
    });

    test("a tool of the server", async () => {
      const m = await say(fresh("tool"), "scenario:tool");
      const [tool] = toolsOf(m);
      assert.equal(tool.type, "tool-get_weather");
      assert.equal(tool.state, "output-available");
      assert.deepEqual(tool.input, { city: "Paris" });
      assert.equal(tool.output.temperature_c, 21);
      assert.match(textOf(m), /21/);
      assert.equal(m.parts.filter((p: Part) => p.type === "step-start").length, 2);
    });

    test("a tool that fails", async () => {
      const m = await say(fresh("tool-error"), "scenario:tool-error");
      const [tool] = toolsOf(m);
      assert.equal(tool.state, "output-error");
      assert.match(tool.errorText, /always fails/);
      assert.ok(textOf(m).length > 0);
    });

    test("tools at the same time", async () => {
      const m = await say(fresh("parallel"), "scenario:parallel");
      assert.deepEqual(toolsOf(m).map((p) => [p.type, p.state]), [["tool-get_weather", "output-available"], ["tool-get_stock_price", "output-available"]]);
    });

    const approvals = ai.lastAssistantMessageIsCompleteWithApprovalResponses;

    test("an approval is given", async () => {
      const chat = fresh("approve");
      await say(chat, "scenario:approval");
      const asked = last(chat);
      const [tool] = toolsOf(asked);
      assert.equal(tool.state, "approval-requested");
      assert.equal(dataOf(asked, "suspension")[0].data.message, "Delete /tmp/x?");
      await chat.addToolApprovalResponse({ id: tool.approval.id, approved: true, reason: "fine" });
      await chat.sendMessage();
      assert.equal(chat.messages.length, 2, "the answer goes on with the same message");
      assert.equal(last(chat).id, asked.id);
      assert.equal(toolsOf(last(chat))[0].output.status, "deleted");
      assert.match(textOf(last(chat)), /deleted/);
    });

    test("an approval is refused", async () => {
      const chat = fresh("deny", { sendAutomaticallyWhen: approvals });
      await say(chat, "scenario:approval");
      await chat.addToolApprovalResponse({ id: toolsOf(last(chat))[0].approval.id, approved: false, reason: "too risky" });
      await until(chat, () => textOf(last(chat)) !== "" && chat.status === "ready");
      assert.equal(chat.messages.length, 2);
      assert.equal(toolsOf(last(chat))[0].state, "output-denied");
      const stored = (await history(server.url, chat.id)).messages.at(-1)!;
      assert.equal(toolsOf(stored)[0].state, "output-denied");
      assert.equal(toolsOf(stored)[0].approval.reason, "too risky");
      const raw: any = await (await fetch(`${server.url}/v1/threads/${chat.id}/messages`)).json();
      assert.match(JSON.stringify(raw.messages), /too risky/, "the model is told why");
      assert.doesNotMatch(JSON.stringify(raw.messages), /"status\\*":\\*"deleted/);
    });

    test("an approval with other arguments", async () => {
      const chat = fresh("edit-args");
      await say(chat, "scenario:approval");
      await chat.addToolApprovalResponse({ id: toolsOf(last(chat))[0].approval.id, approved: true });
      chat.messages = chat.messages.map((m: Message) => ({ ...m, parts: m.parts.map((p) => (p.type === "tool-delete_file" ? { ...p, input: { path: "/tmp/other" } } : p)) }));
      await chat.sendMessage();
      assert.deepEqual(toolsOf(last(chat))[0].output, { path: "/tmp/other", status: "deleted" });
      assert.deepEqual(toolsOf((await history(server.url, chat.id)).messages.at(-1)!)[0].input, { path: "/tmp/other" });
    });

    test("several approvals, one given and one refused", async () => {
      const chat = fresh("approvals", { sendAutomaticallyWhen: approvals });
      await say(chat, "scenario:approvals");
      const [x, y] = toolsOf(last(chat));
      assert.deepEqual([x.state, y.state], ["approval-requested", "approval-requested"]);
      await chat.addToolApprovalResponse({ id: x.approval.id, approved: true });
      await chat.addToolApprovalResponse({ id: y.approval.id, approved: false });
      await until(chat, () => textOf(last(chat)) !== "" && chat.status === "ready");
      assert.deepEqual(toolsOf(last(chat)).map((p) => p.state), ["output-available", "output-denied"]);
      assert.equal(chat.messages.length, 2);
    });

    test("something is said instead of deciding", async () => {
      const chat = fresh("instead");
      await say(chat, "scenario:approval");
      const m = await say(chat, "scenario:text");
      assert.equal(chat.messages.length, 4);
      assert.match(textOf(m), /short text/);
      const stored = (await history(server.url, chat.id)).messages;
      assert.equal(stored.length, 4);
      assert.notEqual(toolsOf(stored[1])[0].state, "approval-requested", "the call can no longer be decided");
    });

    test("a tool of the page", async () => {
      const chat = fresh("frontend");
      await say(chat, "scenario:frontend-tool");
      const [tool] = toolsOf(last(chat));
      assert.equal(tool.state, "input-available");
      await chat.addToolOutput({ tool: "get_user_location", toolCallId: tool.toolCallId, output: { city: "Oslo" } });
      await chat.sendMessage();
      assert.equal(chat.messages.length, 2);
      assert.match(textOf(last(chat)), /Oslo/);
    });

    test("a tool of the page that answers by itself", async () => {
      const chat: any = fresh("frontend-auto", {
        sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls,
        onToolCall: ({ toolCall }: any) => {
          if (toolCall.toolName === "get_user_location") void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { city: "Rome" } });
        },
      });
      await say(chat, "scenario:frontend-tool");
      await until(chat, () => /Rome/.test(textOf(last(chat))) && chat.status === "ready");
      assert.equal(chat.messages.length, 2);
    });

    // Pages send again by themselves when all calls of the last step have an answer.
    const complete = (options: any) => ai.lastAssistantMessageIsCompleteWithToolCalls(options) || approvals(options);
    const counted = (what: string, options: object = {}) => {
      const sent = { posts: 0 };
      const fetched = (...a: Parameters<typeof fetch>) => (sent.posts++, fetch(...a));
      return { sent, chat: fresh(what, { sendAutomaticallyWhen: complete, fetch: fetched, ...options }) };
    };

    test("a server tool does not make the client ask again", async () => {
      for (const [text, body] of [["scenario:tool", {}], ["scenario:tool-error", {}], ["RUN_WEATHER_TOOL", { agentId: "limited" }]] as const) {
        const { chat, sent } = counted("no-loop", { body });
        const m = await say(chat, text);
        assert.equal(sent.posts, 1, text);
        assert.equal(toolsOf(m)[0].providerExecuted, true, text);
        assert.equal(complete({ messages: (await history(server.url, chat.id)).messages }), false, `${text}: after a reload`);
      }
    });

    test("a decision is sent once", async () => {
      for (const approved of [true, false]) {
        const { chat, sent } = counted("decide-once");
        await say(chat, "scenario:approval");
        await chat.addToolApprovalResponse({ id: toolsOf(last(chat))[0].approval.id, approved });
        await until(chat, () => textOf(last(chat)) !== "" && chat.status === "ready");
        assert.equal(sent.posts, 2, `approved: ${approved}`);
        assert.equal(complete({ messages: (await history(server.url, chat.id)).messages }), false, `approved: ${approved}, after a reload`);
      }
    });

    test("an output of the page is sent once", async () => {
      const { chat, sent } = counted("output-once");
      await say(chat, "scenario:frontend-tool");
      const [tool] = toolsOf(last(chat));
      await chat.addToolOutput({ tool: "get_user_location", toolCallId: tool.toolCallId, output: { city: "Oslo" } });
      await until(chat, () => /Oslo/.test(textOf(last(chat))) && chat.status === "ready");
      assert.equal(sent.posts, 2);
      assert.equal(toolsOf(last(chat))[0].providerExecuted, undefined);
    });

    test("a tool of the page that fails", async () => {
      const chat = fresh("frontend-error");
      await say(chat, "scenario:frontend-tool");
      const [tool] = toolsOf(last(chat));
      await chat.addToolOutput({ tool: "get_user_location", toolCallId: tool.toolCallId, state: "output-error", errorText: "no signal" });
      await chat.sendMessage();
      assert.match(textOf(last(chat)), /no signal/);
      assert.deepEqual([toolsOf(last(chat))[0].state, toolsOf(last(chat))[0].errorText], ["output-error", "no signal"]);
      assert.equal(toolsOf((await history(server.url, chat.id)).messages.at(-1)!)[0].errorText, "no signal");
    });

    test("a tool that only the page knows", async () => {
      const chat = fresh("page-tool", { body: { frontendTools: [{ name: "pick_colour", description: "Lets the user pick.", parameters: { type: "object", properties: { n: { type: "number" } } } }] } });
      await say(chat, 'RUN_TOOL pick_colour {"n":1}');
      const [tool] = toolsOf(last(chat));
      assert.equal(tool.type, "tool-pick_colour");
      await chat.addToolOutput({ tool: "pick_colour", toolCallId: tool.toolCallId, output: "teal" });
      await chat.sendMessage();
      assert.match(textOf(last(chat)), /teal/);
    });

    test("custom data: the same id is replaced, what is transient is not kept", async () => {
      const seen: Part[] = [];
      const m = await say(fresh("data", { onData: (p: Part) => seen.push(structuredClone(p)) }), "scenario:data");
      const shown = seen.filter((p) => p.type === "data-activity-snapshot" && p.data.activityType === "demo-data");
      assert.deepEqual(shown.map((p) => p.data.content.value), [1, 2]);
      const kept = dataOf(m, "activity-snapshot").filter((p) => p.data.activityType === "demo-data");
      assert.deepEqual(kept.map((p) => p.data.content.value), [2]);
      assert.ok(seen.some((p) => p.transient) && !m.parts.some((p: Part) => p.transient));
    });

    test("state", async () => {
      const seen: Part[] = [];
      const m = await say(fresh("state", { onData: (p: Part) => seen.push(structuredClone(p)) }), "scenario:state");
      assert.equal(dataOf(m, "state-snapshot").length, 1);
      assert.equal(dataOf(m, "state-snapshot")[0].data.extensions["client.state"].counter, 2);
      assert.ok(seen.some((p) => p.type === "data-state-delta" && p.transient && Array.isArray(p.data)));
    });

    test("activity", async () => {
      const seen: Part[] = [];
      const m = await say(fresh("activity", { onData: (p: Part) => seen.push(structuredClone(p)) }), "scenario:activity");
      assert.deepEqual(dataOf(m, "activity-snapshot")[0].data.content.steps[0], "a");
      assert.deepEqual(seen.filter((p) => p.type === "data-activity-delta").map((p) => p.data.patch[0].value), ["b"]);
    });

    test("progress", async () => {
      const seen: number[] = [];
      const m = await say(fresh("progress", { onData: (p: Part) => p.data.activityType === "tool-call-progress" && seen.push(p.data.content.progress) }), 'RUN_TOOL progress_demo {"steps":4,"delay_ms":1}');
      assert.deepEqual(seen, [0.25, 0.5, 0.75, 1]);
      assert.equal(dataOf(m, "activity-snapshot").length, 1);
    });

    test("files and sources", async () => {
      const chat = fresh("media");
      const m = await say(chat, "scenario:media");
      assert.equal(m.parts.find((p: Part) => p.type === "source-url").url, "https://example.com/");
      assert.equal(m.parts.find((p: Part) => p.type === "source-document").filename, "report.pdf");
      assert.match(m.parts.find((p: Part) => p.type === "file").url, /^data:image\/png;base64,/);
      assert.ok((await history(server.url, chat.id)).messages.at(-1)!.parts.some((p) => p.type === "file"));
    });

    test("attachments, in the request and by URL", async () => {
      const chat = fresh("attach");
      const big = "data:image/png;base64," + Buffer.alloc(3 << 20, 7).toString("base64");
      await chat.sendMessage({ text: "look", files: [{ type: "file", mediaType: "image/png", filename: "a.png", url: big }, { type: "file", mediaType: "application/pdf", filename: "b.pdf", url: "https://example.com/b.pdf" }] });
      assert.equal(chat.status, "ready", String(chat.error));
      const [mine] = (await history(server.url, chat.id)).messages;
      const files = mine.parts.filter((p) => p.type === "file");
      assert.equal(files[0].url, big);
      assert.deepEqual([files[1].url, files[1].mediaType, files[1].filename], ["https://example.com/b.pdf", "application/pdf", "b.pdf"]);
    });

    test("metadata, usage and why it ended", async () => {
      let finished: any;
      const chat = fresh("metadata", { onFinish: (f: any) => (finished = f) });
      const m = await say(chat, "scenario:tool");
      assert.deepEqual([m.metadata.threadId, m.metadata.agentId], [chat.id, "scenario"]);
      assert.deepEqual(m.metadata.usage, { inputTokens: 20, outputTokens: 25, totalTokens: 45 });
      assert.equal(m.metadata.termination.type, "natural_end");
      assert.equal(finished.finishReason, "stop");
    });

    test("an answer that fails", async () => {
      const chat = fresh("error");
      await say(chat, "scenario:error");
      assert.equal(chat.status, "error");
      assert.match(chat.error.message, /boom/);
      chat.clearError();
      assert.match(textOf(await say(chat, "scenario:text")), /short text/);
    });

    test("a request that is refused", async () => {
      const chat = fresh("refused", { body: { agentId: "nonesuch" } });
      await say(chat, "hello");
      assert.equal(chat.status, "error");
      assert.match(chat.error.message, /agent not found: nonesuch/);
    });

    test("a reload in the middle of a text", async () => {
      const chat = fresh("resume");
      const done = say(chat, "scenario:hang");
      await until(chat, () => textOf(last(chat)).includes("tick2"));
      const page = await history(server.url, chat.id);
      assert.deepEqual(page.messages.map((m) => m.role), ["user"]);
      const other = newChat(major, { url: server.url, id: chat.id, messages: page.messages });
      const resumed = other.resumeStream();
      await until(other, () => textOf(last(other)).includes("tick2"));
      await cancel(server.url, chat.id);
      await Promise.all([done, resumed]);
      assert.deepEqual(plain(other), plain(chat));
      assert.equal(textOf(last(other)), "tick0 tick1 tick2 ");
    });

    test("an answer that comes slowly, in two pages", async () => {
      const chat = fresh("slow");
      const done = say(chat, "scenario:slow");
      await until(chat, () => last(chat)?.role === "assistant" && textOf(last(chat)) !== "");
      const page = await history(server.url, chat.id);
      const other = newChat(major, { url: server.url, id: chat.id, messages: page.messages, reconnect: page.activeRunId });
      if (page.activeRunId) await other.resumeStream();
      await done;
      assert.deepEqual(other.messages.map(lasting), chat.messages.map(lasting));
      assert.equal(textOf(last(other)), [...Array(20).keys()].map((i) => `tick${i} `).join(""));
    });

    test("a reload in the middle of a tool's arguments", async () => {
      const chat = fresh("resume-tool");
      const done = say(chat, "scenario:hang-tool");
      const typed = (c: any) => toolsOf(last(c))[0]?.state === "input-streaming" && toolsOf(last(c))[0].input?.report === "never made";
      await until(chat, () => typed(chat));
      const other = newChat(major, { url: server.url, id: chat.id, messages: (await history(server.url, chat.id)).messages });
      const resumed = other.resumeStream();
      await until(other, () => typed(other));
      await cancel(server.url, chat.id);
      await Promise.all([done, resumed]);
      assert.deepEqual(plain(other), plain(chat));
      assert.equal(toolsOf(last(other))[0].state, "output-error");
    });

    test("a connection that breaks is taken up again", async () => {
      let cut: AbortController | undefined;
      const chat = fresh("broken", {
        fetch: async (input: any, init: any) => {
          const got = await fetch(input, init);
          if (init?.method !== "POST") return got;
          cut = new AbortController();
          const reader = got.body!.getReader();
          const gone = new Promise<never>((_, no) => cut!.signal.addEventListener("abort", () => no(new TypeError("network error"))));
          gone.catch(() => {});
          return new Response(new ReadableStream({ pull: async (c) => {
            try {
              const { done, value } = await Promise.race([reader.read(), gone]);
              if (done) c.close(); else c.enqueue(value);
            } catch (e) { c.error(e); }
          } }), { status: got.status, headers: got.headers });
        },
      });
      const done = say(chat, "scenario:hang");
      await until(chat, () => textOf(last(chat)).includes("tick2"));
      cut!.abort();
      await done;
      assert.equal(chat.status, "error");
      const resumed = chat.resumeStream();
      await until(chat, () => chat.status === "streaming" && textOf(last(chat)).includes("tick2"));
      await cancel(server.url, chat.id);
      await resumed;
      assert.equal(textOf(last(chat)), "tick0 tick1 tick2 ", "nothing is lost or doubled");
      assert.equal(chat.messages.length, 2);
      assert.equal(chat.status, "ready");
    });

    test("a reload when nothing is going on", async () => {
      const chat = fresh("idle");
      await chat.resumeStream();
      assert.deepEqual([chat.status, chat.messages.length], ["ready", 0]);
      await say(chat, "scenario:text");
      const other = newChat(major, { url: server.url, id: chat.id, messages: (await history(server.url, chat.id)).messages });
      await other.resumeStream();
      assert.deepEqual([other.status, other.messages.length], ["ready", 2]);
    });

    test("a reload while the answer ends", async () => {
      const chat = fresh("race");
      const done = say(chat, "scenario:hang");
      await until(chat, () => textOf(last(chat)).includes("tick2"));
      const page = await history(server.url, chat.id);
      assert.ok(page.activeRunId);
      await cancel(server.url, chat.id);
      await done; // it has ended before the page asks for it
      const other = newChat(major, { url: server.url, id: chat.id, messages: page.messages, reconnect: page.activeRunId });
      await other.resumeStream();
      assert.deepEqual(plain(other), plain(chat));
    });

    test("stop stops the run, and it stays stopped", async () => {
      const chat = fresh("stop");
      const done = say(chat, "scenario:hang");
      await until(chat, () => textOf(last(chat)).includes("tick2"));
      assert.equal((await cancel(server.url, chat.id)).status, 202);
      const m = await done;
      assert.equal(chat.status, "ready");
      assert.equal(m.metadata.termination.type, "cancelled");
      const page = await history(server.url, chat.id);
      assert.equal(page.activeRunId, undefined);
      assert.equal(textOf(page.messages.at(-1)!), textOf(m), "what was shown is kept");
      const other = newChat(major, { url: server.url, id: chat.id, messages: page.messages });
      await other.resumeStream();
      assert.deepEqual(other.messages.map(textOf), page.messages.map(textOf));
      assert.match(textOf(await say(other, "scenario:text")), /short text/);
    });

    test("a page that goes away does not stop the run", async () => {
      const chat = fresh("leave");
      const done = say(chat, "scenario:slow");
      await until(chat, () => textOf(last(chat)).includes("tick1"));
      await chat.stop();
      await done;
      await settled(server.url, chat.id);
      assert.match(textOf((await history(server.url, chat.id)).messages.at(-1)!), /tick19/);
    });

    test("two tabs on one run", async () => {
      const chat = fresh("tabs");
      const done = say(chat, "scenario:hang");
      await until(chat, () => textOf(last(chat)).includes("tick2"));
      const { messages } = await history(server.url, chat.id);
      const tabs = [1, 2].map(() => newChat(major, { url: server.url, id: chat.id, messages }));
      const resumed = tabs.map((t) => t.resumeStream());
      for (const t of tabs) await until(t, () => textOf(last(t)).includes("tick2"));
      await cancel(server.url, chat.id);
      await Promise.all([done, ...resumed]);
      for (const t of tabs) assert.deepEqual(plain(t), plain(chat));
    });

    test("a message while another tab's answer is being given", async () => {
      const chat = fresh("interrupt");
      const done = say(chat, "scenario:hang");
      await until(chat, () => textOf(last(chat)).includes("tick2"));
      const other = newChat(major, { url: server.url, id: chat.id, messages: (await history(server.url, chat.id)).messages });
      const m = await say(other, "scenario:text");
      await done;
      assert.match(textOf(m), /short text/);
      assert.equal(last(chat).metadata.termination.type, "cancelled");
    });

    test("only the last message is sent", async () => {
      const chat = fresh("last-only", { prepare: ({ id, messages, body, trigger, messageId }: any) => ({ body: { ...body, id, trigger, messageId, message: messages.at(-1) } }) });
      await say(chat, "one");
      await say(chat, "two");
      await say(chat, "scenario:approval");
      await chat.addToolApprovalResponse({ id: toolsOf(last(chat))[0].approval.id, approved: true });
      await chat.sendMessage();
      assert.match(textOf(last(chat)), /deleted/);
      assert.deepEqual((await history(server.url, chat.id)).messages.map(lasting), chat.messages.map(lasting));
    });

    test("a long chat", async () => {
      const chat = fresh("long");
      for (let i = 0; i < 60; i++) await say(chat, `message ${i}`);
      const page = await history(server.url, chat.id);
      assert.equal(page.total, 120);
      assert.deepEqual(page.messages.map(lasting), chat.messages.map(lasting));
      const newest = await history(server.url, chat.id, "&order=desc&offset=0&limit=1");
      assert.equal(newest.messages[0].id, last(chat).id);
    });

    test("the history is what was streamed", async () => {
      const chat = fresh("history");
      for (const word of ["text", "reasoning", "tool", "tool-error", "parallel", "media"]) await say(chat, `scenario:${word}`);
      assert.deepEqual((await history(server.url, chat.id)).messages.map(lasting), chat.messages.map(lasting));
      await ai.validateUIMessages({ messages: (await history(server.url, chat.id)).messages });
    });

    test("another answer", async () => {
      const chat = fresh("regenerate");
      await say(chat, "scenario:text");
      const old = last(chat).id;
      await chat.regenerate();
      assert.equal(chat.messages.length, 2);
      assert.notEqual(last(chat).id, old);
      assert.deepEqual((await history(server.url, chat.id)).messages.map(lasting), chat.messages.map(lasting));
    });

    test("another answer to an earlier message", async () => {
      const chat = fresh("regenerate-old");
      await say(chat, "one");
      const first = last(chat).id;
      await say(chat, "two");
      await chat.regenerate({ messageId: first });
      assert.equal(chat.messages.length, 2);
      assert.match(textOf(last(chat)), /one/);
      assert.deepEqual((await history(server.url, chat.id)).messages.map(lasting), chat.messages.map(lasting));
    });

    test("the same message, sent twice at once, is answered once", async () => {
      const one = fresh("twice");
      const two = newChat(major, { url: server.url, id: one.id });
      const id = newID("message");
      await Promise.all([one, two].map((chat) => chat.sendMessage({ id, role: "user", parts: [{ type: "text", text: "scenario:tool" }] })));
      const { messages } = await history(server.url, one.id);
      for (const chat of [one, two]) assert.deepEqual(chat.messages.map(lasting), messages.map(lasting));
      assert.equal(messages.length, 2);
    });

    test("an earlier message is edited", async () => {
      const chat = fresh("edit");
      await say(chat, "one");
      await say(chat, "two");
      const id = chat.messages[0].id;
      for (const text of ["uno", "eins", "uno"]) {
        await chat.sendMessage({ text, messageId: id });
        assert.equal(chat.messages.length, 2);
        assert.match(textOf(last(chat)), new RegExp(text));
        assert.deepEqual((await history(server.url, chat.id)).messages.map(lasting), chat.messages.map(lasting));
      }
      assert.match(textOf(await say(chat, "three")), /three/);
      assert.equal((await history(server.url, chat.id)).messages.length, 4);
    });

    test("what the page shows is told to the model", async () => {
      const chat = fresh("page-state", { body: { state: { selected: 7 } } });
      await say(chat, "scenario:text");
      const all: any = await (await fetch(`${server.url}/v1/threads/${chat.id}/messages?visibility=all`)).json();
      assert.match(JSON.stringify(all.messages), /frontend-context.*selected/);
      assert.equal((await history(server.url, chat.id)).messages.length, 2);
    });
  });

  describe(`ai ${major}, the server restarts`, { concurrency: 4 }, () => {
    const own = async (fn: (s: Server) => Promise<void>) => {
      const s = await new Server().start();
      try {
        await fn(s);
      } finally {
        await s.close();
      }
    };

    test("an approval is given after a restart", () => own(async (s) => {
      const chat = newChat(major, { url: s.url, id: newID("restart") });
      await say(chat, "scenario:approval");
      await s.restart("SIGKILL");
      const other = newChat(major, { url: s.url, id: chat.id, messages: (await history(s.url, chat.id)).messages });
      await other.addToolApprovalResponse({ id: toolsOf(last(other))[0].approval.id, approved: true });
      await other.sendMessage();
      assert.match(textOf(last(other)), /deleted/);
      assert.equal(other.messages.length, 2);
    }));

    test("an answer goes on after a restart in its middle", () => own(async (s) => {
      const chat = newChat(major, { url: s.url, id: newID("restart-slow") });
      const done = say(chat, 'RUN_TOOL progress_demo {"steps":10,"delay_ms":100}');
      await until(chat, () => dataOf(last(chat), "activity-snapshot").length > 0);
      await s.restart();
      await done;
      const page = await history(s.url, chat.id);
      if (chat.status === "ready") { // only if the run had ended before the server stopped: the page has all of it
        assert.equal(page.activeRunId, undefined, "half an answer is not taken for a whole one");
        assert.equal(textOf(last(chat)), textOf(page.messages.at(-1)!), "half an answer is not taken for a whole one");
      } else assert.equal(chat.status, "error");
      const other = newChat(major, { url: s.url, id: chat.id, messages: page.messages, reconnect: page.activeRunId });
      if (page.activeRunId) await other.resumeStream();
      assert.equal(other.messages.length, 2);
      assert.equal(toolsOf(last(other))[0].output.steps, 10);
      assert.match(textOf(last(other)), /10/);
      assert.deepEqual((await history(s.url, chat.id)).messages.map(lasting), other.messages.map(lasting));
    }));

    test("an answer whose process is killed is given again", async () => {
      const s = await new Server("mailbox: {lease_ms: 1500, lease_renewal_interval: 500ms}\n").start();
      try {
        const chat = newChat(major, { url: s.url, id: newID("killed") });
        const done = say(chat, "scenario:slow");
        await until(chat, () => textOf(last(chat)).includes("tick3"));
        await s.restart("SIGKILL");
        await done;
        const page = await history(s.url, chat.id);
        if (page.activeRunId) assert.equal(chat.status, "error"); // but for a run that had ended before the server did
        const other = newChat(major, { url: s.url, id: chat.id, messages: page.messages, reconnect: page.activeRunId });
        if (page.activeRunId) await other.resumeStream();
        assert.equal(textOf(last(other)), [...Array(20).keys()].map((i) => `tick${i} `).join(""));
        assert.equal(other.messages.length, 2);
        assert.deepEqual((await history(s.url, chat.id)).messages.map(lasting), other.messages.map(lasting));
      } finally {
        await s.close();
      }
    });

    test("what was stopped stays stopped", () => own(async (s) => {
      const chat = newChat(major, { url: s.url, id: newID("restart-stop") });
      const done = say(chat, "scenario:hang");
      await until(chat, () => textOf(last(chat)).includes("tick2"));
      await cancel(s.url, chat.id);
      await done;
      await s.restart("SIGKILL");
      const page = await history(s.url, chat.id);
      assert.equal(page.activeRunId, undefined);
      assert.equal((await fetch(`${s.url}/v1/ai-sdk/chat/${chat.id}/stream`)).status, 204);
      assert.equal(textOf(page.messages.at(-1)!), textOf(last(chat)));
    }));
  });
}
