// The loop: a bad answer is found, tried otherwise, kept as a case, and the agent is not published before it is better. And the pages of traces, where it begins.
import assert from "node:assert/strict";
import { test } from "node:test";
import { phone, run, serve, settled, stage, violations, visit } from "./rig.mjs";

const { server, browser, call, open } = stage({ env: { AWAKEN_EXPOSE_TRACE_ROUTES: "true" } });

const clean = async (page, what) => {
  await settled(page);
  assert.deepEqual(await violations(page), [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${what} is ${wide} px wider than the window`);
};

test("a bad answer is found in traces, forked and fixed, kept as a case, evaluated before and after the edit, let through by the gate, and the audit shows it", async (t) => {
  const clerk = { id: "clerk", model_id: "default", system_prompt: "Be brief." };
  await call("POST", "/v1/config/agents", clerk);
  const bad = await run(server.url, "clerk", "scenario:text");
  const page = await open(t, "/traces", { allow: [/409/] });

  // Found: what the model said is in the trace.
  await page.getByRole("search").getByLabel("Agent").selectOption("clerk");
  await page.getByRole("list", { name: "Traces" }).getByRole("link", { name: `…${bad.run_id.slice(-6)}` }).click();
  await page.getByRole("list", { name: "What the run did" }).getByText("Scripted response to: scenario:text").waitFor();
  await clean(page, "a trace");

  // Forked: with another prompt the answer is right.
  await page.getByRole("link", { name: "Timeline" }).click();
  await page.getByRole("treegrid", { name: "Timeline" }).getByRole("link").first().click();
  await page.getByRole("button", { name: "Fork from this step…" }).click();
  await page.getByText("Be brief.").waitFor();
  await page.getByLabel("System prompt").fill("You are the scenario agent.");
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByText("This is a short text that arrives in a few pieces.").waitFor();

  // Kept: the run becomes a case of a new dataset.
  await page.getByRole("link", { name: /^Forked from run/ }).click();
  await page.getByRole("button", { name: "Add to dataset…" }).click();
  await page.getByLabel("Dataset", { exact: true }).selectOption({ label: "New dataset…" });
  await page.getByLabel("Dataset ID").fill("clerk-cases");
  await page.getByLabel("Case ID").fill("pieces");
  await page.getByLabel("Answer contains").fill("few pieces");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: "Open the case" }).click();

  // Evaluated before the edit: it fails.
  await page.getByRole("button", { name: "Evaluate…" }).click();
  await page.getByLabel("Live models").check();
  await page.getByLabel("Agent", { exact: true }).selectOption("clerk");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("status").filter({ hasText: "Done" }).waitFor();
  await page.getByRole("list", { name: "Cases" }).getByText("The answer does not contain “few pieces”.").waitFor();

  // From now on, clerk is published only with evidence. Without, the edit is refused, and says why.
  await call("PUT", "/v1/config/agents/clerk", { ...clerk, sections: { eval_gate: { require: [{ dataset: "clerk-cases" }] } } });
  await page.goto(`${server.url}/agents/clerk/basics`);
  await page.getByLabel("System prompt", { exact: true }).fill("You are the scenario agent.");
  await page.getByText("no problems").waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Publish now" }).click();
  const refused = page.getByRole("region", { name: "A gate blocks this" });
  await refused.getByText(/clerk-cases/).first().waitFor();
  await clean(page, "a refusal");
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Save draft" }).click();
  await page.getByText(/draft saved/).waitFor();
  assert.equal((await call("GET", "/v1/config/agents/clerk?state=live")).system_prompt, "Be brief.");

  // Evaluated after the edit, from the gate on the page of versions: it passes.
  await page.goto(`${server.url}/versions`);
  const gates = page.getByRole("region", { name: "Gates" });
  await gates.getByText("lacks evidence").waitFor();
  await clean(page, "closed gates");
  await gates.getByRole("link", { name: "Evaluate it…" }).click();
  await page.waitForURL(/version=draft/);
  assert.equal(await page.getByLabel("Version").inputValue(), "draft");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("status").filter({ hasText: "Done" }).waitFor();
  await page.getByRole("region", { name: "Summary" }).getByText("1/1").waitFor();
  const evidence = new URL(page.url()).pathname.split("/").at(-1);

  // Let through.
  await page.goto(`${server.url}/versions`);
  await gates.getByText("all open").waitFor();
  await gates.getByRole("link", { name: "Open the evaluation" }).waitFor();
  await page.getByRole("button", { name: "Publish 1 draft" }).click();
  await page.getByRole("button", { name: "Publish now" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" }); // while it is open, everything below it is hidden
  await page.getByRole("region", { name: "Drafts", exact: true }).waitFor({ state: "hidden" });
  const good = await run(server.url, "clerk", "scenario:text");
  assert.match(JSON.stringify(await call("GET", `/v1/threads/${good.thread_id}/messages`)), /few pieces/);

  // The audit has the evidence.
  const { items } = await call("GET", "/v1/audit-log?action=gate_passed&resource=agents/clerk");
  assert.equal(items[0].after.checks[0].eval_run_id, evidence);
  await page.goto(`${server.url}/audit/${items[0].id}`);
  await page.getByText(evidence).first().waitFor();
  await clean(page, "the audit");
});

test("a gate is overridden with a reason, and shown on the page of a canary", async (t) => {
  const agent = { id: "gated", model_id: "default", system_prompt: "One.", sections: { eval_gate: { require: [{ dataset: "strict", min_pass_rate: 0.9 }] } } };
  await call("POST", "/v1/eval/datasets", { id: "strict", spec: { fixtures: [{ id: "a", user_input: "hello", expect: { final_answer_contains: ["never"] } }] } });
  await call("POST", "/v1/config/agents", { ...agent, sections: undefined });
  await call("PUT", "/v1/config/agents/gated", agent);
  await call("PUT", "/v1/config/agents/gated?publish=false", { ...agent, system_prompt: "Two." });
  await call("POST", "/v1/registry/publish", { records: [{ namespace: "agents", id: "gated" }], canary: { share: 0.5 } }, { "X-Awaken-Gate-Override": "to look at it" });
  const page = await open(t, "/versions", { allow: [/409/] });
  const canary = page.getByRole("region", { name: "Canary" });
  await canary.getByRole("region", { name: "Gates" }).getByText("lacks evidence").waitFor();
  await clean(page, "a canary with a gate");
  await canary.getByRole("button", { name: "Promote" }).click();
  const refused = page.getByRole("region", { name: "A gate blocks this" });
  await refused.waitFor();
  assert.equal(await refused.getByRole("button", { name: "Override the gate" }).getAttribute("aria-disabled"), "true");
  await refused.getByLabel("Reason for publishing anyway").fill("the café’s orders wait");
  await refused.getByRole("button", { name: "Override the gate" }).click();
  await canary.waitFor({ state: "hidden" });
  const { items } = await call("GET", "/v1/audit-log?action=gate_overridden&resource=agents/gated&limit=1");
  assert.equal(items[0].after.override, "the café’s orders wait");
});

test("pages of traces: filters in the address, every look, keys that may not, servers without", async (t) => {
  const asked = await run(server.url, "scenario", "scenario:approval");
  await call("POST", `/v1/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`, { action: "resume", reason: "it is old" });
  const page = await open(t, "/traces?agent_id=scenario&tool=delete_file", { allow: [/404/] });
  await page.getByRole("list", { name: "Traces" }).getByRole("listitem").first().waitFor();
  await page.goto(`${server.url}/traces?agent_id=nothing`);
  await page.getByText("Nothing matches").or(page.getByRole("button", { name: "Clear" })).first().waitFor();
  await page.goto(`${server.url}/traces/${asked.run_id}`);
  await page.getByRole("list", { name: "What the run did" }).getByRole("link", { name: "delete_file" }).first().click();
  const detail = page.getByRole("complementary", { name: "Detail" });
  await detail.getByText("it is old").or(detail.getByText("/tmp/x")).first().waitFor();
  const file = page.waitForEvent("download");
  await page.getByRole("button", { name: "JSONL" }).click();
  assert.match((await file).suggestedFilename(), /\.jsonl$/);
  await page.goto(`${server.url}/traces/none`);
  await page.getByText("This does not exist").waitFor();
  for (const options of [{}, phone, { theme: "dark" }, { locale: "zh-CN" }]) {
    const looked = await open(t, "/traces", options);
    for (const path of ["/traces", `/traces/${asked.run_id}?at=1`]) {
      await looked.goto(server.url + path);
      await looked.locator("h1, h2").first().waitFor();
      await clean(looked, `${path} ${JSON.stringify(options)}`);
    }
  }
  const reader = await open(t, "/traces", { key: (await call("POST", "/v1/keys", { kind: "read" })).secret });
  await reader.getByText("This page needs an admin key").waitFor();
  const without = await serve({ env: { AWAKEN_EXPOSE_TRACE_ROUTES: "false" } });
  t.after(() => without.stop());
  const other = await visit(browser, without.url + "/traces", { key: without.key });
  t.after(() => other.context.close());
  for (const path of ["/traces", "/traces/x"]) {
    await other.page.goto(without.url + path);
    await other.page.getByText("admin.expose_trace_routes").waitFor();
  }
  assert.deepEqual(other.bad, []);
});
