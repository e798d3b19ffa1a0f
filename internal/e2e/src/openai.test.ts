// The openai package talks to agents: the scenario agent's words, plain, cut off and read again, and across a crash.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import OpenAI from "openai";
import { Server } from "./server";

const clientOf = (s: Server, options: object = {}) =>
  new OpenAI({ baseURL: `${s.url}/openai/v1`, apiKey: "unused", defaultHeaders: { Authorization: null }, maxRetries: 0, ...options });

const server = new Server();
let client: OpenAI;
before(async () => {
  await server.start();
  client = clientOf(server);
});
after(() => server.close());

const model = "scenario";
const ticks = [...Array(20).keys()].map((i) => `tick${i} `).join("");
const location = { name: "get_user_location", description: "Where the user is", parameters: { type: "object", properties: {} } };

describe("models", () => {
  test("agents are listed, and an unknown one is named", async () => {
    const ids: string[] = [];
    for await (const m of client.models.list()) ids.push(m.id);
    assert.ok(ids.includes(model));
    assert.equal((await client.models.retrieve(model)).object, "model");
    await assert.rejects(client.models.retrieve("unheard-of"), (err: any) => err.status === 404 && err.code === "model_not_found" && err.message.includes(model));
  });
});

describe("chat completions", () => {
  const ask = (content: string, more: object = {}) => client.chat.completions.create({ model, messages: [{ role: "user", content }], ...more }) as Promise<OpenAI.ChatCompletion>;

  test("text, with usage", async () => {
    const done = await ask("scenario:text");
    assert.ok(done.choices[0].message.content!.length > 10);
    assert.equal(done.choices[0].finish_reason, "stop");
    const runner = client.chat.completions.stream({ model, messages: [{ role: "user", content: "scenario:text" }], stream_options: { include_usage: true } });
    let deltas = 0;
    runner.on("content", () => deltas++);
    assert.equal(await runner.finalContent(), done.choices[0].message.content);
    assert.ok(deltas >= 2);
    assert.ok(await runner.totalUsage());
  });

  test("a tool of the server is called", async () => {
    const done = await ask("scenario:tool");
    assert.match(done.choices[0].message.content!, /21/);
    assert.equal(done.choices[0].message.tool_calls, undefined);
  });

  test("a tool of the client is run by the package's own loop", async () => {
    const runner = client.chat.completions.runTools({
      model,
      messages: [{ role: "user", content: "scenario:frontend-tool" }],
      tools: [{ type: "function", function: { ...location, function: async () => "Reykjavik", parse: JSON.parse } as any }],
    });
    assert.match((await runner.finalContent())!, /Reykjavik/);
  });

  test("an approval is asked for, and a program that does not know the question approves nothing", async () => {
    const asked = await ask("scenario:approval");
    const call = asked.choices[0].message.tool_calls![0] as any;
    assert.equal(call.function.name, "request_approval");
    const answer = (content: string) =>
      client.chat.completions.create({ model, messages: [{ role: "user", content: "scenario:approval" }, asked.choices[0].message, { role: "tool", tool_call_id: call.id, content }] });
    await assert.rejects(answer("what?"), (err: any) => err.status === 400 && err.message.includes("approved"));
    const done = await answer(JSON.stringify({ approved: true }));
    assert.match(done.choices[0].message.content!, /deleted/);
  });

  test("what is not supported is named", async () => {
    await assert.rejects(ask("x", { n: 2 }), (err: any) => err.status === 400 && err.param === "n" && err.code === "unsupported_parameter");
  });
});

describe("responses", () => {
  test("text and a conversation", async () => {
    const first = await client.responses.create({ model, input: "scenario:text" });
    assert.ok(first.output_text.length > 10);
    const stream = client.responses.stream({ model, input: "scenario:reasoning", previous_response_id: first.id });
    const second = await stream.finalResponse();
    assert.deepEqual(second.output.map((o) => o.type), ["reasoning", "message"]);
    assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text);
  });

  test("a tool of the server", async () => {
    const done = await client.responses.stream({ model, input: "scenario:tool" }).finalResponse();
    const call = done.output.find((o) => o.type === "mcp_call") as any;
    assert.equal(call.name, "get_weather");
    assert.match(done.output_text, /21/);
  });

  test("a tool of the client", async () => {
    const tools = [{ type: "function" as const, strict: false, ...location }];
    const asked = await client.responses.create({ model, input: "scenario:frontend-tool", tools });
    const call = asked.output.find((o) => o.type === "function_call")!;
    const output = { type: "function_call_output" as const, call_id: call.call_id, output: "Reykjavik" };
    const done = await client.responses.create({ model, previous_response_id: asked.id, input: [output], tools });
    assert.match(done.output_text, /Reykjavik/);
    const again = await client.responses.create({ model, previous_response_id: asked.id, input: [output], tools });
    assert.equal(again.id, done.id);
  });

  for (const approve of [true, false]) {
    test(`an approval: ${approve}`, async () => {
      const asked = await client.responses.create({ model, input: "scenario:approval" });
      const request = asked.output.find((o) => o.type === "mcp_approval_request")!;
      const done = await client.responses.create({ model, previous_response_id: asked.id, input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve }] });
      assert.equal(/deleted/.test(done.output_text), approve);
    });
  }

  test("a stream is cut off and read again, after every event", async () => {
    const whole: any[] = [];
    for await (const e of await client.responses.create({ model, input: "scenario:reasoning", stream: true })) whole.push(e);
    const id = whole[0].response.id;
    for (let n = 0; n < whole.length; n++) {
      const rest: any[] = [];
      for await (const e of await client.responses.retrieve(id, { stream: true, starting_after: n })) rest.push(e);
      assert.deepEqual(rest, whole.slice(n + 1));
    }
  });

  test("a run is cancelled and deleted", async () => {
    const started = await client.responses.create({ model, input: "scenario:hang", background: true });
    assert.equal((await client.responses.cancel(started.id)).status, "cancelled");
    for await (const _ of await client.responses.retrieve(started.id, { stream: true })); // until it has ended
    await client.responses.delete(started.id);
    await assert.rejects(client.responses.retrieve(started.id), (err: any) => err.status === 404);
  });

  test("the server is killed in the middle of an answer: the rest follows, and the response is whole", async () => {
    const stream = await client.responses.create({ model, input: "scenario:slow", stream: true });
    let id = "";
    let last = -1;
    let final: any;
    try {
      for await (const e of stream) {
        if (e.type === "response.created") id = e.response.id;
        last = e.sequence_number;
        final = e;
        if (e.type === "response.output_text.delta" && e.delta.includes("tick1 ")) await server.restart("SIGKILL");
      }
      assert.equal(final.type, "response.completed", "half an answer is not taken for a whole one"); // only if the run had ended before the server did
    } catch (err) {
      assert.ok(!(err instanceof assert.AssertionError), String(err));
    }
    for await (const e of await client.responses.retrieve(id, { stream: true, starting_after: last })) {
      assert.ok(e.sequence_number > last);
      last = e.sequence_number;
      final = e;
    }
    assert.equal(final.type, "response.completed");
    assert.equal((await client.responses.retrieve(id)).output_text, ticks);
    const helper = client.responses.stream({ response_id: id } as any); // the package puts the events together itself
    assert.equal((await helper.finalResponse()).output_text, ticks);
  });

  test("an approval survives a crash, and is answered afterwards", async () => {
    const asked = await client.responses.create({ model, input: "scenario:approval" });
    await server.restart("SIGKILL");
    const request = asked.output.find((o) => o.type === "mcp_approval_request")!;
    const done = await client.responses.create({ model, input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }] });
    assert.match(done.output_text, /deleted/);
  });
});

// A failure opens the circuit breaker of the model, so these have a server of their own.
describe("failures", () => {
  const failing = new Server();
  before(() => failing.start());
  after(() => failing.close());

  test("they are reported, and the package does not start another run", async () => {
    const retrying = clientOf(failing, { maxRetries: 2 });
    const done = await retrying.responses.create({ model, input: "scenario:error" });
    assert.equal(done.status, "failed");
    assert.match(done.error!.message, /boom/);
    const messages = [{ role: "user" as const, content: "scenario:error" }];
    const failed = /boom|circuit breaker/;
    await assert.rejects(retrying.chat.completions.create({ model, messages }), (err: any) => err.status === 500 && err.code === "run_failed" && failed.test(err.message));
    await assert.rejects(retrying.chat.completions.stream({ model, messages }).done(), failed);
    const { total } = (await (await fetch(`${failing.url}/v1/runs`)).json()) as { total: number };
    assert.equal(total, 3);
  });
});
