// Every chunk of every golden run is one that the packages take.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { packages } from "./clients";

const folder = join(import.meta.dirname ?? ".", "../../../protocol/aisdk/testdata/runs");

/** The data of the frames of a file of streams. */
export function frames(text: string): string[] {
  return text.split("\n").filter((l) => l.startsWith("data: ")).map((l) => l.slice(6));
}

for (const [version, ai] of Object.entries(packages)) {
  test(`golden runs fit the chunk schema of ai ${version}`, async () => {
    const schema = typeof ai.uiMessageChunkSchema === "function" ? ai.uiMessageChunkSchema() : ai.uiMessageChunkSchema;
    const files = readdirSync(folder).filter((f) => f.endsWith(".sse"));
    assert.ok(files.length >= 45, `${files.length} files`);
    const types = new Set<string>();
    for (const file of files) {
      for (const frame of frames(readFileSync(join(folder, file), "utf8"))) {
        if (frame === "[DONE]") continue;
        const chunk = JSON.parse(frame);
        types.add(chunk.type);
        const result = await schema.validate(chunk);
        assert.ok(result.success, `${file}: ${frame}: ${result.error}`);
      }
    }
    for (const type of ["start", "finish", "abort", "error", "start-step", "finish-step", "text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end",
      "tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error", "tool-output-available", "tool-output-error", "tool-output-denied",
      "tool-approval-request", "file", "message-metadata", "data-run-info", "data-state-snapshot", "data-state-delta", "data-activity-snapshot", "data-activity-delta",
      "data-inference-complete", "data-messages-snapshot", "data-suspension", "data-waiting"]) {
      assert.ok(types.has(type), `no golden run has a ${type}`);
    }
    // A schema that takes anything would prove nothing.
    assert.equal((await schema.validate({ type: "text-delta", id: 1 })).success, false);
    assert.equal((await schema.validate({ type: "nonesuch" })).success, false);
  });

  // What the schema cannot say: that a client can follow.
  test(`golden runs can be followed by ai ${version}`, async () => {
    for (const file of readdirSync(folder).filter((f) => f.endsWith(".sse"))) {
      const messages = new Map<string, any>(); // what a page has
      const responses: any[][] = [];
      for (const part of readFileSync(join(folder, file), "utf8").split("---\n\n")) {
        const list = frames(part).filter((f) => f !== "[DONE]").map((f) => JSON.parse(f));
        if (list.some((c) => c.type === "start") || responses.length === 0) responses.push(list);
        else responses.at(-1)!.push(...list); // the next owner of a run continues the response
      }
      for (const list of responses) {
        const start = list.find((c) => c.type === "start");
        const failed = list.filter((c) => c.type === "error");
        const errors: unknown[] = [];
        const stream = new ReadableStream({ start(c) { for (const chunk of list) c.enqueue(chunk); c.close(); } });
        let got: any;
        for await (const m of ai.readUIMessageStream({ stream, message: messages.get(start?.messageId), onError: (e: unknown) => errors.push(e) })) got = m;
        assert.deepEqual(errors.map((e: any) => e.message), failed.map((c) => c.errorText), `${file}`);
        if (got) messages.set(got.id, structuredClone(got));
      }
    }
  });
}
