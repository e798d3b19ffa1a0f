// Agents on a server of @a2a-js/sdk, as agents and as delegates of this server's: they stream, ask for input, are cancelled, and their server dies
// and comes back. The server's JSON-RPC is that of the package; only the HTTP around it is ours.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, ServerCallContext, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";
import { Server, freePort } from "./server";

const sleep = (ms: number) => new Promise((next) => setTimeout(next, ms));

// Says what it is told, in pieces; asks if it is told to; takes its time if it is told to.
class Clerk implements AgentExecutor {
  executed = 0;
  cancelled: string[] = [];
  private stop = new Set<string>();

  async execute(ctx: RequestContext, bus: ExecutionEventBus) {
    this.executed++;
    const { taskId, contextId, userMessage } = ctx;
    const said = userMessage.parts.map((p) => (p.content?.$case === "text" ? p.content.value : "")).join("");
    const status = (state: string, text?: string) =>
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state, message: text && { messageId: `m-${taskId}`, role: "ROLE_AGENT", parts: [{ text }], taskId, contextId } } })));
    const piece = (text: string, append: boolean) =>
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, append, artifact: { artifactId: "answer", parts: [{ text }] } })));
    bus.publish(AgentEvent.task(ctx.task ?? Task.fromJSON({ id: taskId, contextId, status: { state: "TASK_STATE_SUBMITTED" }, history: [Message.toJSON(userMessage)] })));
    status("TASK_STATE_WORKING");
    if (said.startsWith("ask")) status("TASK_STATE_INPUT_REQUIRED", "Which one?");
    else {
      piece("you ", false);
      const wait = /^wait (\d+) s/.exec(said)?.[1] ?? 0;
      for (const end = Date.now() + Number(wait) * 1000; Date.now() < end && !this.stop.has(taskId); ) await sleep(100);
      if (!this.stop.has(taskId)) {
        piece("said ", true);
        piece(said, true);
        status("TASK_STATE_COMPLETED");
      }
    }
    bus.finished();
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus) {
    this.stop.add(taskId);
    this.cancelled.push(taskId);
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId: "", status: { state: "TASK_STATE_CANCELED" } })));
    bus.finished();
  }
}

class Other {
  port = 0;
  clerk = new Clerk();
  private store = new InMemoryTaskStore();
  private listener?: ReturnType<typeof createServer>;

  async start() {
    this.port ||= await freePort();
    const url = `http://127.0.0.1:${this.port}`;
    const card = AgentCard.fromJSON({ name: "clerk", description: "says it again", version: "1", supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      capabilities: { streaming: true }, defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], skills: [] });
    const rpc = new JsonRpcTransportHandler(new DefaultRequestHandler(card, this.store, this.clerk));
    const handle = async (req: IncomingMessage, res: ServerResponse) => {
      if (req.url === "/.well-known/agent-card.json") return void res.setHeader("Content-Type", "application/json").end(JSON.stringify(AgentCard.toJSON(card)));
      if (req.method !== "POST" || req.url !== "/rpc") return void res.writeHead(404).end();
      let body = "";
      for await (const part of req) body += part;
      const out: any = await rpc.handle(body, new ServerCallContext({ requestedVersion: String(req.headers["a2a-version"] ?? "1.0") }));
      if (typeof out[Symbol.asyncIterator] !== "function") return void res.setHeader("Content-Type", "application/json").end(JSON.stringify(out));
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      for await (const event of out) res.write(`data: ${JSON.stringify(event)}\n\n`);
      res.end();
    };
    this.listener = createServer((req, res) => void handle(req, res).catch((err) => res.destroy(err)));
    await new Promise<void>((done) => this.listener!.listen(this.port, "127.0.0.1", done));
  }

  // The server is gone with its connections. Its tasks stay, as they would in a database.
  async die() {
    this.listener!.closeAllConnections();
    await new Promise((done) => this.listener!.close(done));
  }
}

const other = new Other();
const key = "an-admin-key-of-this-test-only";
const server = new Server(`admin:\n  bearer_token: ${key}\noutbound:\n  allow: [127.0.0.0/8]\n`);
const ask = (method: string, path: string, body?: unknown) =>
  fetch(server.url + path, { method, headers: { "Content-Type": "application/json", Accept: "application/json", Authorization: `Bearer ${key}` }, body: body === undefined ? undefined : JSON.stringify(body) });
const reply = async (res: Response, status = 200): Promise<any> => {
  const text = await res.text();
  assert.equal(res.status, status, text);
  return JSON.parse(text);
};
const run = async (agent: string, thread: string, text: string) => reply(await ask("POST", "/v1/runs", { agent_id: agent, thread_id: thread, messages: [{ role: "user", content: text }] }));
const begin = async (agent: string, thread: string, text: string) => {
  const res = await fetch(server.url + "/v1/runs", { method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ agent_id: agent, thread_id: thread, messages: [{ role: "user", content: text }] }) });
  assert.equal(res.status, 200);
  return { id: res.headers.get("x-run-id")!, body: res.body! };
};
// Reads a stream until the agent has said something, and leaves it.
const heard = async (body: ReadableStream<Uint8Array>) => {
  let text = "";
  for await (const part of body) {
    text += Buffer.from(part).toString();
    if (text.includes('"you "')) return;
  }
  assert.fail(`the stream ends: ${text}`);
};
const until = async <T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> => {
  for (let i = 0; i < 1800; i++) {
    const found = await look();
    if (found) return found;
    await sleep(100);
  }
  throw new Error(`three minutes have passed before ${what}`);
};

before(async () => {
  await other.start();
  await server.start();
  const put = async (agent: object & { id: string }) => assert.ok((await ask("PUT", `/v1/config/agents/${agent.id}`, agent)).ok, agent.id);
  await put({ id: "clerk", description: "says it again", endpoint: { base_url: `http://127.0.0.1:${other.port}` } } as any);
  await put({ id: "boss", model_id: "default", system_prompt: "You delegate.", delegates: ["clerk"] } as any);
});
after(async () => {
  await server.close();
  await other.die();
});

test("an agent streams its answer, and its next message stays in the context", async () => {
  const { body, id } = await begin("clerk", "a2a-1", "hello");
  let text = "";
  for await (const part of body) text += Buffer.from(part).toString();
  assert.ok(text.split("text_delta").length > 3, text); // in pieces
  assert.equal((await reply(await ask("GET", `/v1/runs/${id}`))).final_output, "you said hello");
  assert.equal((await run("clerk", "a2a-1", "more")).response, "you said more");
});

test("an agent that asks is answered, once", async () => {
  const waits = await run("clerk", "a2a-2", "ask me");
  const ticket = waits.waiting.tickets[0];
  assert.equal(ticket.tool_name, "a2a_input");
  assert.match(ticket.reason, /Which one\?/);
  const before = other.clerk.executed;
  const decision = { action: "resume", payload: "the blue one" };
  await reply(await ask("POST", `/v1/approvals/${waits.run_id}/${ticket.ticket_id}`, decision), 202);
  await reply(await ask("POST", `/v1/approvals/${waits.run_id}/${ticket.ticket_id}`, decision), 202);
  const done = await until("the run is done", async () => {
    const r = await reply(await ask("GET", `/v1/runs/${waits.run_id}`));
    return r.status === "done" && r;
  });
  assert.equal(done.final_output, "you said the blue one");
  assert.equal(other.clerk.executed, before + 1);
});

test("a delegate answers its caller", async () => {
  const out = await run("boss", "a2a-3", 'RUN_TOOL agent_run_clerk {"prompt":"for the boss"}');
  assert.equal(out.status, "done", JSON.stringify(out));
  const children = await reply(await ask("GET", "/v1/threads?parent_thread_id=a2a-3"));
  assert.equal(children.items.length, 1);
  const runs = await reply(await ask("GET", `/v1/threads/${children.items[0]}/runs`));
  assert.equal(runs.items[0].final_output, "you said for the boss");
});

test("a cancelled run cancels its task", async () => {
  const { id, body } = await begin("clerk", "a2a-4", "wait 120 s for the cancel");
  await heard(body);
  await reply(await ask("POST", `/v1/runs/${id}/cancel`), 202);
  await until("the run is over", async () => (await reply(await ask("GET", `/v1/runs/${id}`))).status === "done");
  await until("the task is cancelled", async () => other.clerk.cancelled.length === 1);
});

for (const [what, die] of [
  ["the other server", async () => { await other.die(); await sleep(300); await other.start(); }],
  ["this server", async () => server.restart("SIGKILL")],
] as const) {
  test(`a run survives that ${what} dies and comes back`, async () => {
    const before = other.clerk.executed;
    const { id, body } = await begin("clerk", `a2a-${what}`, `wait 4 s for ${what}`);
    await heard(body);
    await die();
    const r = await until("the run ends or asks", async () => {
      const got = await reply(await ask("GET", `/v1/runs/${id}`));
      return got.status === "waiting" || got.status === "done" ? got : undefined;
    });
    assert.equal(r.status, "done", JSON.stringify(r.waiting));
    assert.equal(r.final_output, `you said wait 4 s for ${what}`, JSON.stringify(r));
    assert.equal(other.clerk.executed, before + 1, "the message was sent again");
  });
}
