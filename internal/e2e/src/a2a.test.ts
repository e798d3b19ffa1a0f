// The client of @a2a-js/sdk talks to agents, in both bindings: the scenario agent's words, plain, cut off and subscribed again, across a
// crash, and on another replica; and it is told by push notifications.
//
// Words that A2A has no word for: scenario:state (shared state) and scenario:messages (a snapshot of messages) end as tasks without a trace of them.
// A reasoning is not shown. Cutting off matters only while an answer is on its way, so it is tried with scenario:slow; a task that waits or is over
// is got, not subscribed to.
import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { after, before, describe, test } from "node:test";
import { ListTasksRequest, SendMessageRequest, TaskState, type Task } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, type Client } from "@a2a-js/sdk/client";
import { Gate, Server, freePort } from "./server";

const server = new Server("outbound:\n  tenants_allow: [127.0.0.0/8]\n");
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
const card = "/v1/a2a/scenario/.well-known/agent-card.json";
const connect = (binding: string): Promise<Client> =>
  new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [binding] as any })).createFromUrl(gate.url, card);

type Part = { text: string } | { data: unknown };
const request = (text: string | Part[], message: object = {}, configuration?: object) =>
  SendMessageRequest.fromJSON({ message: { messageId: randomUUID(), role: "ROLE_USER", parts: typeof text === "string" ? [{ text }] : text, ...message }, configuration });

const stateOf = (t: Task) => TaskState[t.status!.state];
const textOf = (t: Task, id = "response") =>
  (t.artifacts.find((a) => a.artifactId === id)?.parts ?? []).map((p) => (p.content?.$case === "text" ? p.content.value : "")).join("");

// A task as events of streams tell it.
class Seen {
  task!: Task;
  pieces = 0;

  take(e: any) {
    const { $case, value } = e.payload;
    if ($case === "task") this.task = structuredClone(value);
    else if ($case === "statusUpdate") this.task.status = value.status;
    else if ($case === "artifactUpdate") {
      this.pieces++;
      const old = this.task.artifacts.find((a) => a.artifactId === value.artifact.artifactId);
      if (!old) this.task.artifacts.push(structuredClone(value.artifact));
      else if (value.append) old.parts.push(...value.artifact.parts);
      else old.parts = value.artifact.parts;
    }
    return $case;
  }
}

// Subscribes until the task is over: a stream may break off again while a server starts.
async function follow(client: Client, seen: Seen) {
  for (let tries = 0; tries < 1800; tries++) {
    try {
      const task = await client.getTask({ id: seen.task.id, tenant: "", historyLength: undefined });
      if (task.status!.state !== TaskState.TASK_STATE_WORKING && task.status!.state !== TaskState.TASK_STATE_SUBMITTED) {
        seen.task = task;
        return;
      }
      for await (const e of client.resubscribeTask({ id: seen.task.id, tenant: "" })) seen.take(e);
      if (seen.task.status!.state === TaskState.TASK_STATE_COMPLETED) return;
    } catch {
      await new Promise((next) => setTimeout(next, 100));
    }
  }
  assert.fail("the task does not end");
}

for (const binding of ["HTTP+JSON", "JSONRPC"]) {
  describe(binding, () => {
    const send = async (text: string | Part[], message: object = {}) => {
      const client = await connect(binding);
      const r: any = await client.sendMessage(request(text, message));
      return (r.payload?.value ?? r) as Task;
    };

    test("the words of the scenario agent", async () => {
      const done = await send("scenario:text");
      assert.deepEqual([stateOf(done), textOf(done).length > 10], ["TASK_STATE_COMPLETED", true]);
      const more = await send("scenario:tool", { contextId: done.contextId });
      assert.match(textOf(more), /21/);
      assert.equal(more.contextId, done.contextId);
      for (const word of ["reasoning", "tool-error", "state", "messages"]) {
        const t = await send(`scenario:${word}`);
        assert.deepEqual([word, stateOf(t), textOf(t).length > 0], [word, "TASK_STATE_COMPLETED", true]);
      }
      for (const word of ["data", "activity"]) {
        const t = await send(`scenario:${word}`);
        const parts = t.artifacts.flatMap((a) => a.parts);
        assert.ok(parts.some((p) => p.content?.$case === "data"), `scenario:${word} has no artifact with data`);
      }
      const failed = await send("scenario:error");
      assert.equal(stateOf(failed), "TASK_STATE_FAILED");
      assert.match(JSON.stringify(failed.status!.message), /boom/);
    });

    for (const approved of [true, false]) {
      test(`an approval: ${approved}`, async () => {
        const asks = await send("scenario:approval");
        assert.equal(stateOf(asks), "TASK_STATE_INPUT_REQUIRED");
        assert.match(JSON.stringify(asks.status!.message), /delete_file/);
        const done = await send([{ text: approved ? "approve" : "deny" }, { data: { approved } }], { taskId: asks.id, contextId: asks.contextId });
        assert.deepEqual([done.id, stateOf(done), /deleted/.test(textOf(done))], [asks.id, "TASK_STATE_COMPLETED", approved]);
        await assert.rejects(send("more", { taskId: asks.id }));
      });
    }

    test("a tool of the client is a question", async () => {
      const asks = await send("scenario:frontend-tool");
      assert.equal(stateOf(asks), "TASK_STATE_INPUT_REQUIRED");
      assert.match(textOf(await send("Reykjavik", { taskId: asks.id })), /Reykjavik/);
    });

    test("cancelling, listing, and an unknown task", async () => {
      const client = await connect(binding);
      const seen = new Seen();
      for await (const e of client.sendMessageStream(request("scenario:hang"))) {
        seen.take(e);
        if (seen.pieces === 1) assert.equal(stateOf(await client.cancelTask({ id: seen.task.id, tenant: "", metadata: undefined })), "TASK_STATE_CANCELED");
      }
      assert.equal(stateOf(seen.task), "TASK_STATE_CANCELED");
      const list: any = await client.listTasks(ListTasksRequest.fromJSON({ contextId: seen.task.contextId }));
      assert.deepEqual(list.tasks.map((t: Task) => t.id), [seen.task.id]);
      await assert.rejects(client.getTask({ id: "none", tenant: "", historyLength: undefined }), (err: any) => /not.?found/i.test(`${err.name} ${err.message}`));
    });

    // A stream of scenario:slow, during which something happens after the fifth piece of its answer.
    const slow = async (happens: (seen: Seen) => unknown, sent = request("scenario:slow")) => {
      const client = await connect(binding);
      const seen = new Seen();
      let happened: unknown;
      try {
        for await (const e of client.sendMessageStream(sent)) {
          seen.take(e);
          if (seen.pieces === 5) happened = happens(seen);
        }
      } catch {
        // its connection is gone
      }
      await happened;
      await follow(client, seen);
      assert.deepEqual([stateOf(seen.task), textOf(seen.task)], ["TASK_STATE_COMPLETED", ticks]);
      return { client, seen, sent };
    };

    test("plain: one artifact in pieces", async () => {
      const { seen } = await slow(() => {});
      assert.ok(seen.pieces >= 20);
      assert.equal(seen.task.artifacts.length, 1);
    });

    test("cut off", () => slow(() => gate.cut()));

    test("the server is killed, and the same message again is the same task", async () => {
      const { client, seen, sent } = await slow(() => server.restart("SIGKILL"));
      const again: any = await client.sendMessage(sent);
      assert.equal((again.payload?.value ?? again).id, seen.task.id);
    });

    test("a task that waits survives a crash", async () => {
      const asks = await send("scenario:approval");
      await server.restart("SIGKILL");
      const done = await send([{ text: "approve" }], { taskId: asks.id });
      assert.deepEqual([done.id, /deleted/.test(textOf(done))], [asks.id, true]);
    });

    test("another replica", async () => {
      const other = await server.another();
      const first = gate.port;
      try {
        const asks = await send("scenario:approval");
        gate.port = () => other;
        assert.match(textOf(await send([{ text: "approve" }], { taskId: asks.id })), /deleted/);
        gate.port = first;
        await slow(() => {
          gate.port = () => other;
          gate.cut();
        });
      } finally {
        gate.port = first;
      }
    });

    test("push notifications, across a crash", async () => {
      const got: { headers: IncomingHttpHeaders; body: string }[] = [];
      let accepts = false;
      const port = await freePort();
      const receiver = createServer((req, res) => {
        let body = "";
        req.on("data", (data) => (body += data));
        req.on("end", () => {
          if (accepts) got.push({ headers: req.headers, body });
          res.writeHead(accepts ? 204 : 503).end();
        });
      });
      await new Promise<void>((done) => receiver.listen(port, "127.0.0.1", done));
      try {
        const client = await connect(binding);
        const push = { id: "told", url: `http://127.0.0.1:${port}/told`, token: "tok", authentication: { scheme: "Bearer", credentials: "cred" } };
        const r: any = await client.sendMessage(request("scenario:text", {}, { taskPushNotificationConfig: push }));
        const task: Task = r.payload?.value ?? r;
        const shown: any = await client.getTaskPushNotificationConfig({ taskId: task.id, id: "told", tenant: "" });
        assert.deepEqual([shown.id, shown.taskId, shown.url, shown.token], ["told", task.id, push.url, ""]);
        await server.restart("SIGKILL"); // the receiver has accepted nothing
        accepts = true;
        for (let i = 0; i < 1800 && !got.at(-1)?.body.includes("COMPLETED"); i++) await new Promise((next) => setTimeout(next, 100));
        const states = got.map((m) => JSON.parse(m.body)).map((m) => m.statusUpdate?.status.state ?? `${m.artifactUpdate.artifact.artifactId}: ${m.artifactUpdate.artifact.parts[0].text}`);
        assert.deepEqual(states, ["TASK_STATE_WORKING", `response: ${textOf(task)}`, "TASK_STATE_COMPLETED"]);
        for (const { headers: h, body } of got) {
          assert.deepEqual([h.authorization, h["x-a2a-notification-token"], h["content-type"]], ["Bearer cred", "tok", "application/a2a+json"]);
          assert.equal(h["webhook-signature"], "v1," + createHmac("sha256", "tok").update(`${h["webhook-id"]}.${h["webhook-timestamp"]}.${body}`).digest("base64"));
        }
        await client.deleteTaskPushNotificationConfig({ taskId: task.id, id: "told", tenant: "" });
        const left: any = await client.listTaskPushNotificationConfig({ taskId: task.id, tenant: "", pageSize: 0, pageToken: "" });
        assert.deepEqual(left.configs, []);
      } finally {
        receiver.close();
      }
    });
  });
}
