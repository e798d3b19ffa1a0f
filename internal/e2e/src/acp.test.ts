// The client package of the Agent Client Protocol drives the built command, as an editor does.
import { client, ndJsonStream } from "@agentclientprotocol/sdk";
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, describe, test } from "node:test";

const binary = process.env.AWAKEN_BIN;
const folder = mkdtempSync(join(tmpdir(), "awaken-acp-"));
after(() => rmSync(folder, { recursive: true, force: true }));

type Update = { sessionUpdate: string; [field: string]: any };

/** An editor that has started the command. */
class Editor {
  updates: Update[] = [];
  asked: any[] = [];
  files = new Map<string, string>();
  choose: string | undefined = "allow_once"; // undefined: the user thinks
  private child!: ChildProcess;
  private connection: any;
  private errors = "";

  async start(capabilities: object = {}): Promise<this> {
    if (!binary) throw new Error("AWAKEN_BIN names no program: go build -o awaken ./cmd/awaken");
    this.child = spawn(binary, ["acp", "--seed", "demo", "--agent", "scenario", "--storage-dir", folder], { stdio: ["pipe", "pipe", "pipe"], cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
    this.child.stderr!.on("data", (data) => (this.errors += data));
    const app = client()
      .onNotification("session/update", ({ params }: any) => void this.updates.push(params.update))
      .onRequest("session/request_permission", async ({ params, signal }: any) => {
        this.asked.push(params);
        if (!this.choose) return new Promise((_, no) => signal?.addEventListener("abort", () => no(new Error("withdrawn"))));
        return { outcome: { outcome: "selected", optionId: this.choose } };
      })
      .onRequest("fs/read_text_file", async ({ params }: any) => ({ content: this.files.get(params.path) ?? "" }))
      .onRequest("fs/write_text_file", async ({ params }: any) => {
        this.files.set(params.path, params.content);
        return {};
      });
    this.connection = app.connect(ndJsonStream(Writable.toWeb(this.child.stdin!) as any, Readable.toWeb(this.child.stdout!) as any));
    const hello: any = await this.request("initialize", { protocolVersion: 1, clientCapabilities: capabilities, clientInfo: { name: "e2e", version: "1" } });
    assert.equal(hello.protocolVersion, 1);
    assert.equal(hello.agentCapabilities.loadSession, true);
    return this;
  }

  request(method: string, params: object): Promise<any> {
    return this.connection.agent.request(method, params);
  }

  notify(method: string, params: object): Promise<void> {
    return this.connection.agent.notify(method, params);
  }

  async begin(): Promise<string> {
    return (await this.request("session/new", { cwd: folder, mcpServers: [] })).sessionId;
  }

  prompt(sessionId: string, word: string): Promise<any> {
    return this.request("session/prompt", { sessionId, prompt: [{ type: "text", text: word }] });
  }

  load(sessionId: string): Promise<any> {
    this.updates = [];
    return this.request("session/load", { sessionId, cwd: folder, mcpServers: [] });
  }

  /** Ends the command: as an editor that quits, or as the system does. */
  async end(how: "quit" | "SIGKILL" = "quit") {
    const gone = new Promise<number | null>((done) => this.child.once("exit", done));
    if (how === "quit") this.child.stdin!.end();
    else this.child.kill(how);
    const code = await gone;
    if (how === "quit") assert.equal(code, 0, this.errors);
  }

  async until(what: string, ok: () => boolean) {
    for (const began = Date.now(); !ok(); await new Promise((r) => setTimeout(r, 10))) {
      if (Date.now() - began > 180_000) throw new Error(`never: ${what}\n${this.transcript()}\n${this.errors}`);
    }
  }

  /** What the user sees: texts, and the last state of calls. */
  transcript(): string {
    const lines: { kind: string; id: string; text: string }[] = [];
    for (const u of this.updates) {
      if (u.sessionUpdate.endsWith("_chunk")) {
        const last = lines.at(-1);
        const id = u.messageId ?? "";
        if (last && last.kind === u.sessionUpdate && last.id === id) last.text += u.content.text;
        else lines.push({ kind: u.sessionUpdate, id, text: u.content.text });
      }
      if (u.sessionUpdate === "tool_call" && !lines.some((l) => l.id === u.toolCallId)) lines.push({ kind: "call", id: u.toolCallId, text: u.status });
      if (u.sessionUpdate === "tool_call_update") {
        const call = lines.find((l) => l.id === u.toolCallId)!;
        if (u.status) call.text = u.status;
        if (u.content) call.text = `${call.text.split(" ")[0]} ${JSON.stringify(u.content)}`;
      }
    }
    return lines.map((l) => `${l.kind}: ${l.text}\n`).join("");
  }
}

const words: { word: string; choose?: string; want: RegExp; stop?: string; not?: RegExp }[] = [
  { word: "scenario:text", want: /agent_message_chunk: This is a short text/ },
  { word: "scenario:reasoning", want: /agent_thought_chunk: [^]*agent_message_chunk: Here is the answer/ },
  { word: "scenario:tool", want: /call: completed .*21[^]*agent_message_chunk: .*21/ },
  { word: "scenario:tool-error", want: /call: failed[^]*agent_message_chunk/ },
  { word: "scenario:approval", choose: "allow_once", want: /call: completed .*deleted[^]*deleted/ },
  { word: "scenario:approval", choose: "reject_once", want: /call: failed/, not: /deleted/ },
  { word: "scenario:slow", want: /tick0 .*tick19/ },
];

describe("ACP", () => {
  for (const { word, choose, want, not } of words) {
    test(`${word} ${choose ?? ""}`, async () => {
      const plain = await new Editor().start();
      plain.choose = choose;
      const first = await plain.begin();
      assert.equal((await plain.prompt(first, word)).stopReason, "end_turn");
      const live = plain.transcript();
      assert.match(live, want);
      if (not) assert.doesNotMatch(live, not);
      await plain.load(first);
      const all = `user_message_chunk: ${word}\n${live}`;
      assert.equal(plain.transcript(), all);

      for (const how of ["quit", "SIGKILL"] as const) {
        const cut = await new Editor().start();
        cut.choose = undefined;
        const session = await cut.begin();
        const answer = cut.prompt(session, word).catch(() => undefined);
        await cut.until("it begins", () => (choose ? cut.asked.length > 0 : cut.updates.some((u) => u.sessionUpdate !== "session_info_update")));
        await cut.end(how);
        await answer;
        const next = await new Editor().start();
        next.choose = choose;
        await next.load(session);
        await next.until(`all of ${word} after ${how}`, () => next.transcript() === all);
        assert.equal(next.asked.length, choose ? 1 : 0);
        await next.load(session); // once more, when all is over
        await next.until("the end", () => next.transcript() === all);
        await next.end();
      }
      await plain.end();
    });
  }


  test("scenario:error answers the prompt with the error", async () => {
    const editor = await new Editor().start();
    const session = await editor.begin();
    await assert.rejects(editor.prompt(session, "scenario:error"), /boom/);
    assert.equal((await editor.prompt(session, "scenario:text")).stopReason, "end_turn");
    await editor.end();
  });

  test("scenario:frontend-tool ends the turn, and the next prompt withdraws the call", async () => {
    const editor = await new Editor().start();
    const session = await editor.begin();
    assert.equal((await editor.prompt(session, "scenario:frontend-tool")).stopReason, "end_turn");
    assert.match(editor.transcript(), /call: pending/);
    assert.equal((await editor.prompt(session, "scenario:text")).stopReason, "end_turn");
    await editor.until("the call has ended", () => /call: failed/.test(editor.transcript()));
    await editor.end();
  });

  test("a prompt is cancelled", async () => {
    const editor = await new Editor().start();
    const session = await editor.begin();
    const answer = editor.prompt(session, "scenario:hang"); // it does not end by itself
    await editor.until("it speaks", () => /tick2/.test(editor.transcript()));
    await editor.notify("session/cancel", { sessionId: session });
    assert.equal((await answer).stopReason, "cancelled");
    await editor.end();
  });

  test("two editors on one store, lists, options, close and delete", async () => {
    const [one, two] = [await new Editor().start(), await new Editor().start()];
    const session = await one.begin();
    await one.request("session/set_config_option", { sessionId: session, configId: "effort", value: "low" });
    const both = await Promise.all([one.prompt(session, "scenario:slow"), two.begin().then((s) => two.prompt(s, "scenario:slow"))]);
    assert.deepEqual(both.map((r) => r.stopReason), ["end_turn", "end_turn"]);
    const { sessions } = await two.request("session/list", { cwd: folder });
    const found = sessions.find((s: any) => s.sessionId === session);
    assert.equal(found?.title, "scenario:slow");
    const loaded = await two.load(session);
    assert.equal(loaded.modes.currentModeId, "scenario");
    assert.equal(loaded.configOptions.find((o: any) => o.id === "effort").currentValue, "low");
    assert.match(two.transcript(), /tick19/);
    await two.request("session/close", { sessionId: session });
    await two.request("session/delete", { sessionId: session });
    await assert.rejects(two.load(session), /not found/);
    await Promise.all([one.end(), two.end()]);
  });

  test("the editor's files are tools", async () => {
    const editor = await new Editor().start({ fs: { readTextFile: true, writeTextFile: true } });
    editor.files.set(join(folder, "a.txt"), "old");
    const session = await editor.begin();
    await editor.request("session/set_mode", { sessionId: session, modeId: "default" });
    await editor.prompt(session, `RUN_TOOL editor_write_file {"path":"a.txt","content":"new"}`);
    assert.equal(editor.files.get(join(folder, "a.txt")), "new");
    assert.deepEqual(editor.asked[0].toolCall.content, [{ type: "diff", path: join(folder, "a.txt"), oldText: "old", newText: "new" }]);
    await editor.end();
  });
});
