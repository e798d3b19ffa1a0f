// The frames of every golden run, as the real client packages see them: each event fits
// the schema of @ag-ui/core, all of them together pass the client's verifier, and the
// client's conversation in the end is the one that is stored. Both for a client of today
// and for the version that CopilotKit has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { from, lastValueFrom, toArray } from "rxjs";
import * as now from "@ag-ui/client";
import * as before from "@ag-ui/client-before";
import { EventSchemas } from "@ag-ui/core/schemas";
import { EventSchemas as EventSchemasBefore } from "@ag-ui/core-before";
import * as txtar from "./txtar.ts";

type Event = { type: string; [field: string]: unknown };
type Frame = { id: string; event: Event };

function framesOf(text: string): Frame[] {
  return text
    .split("\n\n")
    .filter((f) => f !== "")
    .map((f) => {
      const [id, data] = f.split("\n");
      assert.match(id, /^id: \d+-\d+\.\d+$/);
      assert.ok(data.startsWith("data: "), data);
      return { id, event: JSON.parse(data.slice("data: ".length)) };
    });
}

// merge puts the frames of an older client in the place of those with the same id.
function merge(all: Frame[], others: Frame[]): Frame[] {
  const of = new Map(others.map((f) => [f.id, f]));
  return all.map((f) => of.get(f.id) ?? f);
}

// streamsOf returns the events of each response.
function streamsOf(sections: txtar.Sections, version: string): Event[][] {
  const streams: Event[][] = [];
  for (const [section, text] of sections) {
    if (section.endsWith("before 1.0")) continue;
    let list = framesOf(text);
    if (version === "before 1.0") list = merge(list, framesOf(sections.get(`${section} before 1.0`) ?? ""));
    const events = list.map((f) => f.event);
    // A run that another owner goes on with is still the same stream.
    if (events[0].type === "RUN_STARTED" || events[0].type === "RUN_ERROR") streams.push([]);
    streams.at(-1)!.push(...events);
  }
  return streams;
}

const clients = {
  "1.0": {
    check: (e: Event) => EventSchemas.parse(e),
    verify: (es: Event[]) => from(es as never[]).pipe(now.enforceEvents(), now.transformChunks(), now.verifyEvents(), toArray()),
    agent: (next: () => Event[]) =>
      new (class extends now.AbstractAgent {
        run() {
          return from(next() as never[]);
        }
      })({ threadId: "t" }),
  },
  "before 1.0": {
    check: (e: Event) => EventSchemasBefore.parse(e),
    verify: (es: Event[]) => from(es as never[]).pipe(before.transformChunks(), before.verifyEvents(), toArray()),
    agent: (next: () => Event[]) =>
      new (class extends before.AbstractAgent {
        run() {
          return from(next() as never[]);
        }
      })({ threadId: "t" }),
  },
};

const types = new Set<string>();

for (const [version, client] of Object.entries(clients)) {
  for (const [name, sections] of txtar.read(txtar.frames)) {
    test(`${name} for ${version}`, async (t) => {
      const warnings = t.mock.method(console, "warn", () => {});
      const streams = streamsOf(sections, version);
      for (const events of streams) {
        for (const e of events) {
          types.add(e.type);
          client.check(e);
        }
        const verified = await lastValueFrom(client.verify(events) as never);
        assert.equal((verified as unknown[]).length, events.length, "events were dropped");
      }
      assert.deepEqual(
        warnings.mock.calls.map((c) => c.arguments),
        [],
        "the client warns",
      );
    });
  }
}

// Results come as they are there, and are stored in the order of their calls.
const byID = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id);

// A result that is JSON may be written with other spaces.
function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

test("the client's conversation is the one that is stored", async () => {
  const stored = new Map(txtar.read(txtar.runs));
  let compared = 0;
  for (const [version, client] of Object.entries(clients)) {
    for (const [name, sections] of txtar.read(txtar.frames)) {
      const run = stored.get(name)!;
      // What is hidden later, or said on several threads, is not one conversation.
      if (run.has("view") || !run.has("messages") || run.get("messages")!.startsWith("#")) continue;
      // Nobody listens when a run that waits is cancelled.
      if ([...run].some(([section, text]) => section.startsWith("request") && text.startsWith('{"op": "cancel"'))) continue;
      const want = run
        .get("messages")!
        .trim()
        .split("\n")
        .map((l) => JSON.parse(l))
        .filter((m) => m.visibility !== "internal" && (m.role === "assistant" || m.role === "tool"))
        .map((m) => ({
          id: m.id,
          role: m.role,
          text: compact(m.content.filter((b: { type: string }) => b.type === "text").map((b: { text: string }) => b.text).join("")),
          calls: (m.tool_calls ?? []).map((c: { id: string; arguments: unknown }) => [c.id, c.arguments]),
        }));
      const streams = streamsOf(sections, version);
      const agent = client.agent(() => streams.shift()!);
      while (streams.length > 0) {
        agent.pendingInterrupts = []; // they are answered by other means here
        await agent.runAgent({}).catch(() => {}); // a run may fail; what it said stays
      }
      const got = (agent.messages as any[])
        .filter((m) => m.role === "assistant" || m.role === "tool")
        .map((m) => ({
          id: m.id,
          role: m.role,
          text: compact(m.content ?? ""),
          calls: (m.toolCalls ?? []).map((c: any) => [c.id, JSON.parse(c.function.arguments || "{}")]),
        }));
      assert.deepEqual(got.sort(byID), want.sort(byID), `${name} for ${version}`);
      compared++;
    }
  }
  assert.ok(compared > 150, `only ${compared} conversations were compared`);
});

test("the golden runs have every event that we send", () => {
  const missing = [
    "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED",
    "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
    "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
    "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END", "REASONING_ENCRYPTED_VALUE",
    "STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "CUSTOM", "RAW",
  ].filter((type) => !types.has(type));
  assert.deepEqual(missing, []);
});
