// Traces: requests word for word, pins, filters; and what scorers say about the runs of users.
import assert from "node:assert/strict";
import { test } from "node:test";
import { run, serve, settled, sleep, stage, visit } from "./rig.mjs";

const secret = "sk-planted0123456789abcdef";
const seen = {};
const pages = {
  list: "/traces",
  filters: "/traces?agent_id=clerk&origin=user&min_duration_ms=1000",
  scored: "/traces?max_score=0.5",
  trace: () => `/traces/${seen.bad.run_id}?at=0`,
  tools: () => `/traces/${seen.tools.run_id}?at=0`,
  judgement: () => `/traces/${seen.bad.run_id}?at=2`,
  cell: () => `/traces/${seen.cell.run.items[0].trace_run_id}?eval=${seen.cell.run.id}`,
  beside: () => seen.beside,
  live: "/evals/live",
  liveOne: () => `/evals/live?run=${seen.bad.run_id}`,
};

const { server, browser, call, open, looks } = stage(
  { env: { AWAKEN_EXPOSE_TRACE_ROUTES: "true", AWAKEN_TRACE_BODIES: "all" } },
  {
    async prepare() {
      await call("POST", "/v1/config/agents", {
        id: "clerk",
        model_id: "default",
        system_prompt: "Be brief.",
        sections: { eval_live: { share: 1, scorers: [{ kind: "contains", text: "Paris" }, { kind: "latency", max: 60000 }] } },
      });
      seen.bad = await run(server.url, "clerk", `hello, my key is ${secret}`);
      seen.tools = await run(server.url, "scenario", "RUN_WEATHER_TOOL");
      await call("POST", "/v1/eval/datasets", { id: "cells", spec: { fixtures: [{ id: "hi", user_input: "hello", provider_script: [{ kind: "chat_response", content: "Hello!" }] }] } });
      seen.cell = await call("POST", "/v1/eval/runs", { dataset_id: "cells" });
      const judged = async () => (await call("GET", "/v1/eval/live?agent_id=clerk&status=done")).judgements.length > 0;
      while (!(await judged())) await sleep(200);
    },
  },
);

test("the requests of a step are shown word for word, without credentials, and can be copied", async (t) => {
  const page = await open(t, `/traces/${seen.bad.run_id}?at=0`);
  const body = page.getByRole("region", { name: "Full requests" });
  await body.getByText("2 credentials were removed").waitFor();
  await body.locator("mark", { hasText: "REMOVED" }).first().waitFor();
  await body.getByText("System prompt").click();
  await body.getByText("Be brief.").first().waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await body.getByRole("button", { name: "Copy the digest" }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^[0-9a-f]{64}$/);
  await body.getByText("Request and response as JSON").click();
  assert.ok(!(await body.innerText()).includes(secret));
});

test("a server that keeps no requests says so, and which setting decides it", async (t) => {
  const without = await serve({ env: { AWAKEN_EXPOSE_TRACE_ROUTES: "true" } });
  t.after(() => without.stop());
  const made = await run(without.url, "default", "hello");
  const { page, context, bad } = await visit(browser, `${without.url}/traces/${made.run_id}?at=0`, { key: without.key });
  t.after(() => context.close());
  await page.getByText("The server does not store full requests.").waitFor();
  await page.getByRole("link", { name: "traces.bodies" }).click();
  await page.getByRole("list", { name: "Settings" }).getByText("traces.bodies", { exact: true }).waitFor();
  assert.deepEqual(bad, []);
});

test("a run is pinned with a reason on its page, unpinned in the list, and a dataset keeps it all the same", async (t) => {
  const page = await open(t, `/traces/${seen.tools.run_id}`);
  await page.getByRole("button", { name: "Pin", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason (visible to others)").fill("odd weather");
  await dialog.getByRole("button", { name: "Pin" }).click();
  await page.getByRole("list", { name: "What keeps this run" }).getByText("odd weather").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Unpin" }).waitFor();

  await page.goto(`${server.url}/traces?pinned=true`);
  const pin = page.getByRole("button", { name: "Pin run" });
  await pin.first().waitFor();
  assert.equal(await pin.count(), 1);
  await call("POST", "/v1/eval/datasets/cells/items", { from_run_id: seen.tools.run_id, fixture_id: "weather", provider_script_mode: "skip" });
  await pin.click();
  await page.getByText("something else still keeps it").waitFor();
  await page.getByRole("link", { name: "What keeps it" }).click();
  await page.getByRole("list", { name: "What keeps this run" }).getByRole("link", { name: "cells" }).waitFor();
  assert.deepEqual((await call("GET", `/v1/traces/${seen.tools.run_id}/pin`)).pins.map((p) => p.kind), ["dataset"]);
  await page.getByRole("button", { name: "Pin", exact: true }).waitFor();
});

test("filters of traces are in the address, and a score combines with the others", async (t) => {
  const page = await open(t, "/traces");
  const rows = page.getByRole("list", { name: "Traces" }).getByRole("listitem");
  await rows.first().waitFor();
  await page.getByRole("combobox", { name: "Status" }).selectOption("done");
  await page.getByRole("combobox", { name: "Time", exact: true }).selectOption("hour");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("combobox", { name: "Duration" }).selectOption("300000");
  await page.getByText("Nothing matches").waitFor();
  assert.match(page.url(), /status=done.*range=hour.*min_duration_ms=300000/);
  await page.getByRole("combobox", { name: "Score" }).selectOption("0.5");
  await page.waitForURL(/max_score=0\.5/);
  await page.getByText("Nothing matches").waitFor();
  await page.getByRole("combobox", { name: "Duration" }).selectOption("");
  await rows.first().waitFor();
  assert.equal(await rows.count(), 1);
  assert.match(page.url(), /\?status=done&range=hour&max_score=0\.5$/);
  await page.reload();
  await rows.getByText("0", { exact: true }).waitFor();
});

test("judgements: why a run was not passed, filters, where to switch it on, and keys that may not", async (t) => {
  const page = await open(t, "/evals");
  await page.getByRole("link", { name: "Live judgements" }).click();
  const row = page.getByRole("list", { name: "Live judgements" }).getByRole("listitem");
  await row.getByText("Not passed").waitFor();
  await row.getByRole("link").click();
  const detail = page.getByRole("complementary", { name: "Detail" });
  await detail.getByText("contains", { exact: true }).waitFor();
  await detail.getByText("latency", { exact: true }).waitFor();
  await detail.getByRole("link", { name: "Trace" }).click();
  await page.getByRole("list", { name: "What the run did" }).getByText("judgement").first().waitFor({ state: "attached" });
  await page.goto(`${server.url}/evals/live?min_score=0.5`);
  await page.getByText("Nothing matches").waitFor();
  const reader = await open(t, "/evals/live", { key: (await call("POST", "/v1/keys", { kind: "read" })).secret });
  await reader.getByText("This page needs an admin key").waitFor();
  const other = await open(t, "/evals/live", { key: (await call("POST", "/v1/keys", { kind: "admin", tenant: "other" })).secret });
  await other.getByText("No judged runs yet").waitFor();
  await other.getByRole("link", { name: "Choose an agent" }).waitFor();
});

test("a cell of an evaluation leads to its trace, and back", async (t) => {
  const page = await open(t, `/evals/${seen.cell.run.id}?cell=0:hi`);
  await page.getByRole("link", { name: /^trace / }).click();
  await page.getByRole("list", { name: "What the run did" }).getByRole("listitem").first().waitFor();
  await settled(page);
  assert.equal(await page.getByRole("button", { name: "Pin", exact: true }).count(), 0);
  await page.getByRole("link", { name: "Evaluation", exact: true }).click();
  await page.waitForURL(/\/evals\/[^/]+$/);
});

test("a call of the timeline is tried with another result, and both runs are read side by side", async (t) => {
  const page = await open(t, `/runs/${seen.tools.run_id}`);
  await page.getByRole("link", { name: "Trace", exact: true }).waitFor();
  await page.getByRole("treegrid", { name: "Timeline" }).getByRole("link", { name: /get_weather/ }).click();
  await page.getByRole("button", { name: "Fork with another result…" }).click();
  await page.waitForURL(/\/fork\?step=1$/);
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByRole("link", { name: "Side by side" }).click();
  seen.beside = new URL(page.url()).pathname + new URL(page.url()).search;
  const step = page.getByRole("listitem", { name: "Step 1" });
  await step.getByText("the same").or(step.getByText("differs")).waitFor();
  await page.getByText("1 earlier step is identical.").waitFor();
  await page.getByRole("region", { name: "Fork" }).getByText("Done").waitFor();
  assert.equal(await step.getByRole("link", { name: /^Step/ }).count(), 2);
});

looks("traces and judgements", pages, { few: ["light"] });
