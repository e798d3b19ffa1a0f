// What operators do with the console: the queue and its dead letters, decisions about several calls, figures and records.
import assert from "node:assert/strict";
import { test } from "node:test";
import { run, serve, sleep, stage, violations, visit } from "./rig.mjs";

let dead, hanging, changed;
const env = { AWAKEN_MAILBOX_DEFAULT_MAX_ATTEMPTS: "1" };
const { server, browser, call, open, looks } = stage({ env }, {
  async prepare() {
    await bury(3);
    dead = (await call("GET", "/v1/dispatches?status=DeadLetter")).items;
    hanging = await hang();
    await hang(hanging);
    for (let i = 0; i < 4; i++) await run(server.url, i % 2 ? "default" : "scenario", "RUN_WEATHER_TOOL");
    const agent = { id: "poet", model_id: "default", system_prompt: "Answer in haiku." };
    await call("POST", "/v1/config/agents", agent);
    await call("PUT", "/v1/config/agents/poet", { ...agent, system_prompt: "Answer in prose." });
    changed = (await call("GET", "/v1/audit-log?resource=agents/poet")).items[0].id;
  },
});

/** hang starts a run that never ends by itself, on a new thread or the one that is named. */
async function hang(thread) {
  const id = thread ?? (await call("POST", "/v1/threads", {})).id;
  await call("POST", `/v1/threads/${id}/messages`, { agent_id: "scenario", messages: [{ role: "user", content: "scenario:hang" }] });
  return id;
}

/** bury kills the server until the queue has given up what it ran. */
async function bury(count) {
  for (let i = 0; i < count; i++) await hang();
  const lost = new Set();
  for (let round = 0; round < 12; round++) {
    let counts, workers;
    for (let wait = 0; wait < 300; wait++) {
      ({ counts, workers } = await call("GET", "/v1/queue"));
      if (counts.DeadLetter === count || workers.some((w) => !lost.has(w.worker))) break;
      await sleep(100);
    }
    if (counts.DeadLetter === count) return;
    for (const w of workers) lost.add(w.worker);
    const { key, dir, url } = server;
    await server.kill();
    Object.assign(server, await serve({ env, dir, address: new URL(url).host }), { key });
  }
  assert.fail("the queue does not give up what kills its process");
}

test("the queue explains itself, and takes back what it was given", async (t) => {
  const page = await open(t, "/queue");
  const why = page.getByRole("complementary", { name: "Why it is where it is" });
  await why.getByText("Waits for its turn on its thread").waitFor();
  await why.getByText("Runs of a thread take turns").waitFor();
  await page.getByRole("list", { name: "Live" }).getByRole("button", { name: /Waits for its turn/ }).first().click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByText("The run is cancelled. Its entry leaves the queue when its turn comes.").waitFor();
  await hang(hanging); // as it was
});

test("a dead letter tells how each attempt failed, and a retry is a new run", async (t) => {
  const { dispatch_id: id, run_id: old } = dead[0];
  const page = await open(t, `/dead-letters/${id}`);
  await page.getByText("Its process was lost.").first().waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("complementary").getByRole("button", { name: "Retry 1 dead letter" }).click();
  await page.waitForURL(/\/runs\//);
  assert.ok(!page.url().includes(old), "the retry shows the old run");
  const made = page.url().split("/").pop();
  await call("POST", `/v1/runs/${made}/cancel`);
  await page.goto(`${server.url}/dead-letters/${id}`);
  await page.getByRole("heading", { name: "This does not exist" }).waitFor();
});

test("several dead letters are removed after their number was named", async (t) => {
  const page = await open(t, "/queue?view=dead");
  const list = page.getByRole("list", { name: "Dead letters" }).getByRole("listitem");
  await list.first().waitFor();
  const n = await list.count();
  await list.first().getByRole("checkbox").check();
  await page.getByRole("button", { name: "Remove 1 dead letter" }).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("They are removed permanently.").waitFor();
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: "Remove 1 dead letter" }).click();
  await page.getByText("1 of 1 done.").waitFor();
  await list.nth(n - 1).waitFor({ state: "detached" });
  const { items } = await call("GET", "/v1/dispatches?status=DeadLetter");
  assert.equal(items.length, n - 1);
});

test("calls that are alike are decided together, and the ledger has each", async (t) => {
  const asked = [];
  for (let i = 0; i < 3; i++) asked.push(await run(server.url, "scenario", "scenario:approval"));
  const other = await run(server.url, "permission", 'RUN_TOOL append_note {"text":"buy milk"}');
  const page = await open(t, "/approvals");
  await page.getByLabel("Several").check();
  const boxes = page.getByRole("list", { name: "Approvals" }).getByRole("checkbox", { name: "Select delete_file" });
  await boxes.first().check();
  assert.ok(await page.getByRole("checkbox", { name: "Select append_note" }).isDisabled(), "calls of different tools can be decided together");
  const n = await boxes.count();
  for (let i = 1; i < n; i++) await boxes.nth(i).check();
  await page.getByRole("button", { name: `Refuse ${n}`, exact: true }).click();
  await page.getByRole("alertdialog").getByLabel("Reason (shown to the model)").fill("not today");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("alertdialog").getByRole("button", { name: `Refuse ${n}` }).click();
  await page.getByText(`${n} of ${n} done.`).waitFor();
  for (const { run_id } of asked) {
    const { items } = await call("GET", `/v1/decisions?run_id=${run_id}`);
    assert.deepEqual([items[0].action, items[0].reason], ["cancel", "not today"]);
  }
  await page.getByRole("link", { name: "Decided" }).click();
  await page.getByRole("list", { name: "Decided" }).getByText("not today").first().waitFor();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
  assert.equal(saved.suggestedFilename(), "decisions.ndjson");
  await call("POST", `/v1/runs/${other.run_id}/cancel`);
});

test("T-12: the audit log tells what changed, and brings it back", async (t) => {
  const page = await open(t, "/audit?resource=agents/poet");
  const events = page.getByRole("list", { name: "Audit" }).getByRole("link", { name: "agents/poet" });
  await events.first().click();
  const detail = page.getByRole("complementary", { name: "Detail" });
  await detail.getByText("Answer in prose.").waitFor();
  await detail.getByText("Answer in haiku.").waitFor();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  assert.equal(saved.suggestedFilename(), "audit.csv");
  await events.last().click();
  await detail.getByRole("button", { name: "Restore this version" }).click();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("alertdialog").getByRole("button", { name: "Restore this version" }).click();
  await detail.getByText("Restored.").waitFor();
  assert.equal((await call("GET", "/v1/config/agents/poet")).system_prompt, "Answer in haiku.");
});

test("figures are read by keyboard, and lead to the runs behind them", async (t) => {
  const page = await open(t, "/cost?metric=runs&range=day");
  const row = page.getByRole("row", { name: /default/ });
  await row.waitFor({ timeout: 90_000 }); // runs are counted some seconds after they end
  const chart = page.getByRole("slider", { name: "Runs" });
  await chart.focus();
  await page.keyboard.press("End");
  assert.match((await chart.getAttribute("aria-valuetext")) ?? "", /: \d/);
  await row.getByRole("button").click();
  await page.waitForURL(/key=default/);
  await row.getByRole("link", { name: "Runs of default" }).click();
  await page.waitForURL(/\/runs\?agent_id=default&since=/);
  await page.getByRole("list", { name: "Runs" }).getByRole("listitem").first().waitFor();
});

const pages = {
  queue: "/queue",
  dead: "/queue?view=dead",
  processed: "/queue?view=settled",
  letter: () => `/dead-letters/${dead.at(-1).dispatch_id}`,
  decisions: "/approvals?view=decided",
  cost: "/cost",
  latency: "/cost?metric=latency_p95_ms&by=model&range=day",
  runsOver: "/cost?metric=runs&by=agent&range=day&key=scenario",
  audit: "/audit",
  change: () => `/audit/${changed}`,
};

looks("pages of operators", pages, { few: ["light"] });

test("pages for administrators say which key they need, without a request that fails", async (t) => {
  const { page, context, bad } = await visit(browser, server.url + "/queue");
  t.after(() => context.close());
  await page.getByText("This page needs an admin key").waitFor();
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(bad, []);
});
