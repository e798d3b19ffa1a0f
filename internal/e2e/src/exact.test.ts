// A page shows exactly what is stored and what an undisturbed page shows, whatever disturbs it.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { dataOf, history, last, lasting, majors, type Message, newChat, newID, plain, settled, textOf, toolsOf, until } from "./clients";
import { Server } from "./server";

const server = new Server();
before(() => server.start());
after(() => server.close());

const ticks = [...Array(20).keys()].map((i) => `tick${i} `).join("");

/** A message without what differs from run to run. */
const shape = (m: Message) => ({ role: m.role, parts: (lasting(m) as Message).parts });

/** Checks that a page shows what is stored, and what a page that nothing disturbed shows. */
async function exact(url: string, chat: any, undisturbed?: Message[]) {
  assert.deepEqual(chat.messages.map(lasting), (await history(url, chat.id)).messages.map(lasting));
  if (undisturbed) assert.deepEqual(chat.messages.map(shape), undisturbed.map(shape));
}

for (const major of Object.keys(majors)) {
  const fresh = (url: string, what: string, options: object = {}) => newChat(major, { url, id: newID(`${what}-${major}`), ...options });

  /** What a page shows after a message, if nothing disturbs it. */
  const calmly = async (url: string, text: string): Promise<Message[]> => {
    const chat = fresh(url, "calm");
    await chat.sendMessage({ text });
    return plain(chat);
  };

  describe(`exact pages, ai ${major}`, { concurrency: 4 }, () => {
    test("an answer is stopped and given again", async () => {
      const chat = fresh(server.url, "again");
      const done = chat.sendMessage({ text: "scenario:slow" });
      await until(chat, () => textOf(last(chat)).includes("tick3"));
      await chat.stop();
      await done;
      await chat.regenerate();
      assert.equal(textOf(last(chat)), ticks);
      await exact(server.url, chat, await calmly(server.url, "scenario:slow"));
    });

    test("an answer is given again in its middle, without a stop", async () => {
      const chat = fresh(server.url, "midway");
      const other = newChat(major, { url: server.url, id: chat.id });
      const done = chat.sendMessage({ text: "scenario:slow" });
      await until(chat, () => textOf(last(chat)).includes("tick3"));
      other.messages = plain(chat);
      await other.regenerate({ messageId: last(chat).id });
      await done;
      assert.equal(textOf(last(other)), ticks);
      await exact(server.url, other, await calmly(server.url, "scenario:slow"));
    });

    test("a message is edited in the middle of its answer", async () => {
      const chat = fresh(server.url, "edited");
      const done = chat.sendMessage({ text: "scenario:slow" });
      await until(chat, () => textOf(last(chat)).includes("tick3"));
      await chat.stop();
      await done;
      await chat.sendMessage({ text: "scenario:text", messageId: chat.messages[0].id });
      await exact(server.url, chat, await calmly(server.url, "scenario:text"));
    });

    test("a reload keeps metadata, data parts and the names of files", async () => {
      const chat = fresh(server.url, "kept");
      await chat.sendMessage({
        metadata: { sentAt: 1, tags: ["a", "b"] },
        parts: [
          { type: "data-place", id: "here", data: { lat: 1.5 } },
          { type: "text", text: "scenario:text" },
          { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA", filename: "a.png" },
          { type: "data-note", data: "x" },
          { type: "file", mediaType: "text/plain", url: "data:text/plain;base64,AAAA", filename: "b.txt" },
        ],
      });
      const { messages } = await history(server.url, chat.id);
      assert.deepEqual(messages[0], plain(chat)[0]);
      const reloaded = newChat(major, { url: server.url, id: chat.id, messages });
      await reloaded.sendMessage({ text: "scenario:text" });
      assert.deepEqual((await history(server.url, chat.id)).messages[0], plain(chat)[0], "also after the page has sent it back");
      assert.equal(reloaded.messages.length, 4);
    });

    test("two tabs say something at the same moment", async () => {
      const id = newID(`tabs-${major}`);
      const tabs = ["one", "two"].map((word) => ({ word: `scenario:text ${word}`, chat: newChat(major, { url: server.url, id }) }));
      await Promise.all(tabs.map(({ word, chat }) => chat.sendMessage({ text: word })));
      await settled(server.url, id);
      const { messages } = await history(server.url, id);
      const said = messages.filter((m) => m.role === "user").map((m) => textOf(m));
      assert.deepEqual(said.sort(), tabs.map((t) => t.word), "what was accepted is in the history");
      assert.match(textOf(messages.at(-1)), /short text/);
      for (const { chat, word } of tabs) {
        assert.equal(textOf(chat.messages[0]), word);
        if (chat.status !== "ready") assert.match(`${chat.error}`, /cancelled before it began/);
        chat.messages = messages; // a page that is loaded again
        await chat.sendMessage({ text: "scenario:text" });
        messages.splice(0, Infinity, ...plain(chat));
        await exact(server.url, chat);
      }
    });

    for (const gap of [10, 50, 200, 1000]) {
      test(`two pages decide differently, ${gap} ms apart`, async () => {
        const first = fresh(server.url, "decide");
        await first.sendMessage({ text: "scenario:approval" });
        const second = newChat(major, { url: server.url, id: first.id, messages: plain(first) });
        const decide = async (chat: any, approved: boolean) => {
          await chat.addToolApprovalResponse({ id: toolsOf(last(chat))[0].approval.id, approved, reason: "a person said so" });
          await chat.sendMessage();
        };
        const deciding = decide(first, true);
        await new Promise((done) => setTimeout(done, gap));
        await Promise.all([deciding, decide(second, false)]);
        const pages = [first, second];
        assert.deepEqual(pages.map((p) => p.status).sort(), ["error", "ready"], "one decision is accepted");
        const [winner, loser] = first.status === "ready" ? pages : [second, first];
        assert.match(loser.error.message, /already_decided/);
        assert.equal(toolsOf(last(winner))[0].state, winner === first ? "output-available" : "output-denied");
        await exact(server.url, winner);
        loser.messages = (await history(server.url, loser.id)).messages; // as the page shows it when it has told the person
        assert.deepEqual(toolsOf(last(loser)).map((p) => p.state), toolsOf(last(winner)).map((p) => p.state));
        await loser.sendMessage({ text: "scenario:text" });
        assert.equal(loser.status, "ready");
        await exact(server.url, loser);
      });
    }
  });

  describe(`exact pages, ai ${major}, the server stops`, { concurrency: 3 }, () => {
    const own = async (fn: (s: Server) => Promise<void>) => {
      const s = await new Server().start();
      try {
        await fn(s);
      } finally {
        await s.close();
      }
    };

    test("kill -9 in the middle of a text: the page resumes", () => own(async (s) => {
      const undisturbed = await calmly(s.url, "scenario:slow");
      const chat = fresh(s.url, "killed", { reconnect: true });
      const done = chat.sendMessage({ text: "scenario:slow" });
      await until(chat, () => textOf(last(chat)).includes("tick3"));
      const { id } = last(chat);
      await s.restart("SIGKILL");
      await done;
      if (chat.status === "ready") await exact(s.url, chat, undisturbed); // only if the run had ended before the server did
      else assert.equal(chat.status, "error", "half an answer is not taken for a whole one");
      await chat.resumeStream(); // waits until the run has an owner again
      assert.equal(last(chat).id, id, "the answer keeps its id");
      await exact(s.url, chat, undisturbed);
    }));

    test("kill -9 in a later answer: the page resumes", () => own(async (s) => {
      const chat = fresh(s.url, "killed-later", { reconnect: true });
      await chat.sendMessage({ text: "scenario:tool" });
      const done = chat.sendMessage({ text: "scenario:slow" });
      await until(chat, () => textOf(last(chat)).includes("tick3"));
      await s.restart("SIGKILL");
      await done;
      await chat.resumeStream();
      assert.equal(chat.messages.length, 4);
      assert.equal(textOf(last(chat)), ticks);
      await exact(s.url, chat);
    }));

    test("SIGTERM in the last step: the page gets all of it", () => own(async (s) => {
      const undisturbed = await calmly(s.url, "scenario:slow");
      const chat = fresh(s.url, "term");
      const done = chat.sendMessage({ text: "scenario:slow" });
      await until(chat, () => textOf(last(chat)).includes("tick3"));
      await s.restart("SIGTERM");
      await done;
      assert.equal(chat.status, "ready");
      await exact(s.url, chat, undisturbed);
      await chat.resumeStream();
      await exact(s.url, chat, undisturbed);
    }));

    test("SIGTERM before the last step: the page resumes", () => own(async (s) => {
      const words = 'RUN_TOOL progress_demo {"steps":10,"delay_ms":100}';
      const undisturbed = await calmly(s.url, words);
      const chat = fresh(s.url, "term-tool", { reconnect: true });
      const done = chat.sendMessage({ text: words });
      await until(chat, () => dataOf(last(chat), "activity-snapshot").length > 0);
      await s.restart("SIGTERM");
      await done;
      if (chat.status === "ready") await exact(s.url, chat, undisturbed); // only if the run had ended before the server stopped
      else assert.equal(chat.status, "error", "half an answer is not taken for a whole one");
      assert.equal(toolsOf(last(chat))[0].output?.steps, 10, "the step that was begun is shown to its end");
      await chat.resumeStream(); // the run may have ended before the page came back
      assert.equal(chat.status, "ready");
      await exact(s.url, chat, undisturbed);
    }));
  });
}
