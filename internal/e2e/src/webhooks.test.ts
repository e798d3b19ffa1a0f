// Receivers of webhooks that verify every message with the package of Standard Webhooks: one that fails, one that hangs, one that redirects, one that wants no
// more, and one that is told everything although the server is killed. And a sender that signs with the same package, whose requests start runs.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { Server } from "./server";

// These wait for time limits of the server.
const brief = process.env.AWAKEN_LONG ? false : "AWAKEN_LONG=1 runs it";
const key = "an-admin-key-of-this-test-only";
const server = new Server(`admin:\n  bearer_token: ${key}\noutbound:\n  tenants_allow: [127.0.0.0/8]\n`);
before(() => server.start());
after(() => server.close());

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const res = await fetch(server.url + path, {
    method,
    headers: { "Content-Type": "application/json", Accept: "application/json", Authorization: `Bearer ${key}`, ...headers },
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await res.text();
  return { status: res.status, body: text && (JSON.parse(text) as any) };
}

async function eventually(what: string, done: () => boolean | Promise<boolean>) {
  for (const late = Date.now() + 90_000; !(await done()); await new Promise((r) => setTimeout(r, 50))) {
    if (Date.now() > late) throw new Error(`not within 90 seconds: ${what}`);
  }
}

type Message = { id: string; type: string; data: any };

/** A receiver, and the webhook that it is the address of. */
class Receiver {
  secret = "";
  id = "";
  requests = 0;
  accepted: Message[] = []; // each once
  wrong: string[] = [];
  private readonly http = createServer((req, res) => void this.hear(req, res));

  constructor(private readonly answer: (n: number, res: ServerResponse) => number | "never") {}

  async open(spec: object = {}): Promise<this> {
    await new Promise<void>((done) => this.http.listen(0, "127.0.0.1", done));
    const { port } = this.http.address() as { port: number };
    const { status, body } = await call("POST", "/v1/webhooks", { url: `http://127.0.0.1:${port}/told`, ...spec });
    assert.equal(status, 201, JSON.stringify(body));
    [this.secret, this.id] = [body.secret, body.id];
    return this;
  }

  private async hear(req: IncomingMessage, res: ServerResponse) {
    const chunks: Buffer[] = [];
    for await (const c of req) chunks.push(c as Buffer);
    const text = Buffer.concat(chunks).toString();
    this.requests++;
    if (req.url !== "/told") this.wrong.push(`a request to ${req.url}`);
    let message: any = {};
    try {
      message = new Webhook(this.secret).verify(text, req.headers as Record<string, string>);
    } catch (err) {
      this.wrong.push(String(err));
    }
    const status = this.answer(this.requests, res);
    if (status === "never") return;
    const id = String(req.headers["webhook-id"]);
    if (status < 300 && !this.accepted.some((m) => m.id === id)) this.accepted.push({ id, ...message });
    res.writeHead(status, status === 302 ? { Location: "/elsewhere" } : {}).end();
  }

  types(run: string): string[] {
    return this.accepted.filter((m) => m.data.run_id === run).map((m) => m.type);
  }

  close() {
    this.http.closeAllConnections();
    this.http.close();
  }
}

async function run(text: string, thread?: string): Promise<string> {
  const { status, body } = await call("POST", "/v1/runs", { agentId: "scenario", threadId: thread, messages: [{ role: "user", content: text }] });
  assert.equal(status, 200, JSON.stringify(body));
  return body.run_id ?? body.runId;
}

test("a receiver that fails gets every message, in its order", async () => {
  const r = await new Receiver((n) => (n % 2 ? 500 : 204)).open();
  const id = await run("scenario:text");
  await eventually("both messages", () => r.types(id).length === 2);
  assert.deepEqual(r.types(id), ["run.started", "run.finished"]);
  assert.ok(r.requests >= 4);
  const { body } = await call("GET", `/v1/webhooks/${r.id}/deliveries`);
  assert.ok(body.items[0].attempts.some((a: any) => a.status === 500 && a.error.includes("500")), JSON.stringify(body));
  await call("DELETE", `/v1/webhooks/${r.id}`);
  assert.deepEqual(r.wrong, []);
  r.close();
});

test("a receiver that hangs is asked again, and holds up no other", { skip: brief }, async () => {
  const slow = await new Receiver((n) => (n === 1 ? "never" : 204)).open({ events: ["run.finished"] });
  const quick = await new Receiver(() => 204).open({ events: ["run.finished"] });
  const id = await run("scenario:text");
  await eventually("the quick one is told", () => quick.types(id).length === 1);
  assert.equal(slow.accepted.length, 0);
  await eventually("the slow one is told", () => slow.types(id).length === 1);
  const { body } = await call("GET", `/v1/webhooks/${slow.id}/deliveries`);
  assert.match(JSON.stringify(body), /no answer within 15s/);
  for (const r of [slow, quick]) {
    await call("DELETE", `/v1/webhooks/${r.id}`);
    assert.deepEqual(r.wrong, []);
    r.close();
  }
});

test("redirects are not followed", async () => {
  const r = await new Receiver((n) => (n < 3 ? 302 : 204)).open({ events: ["run.finished"] });
  const id = await run("scenario:text");
  await eventually("the message", () => r.types(id).length === 1);
  const { body } = await call("GET", `/v1/webhooks/${r.id}/deliveries`);
  assert.match(JSON.stringify(body), /redirects are not followed/);
  await call("DELETE", `/v1/webhooks/${r.id}`);
  assert.deepEqual(r.wrong, []); // nothing came to /elsewhere
  r.close();
});

test("a receiver that answers 410 is paused, and is told again when its owner says so", async () => {
  let gone = true;
  const r = await new Receiver(() => (gone ? 410 : 204)).open({ events: ["run.finished"] });
  const first = await run("scenario:text");
  await eventually("it is paused", async () => (await call("GET", `/v1/webhooks/${r.id}`)).body.paused === true);
  const { body } = await call("GET", `/v1/webhooks/${r.id}`);
  assert.match(body.paused_reason, /410/);
  const asked = r.requests;
  await run("scenario:text");
  assert.equal(r.requests, asked);
  gone = false;
  assert.equal((await call("PUT", `/v1/webhooks/${r.id}`, { url: body.url, events: body.events })).status, 200);
  const later = await run("scenario:text");
  await eventually("it is told of what happens now", () => r.types(later).length === 1);
  assert.equal((await call("POST", `/v1/webhooks/${r.id}/redeliver`, { run_id: first })).status, 202);
  await eventually("it is told again of the first", () => r.types(first).length === 1);
  await call("DELETE", `/v1/webhooks/${r.id}`);
  assert.deepEqual(r.wrong, []);
  r.close();
});

test("both secrets sign after another was made", async () => {
  const r = await new Receiver(() => 204).open({ events: ["run.finished"] });
  const rotated = await call("POST", `/v1/webhooks/${r.id}/rotate`);
  assert.notEqual(rotated.body.secret, r.secret);
  const first = await run("scenario:text");
  await eventually("it verifies with the former secret", () => r.types(first).length === 1);
  r.secret = rotated.body.secret;
  const second = await run("scenario:text");
  await eventually("it verifies with the new secret", () => r.types(second).length === 1);
  await call("DELETE", `/v1/webhooks/${r.id}`);
  assert.deepEqual(r.wrong, []);
  r.close();
});

test("a server that is killed tells the rest after its restart", { skip: brief }, async () => {
  const r = await new Receiver(() => 204).open();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await run("scenario:text"));
  await server.restart("SIGKILL");
  for (let i = 0; i < 2; i++) ids.push(await run("scenario:text"));
  await eventually("everything is told", () => ids.every((id) => r.types(id).includes("run.finished")));
  for (const id of ids) assert.deepEqual(r.types(id), ["run.started", "run.finished"]);
  await call("DELETE", `/v1/webhooks/${r.id}`);
  assert.deepEqual(r.wrong, []);
  r.close();
});

test("a request that the package has signed starts a run, once", async () => {
  const { body: made } = await call("POST", "/v1/triggers", { id: "orders", require_signature: true, run: { agent_id: "scenario", messages: [{ role: "user", content: "scenario:text" }] } });
  const body = JSON.stringify({ order: 7 });
  const at = new Date();
  const signed = { "webhook-id": "order-7", "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "webhook-signature": new Webhook(made.secret).sign("order-7", at, body), Authorization: "" };
  const first = await call("POST", "/v1/triggers/orders/fire", body, signed);
  const again = await call("POST", "/v1/triggers/orders/fire", body, signed);
  assert.deepEqual([first.status, again.status, again.body.duplicate], [202, 202, true]);
  assert.equal(first.body.run_id, again.body.run_id);
  const forged = await call("POST", "/v1/triggers/orders/fire", body + " ", signed);
  assert.equal(forged.status, 401);
  await eventually("the run ends", async () => (await call("GET", `/v1/runs/${first.body.run_id}`)).body.status === "done");
});
