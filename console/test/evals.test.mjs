// Datasets and evaluations, as people use them: cases are written, imported and made of runs; evaluations are started, followed, compared and exported.
import assert from "node:assert/strict";
import { test } from "node:test";
import { phone, run, serve, settled, stage, violations, visit } from "./rig.mjs";

const { server, browser, call, open } = stage({});

const clean = async (page, what) => {
  await settled(page);
  assert.deepEqual(await violations(page), [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${what} is ${wide} px wider than the window`);
};

test("a dataset is made, its cases are written, and what is wrong stands at its field", async (t) => {
  const page = await open(t, "/datasets", { allow: [/400/] });
  await page.getByRole("heading", { name: "No datasets yet" }).waitFor();
  await clean(page, "no datasets");
  await page.getByRole("button", { name: "New dataset" }).click();
  await page.getByLabel("Dataset ID").fill("a b");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText(/id is "a b"; want/).waitFor();
  await page.getByLabel("Dataset ID").fill("orders");
  await page.getByLabel("Description").fill("What people ask about orders");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("link", { name: "New case" }).click();
  await page.getByLabel("Case ID").fill("late");
  await page.getByLabel("User message").fill("Where is my order?");
  await page.getByLabel("Answer contains").fill("order\nsorry");
  await page.getByRole("button", { name: "Add a scorer" }).click();
  await page.getByLabel("Kind").selectOption("regex");
  await page.getByLabel("Regular expression").fill("(");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("group", { name: "Scorer 1" }).getByText(/pattern is "\("; want a regular expression/).waitFor();
  await clean(page, "a case with a mistake");
  await page.reload(); // the edit is still there
  await page.getByText("Unsaved changes").waitFor();
  assert.equal(await page.getByLabel("User message").inputValue(), "Where is my order?");
  await page.getByLabel("Regular expression").fill("ord(er)?");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText('Case "late" saved, revision 2').waitFor();
  await page.waitForURL(/\/datasets\/orders\/cases\/late$/);
  const { spec } = await call("GET", "/v1/eval/datasets/orders");
  assert.deepEqual(spec.fixtures, [{ id: "late", user_input: "Where is my order?", expect: { final_answer_contains: ["order", "sorry"], scorers: [{ kind: "regex", pattern: "ord(er)?" }] } }]);
  assert.equal(spec.description, "What people ask about orders");
});

test("two people edit cases of one dataset, and both edits are there", async (t) => {
  const cases = [{ id: "a", user_input: "one", expect: {} }, { id: "b", user_input: "two", expect: {} }];
  await call("POST", "/v1/eval/datasets", { id: "shared", spec: { fixtures: cases } });
  const page = await open(t, "/datasets/shared/cases/a", { allow: [/409/] });
  await page.getByLabel("User message").fill("mine");
  await call("PUT", "/v1/eval/datasets/shared", { expected_revision: 1, spec: { fixtures: [cases[0], { ...cases[1], user_input: "theirs" }] } });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The dataset was changed in the meantime.").waitFor();
  assert.equal(await page.getByLabel("User message").inputValue(), "mine");
  await page.getByRole("main").getByText("revision 2").first().waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText('Case "a" saved, revision 3').waitFor();
  assert.deepEqual((await call("GET", "/v1/eval/datasets/shared")).spec.fixtures.map((c) => c.user_input), ["mine", "theirs"]);
  await page.getByRole("button", { name: "Remove the case" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove the case" }).click();
  await page.waitForURL(/\/datasets\/shared$/);
  await page.getByRole("button", { name: "Remove the dataset" }).click();
  await page.getByRole("button", { name: "Remove 1 case" }).click();
  await page.waitForURL(/\/datasets$/);
  assert.ok(!(await call("GET", "/v1/eval/datasets")).datasets.some((d) => d.id === "shared"));
});

test("cases are imported from runs and from files, and made of a run on its page", async (t) => {
  await call("POST", "/v1/eval/datasets", { id: "imported", spec: { fixtures: [] } });
  const first = await run(server.url, "scenario", "RUN_WEATHER_TOOL");
  const second = await run(server.url, "default", "and then?");
  const page = await open(t, "/datasets/imported");
  await page.getByRole("heading", { name: "No cases yet" }).waitFor();
  await page.getByRole("button", { name: "Import…" }).click();
  const dialog = page.getByRole("dialog");
  for (const r of [first, second]) await dialog.getByRole("listitem").filter({ hasText: `…${r.run_id.slice(-6)}` }).getByRole("checkbox").check();
  await clean(page, "the import of runs");
  await dialog.getByRole("button", { name: "Import 2 cases" }).click();
  await dialog.getByText("Imported 2 cases, 0 replaced").waitFor();
  await dialog.getByLabel("A file").check();
  const choose = async (name, text) => {
    const chooser = page.waitForEvent("filechooser");
    await dialog.getByRole("button", { name: "Choose a file…" }).click();
    await (await chooser).setFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
  };
  await choose("bad.json", '{"id":"x"');
  await dialog.getByText(/Cannot read bad\.json/).waitFor();
  await choose("more.ndjson", '{"id":"f1","user_input":"hello","expect":{}}\n{"id":"f2","user_input":"hi","expect":{}}\n');
  await dialog.getByText("more.ndjson: 2 cases").waitFor();
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await dialog.getByText("Imported 2 cases, 0 replaced").waitFor();
  await dialog.getByLabel("The latest runs").check();
  await dialog.getByLabel("Agent", { exact: true }).selectOption("scenario");
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await dialog.getByText(/skipped/).waitFor();
  const { fixtures } = (await call("GET", "/v1/eval/datasets/imported")).spec;
  assert.deepEqual(fixtures.slice(0, 4).map((f) => f.source_run_id ?? f.id), [first.run_id, second.run_id, "f1", "f2"]);
  assert.ok(fixtures[0].provider_script.length === 2 && fixtures[0].tool_results.length === 1, JSON.stringify(fixtures[0]));
  await dialog.getByRole("button", { name: "Close" }).click();
  await clean(page, "a dataset with cases");

  await page.goto(`${server.url}/runs/${second.run_id}`);
  await page.getByRole("button", { name: "Add to dataset…" }).click();
  await page.getByLabel("Dataset", { exact: true }).selectOption({ label: "New dataset…" });
  await page.getByLabel("Dataset ID").fill("made-of-runs");
  await page.getByLabel("Case ID").fill("then");
  await page.getByLabel("Answer contains").fill("and then?");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: "Open the case" }).click();
  await page.waitForURL(/\/datasets\/made-of-runs\/cases\/then$/);
  await page.getByRole("link", { name: `…${second.run_id.slice(-6)}` }).waitFor();
  assert.deepEqual((await call("GET", "/v1/eval/datasets/made-of-runs")).spec.fixtures[0].expect, { final_answer_contains: ["and then?"] });
});

test("an evaluation is started, its cells counted before, its results read by case, compared and exported", async (t) => {
  await call("POST", "/v1/config/models", { id: "second", provider_id: "default", upstream_model: "demo" });
  await call("POST", "/v1/eval/datasets", {
    id: "matrix",
    spec: { fixtures: [{ id: "good", user_input: "say yes", expect: { final_answer_contains: ["yes"] } }, { id: "bad", user_input: "say no", expect: { final_answer_contains: ["maybe"], scorers: [{ kind: "regex", name: "polite", pattern: "please" }] } }, { id: "prompted", user_input: "PROBE_SYSTEM", expect: { final_answer_excludes: ["nothing at all"] } }] },
  });
  const page = await open(t, "/datasets/matrix", { allow: [/400/] });
  await page.getByRole("button", { name: "Evaluate…" }).click();
  await page.waitForURL(/\/evals\/new\?dataset=matrix$/);
  await page.getByLabel("default", { exact: true }).check();
  await page.getByLabel("second", { exact: true }).check();
  await page.getByLabel("Agent", { exact: true }).selectOption("default");
  await page.getByLabel("Samples").fill("999");
  await page.getByText("3 cases × 2 models × 999 samples = 5,994 cells").waitFor();
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText(/samples is 999; want 1 to/).waitFor();
  assert.equal(await page.getByLabel("Samples").getAttribute("aria-invalid"), "true");
  await clean(page, "the form of an evaluation");
  await page.getByLabel("Samples").fill("2");
  await page.getByLabel("Tokens at most").fill("100000");
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/evals\/[0-9a-f-]+$/);
  await page.getByRole("status").filter({ hasText: "Done" }).waitFor();
  const summary = page.getByRole("region", { name: "Summary" });
  await summary.getByRole("row").filter({ hasText: "second" }).getByText("4/6").waitFor();
  const rows = page.getByRole("list", { name: "Cases" }).getByRole("listitem");
  assert.match(await rows.first().innerText(), /^bad/); // what failed is first
  await rows.first().getByRole("button", { name: /bad second: failed/ }).click();
  const cell = page.getByRole("complementary", { name: "Case bad" });
  await cell.getByText("The answer does not contain “maybe”.").first().waitFor();
  await cell.getByText(/polite: the answer is/).first().waitFor();
  await cell.getByText("say no", { exact: true }).first().waitFor();
  assert.match(new URL(page.url()).search, /cell=1/);
  await clean(page, "a result");
  const id = new URL(page.url()).pathname.split("/").at(-1);

  // Again, with this one as the baseline, which the run remembers: the same plan.
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => url.pathname.startsWith("/evals/") && !url.pathname.endsWith(id));
  await page.getByRole("status").filter({ hasText: "Done" }).waitFor();
  await page.getByText(/3 cases compared/).first().waitFor();
  await page.getByText(/chance \(p/).first().waitFor();
  await page.getByLabel(/^all/).check();
  assert.equal(await rows.count(), 3);
  await clean(page, "a comparison");
  for (const [kind, starts] of [["junit", "<?xml"], ["markdown", "**"], ["ndjson", '{"fixture_id"']]) {
    const file = page.waitForEvent("download");
    await page.getByLabel("Export…").selectOption(kind);
    const chunks = [];
    for await (const c of await (await file).createReadStream()) chunks.push(c);
    assert.ok(Buffer.concat(chunks).toString().startsWith(starts), kind);
  }

  // The list has both, and its filter is in the address.
  await page.goto(`${server.url}/evals?dataset=matrix`);
  await page.getByRole("list", { name: "Evals" }).getByRole("listitem").nth(1).waitFor();
  await clean(page, "evaluations");
});

test("an evaluation is followed while it runs, and cancelled", async (t) => {
  const fixtures = Array.from({ length: 400 }, (_, i) => ({ id: `slow-${i}`, user_input: `scenario:slow ${i}`, expect: {} })); // equal ones would be asked once
  await call("POST", "/v1/eval/datasets", { id: "slow", spec: { fixtures } });
  const { run: made } = await call("POST", "/v1/eval/runs", { dataset_id: "slow", models: ["default"], agent_id: "scenario", max_total_tokens: 1e9 }, { Prefer: "respond-async" });
  const page = await open(t, `/evals/${made.id}`);
  await page.getByRole("progressbar", { name: "Progress" }).waitFor();
  await page.getByText(/[1-9]\d* of 400 passed/).first().waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("status").filter({ hasText: "Cancelled" }).waitFor();
  await page.getByRole("button", { name: "Remove the evaluation" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: /^Remove \d+ result/ }).click();
  await page.waitForURL(/\/evals$/);
});

test("several models are asked the same, without a dataset", async (t) => {
  const page = await open(t, "/evals/online");
  await page.getByLabel("User message").fill("hello you");
  await page.getByLabel("Answer contains").fill("hello you");
  await page.getByLabel("default", { exact: true }).check();
  await page.getByRole("button", { name: "Ask 1 time" }).click();
  await page.getByRole("region", { name: "Answers" }).getByText(/hello you/).waitFor();
  await clean(page, "answers");
  await page.getByRole("link", { name: "Open the result" }).click();
  await page.getByRole("region", { name: "Summary" }).getByText("1/1").waitFor();
});

test("files of reports are compared as runs are", async (t) => {
  const page = await open(t, "/evals/reports");
  const line = (id, passed, text) => JSON.stringify({ fixture_id: id, passed, failures: passed ? [] : [{ kind: "answer_missing_phrase", phrase: "x" }], final_text: text, total_tokens: 1, session_duration_ms: 1 });
  const choose = async (button, text) => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: button }).click();
    await (await chooser).setFiles({ name: `${button}.ndjson`, mimeType: "application/x-ndjson", buffer: Buffer.from(text) });
  };
  await choose("Report…", `${line("a", false, "no")}\n${line("b", true, "yes")}\n`);
  await page.getByRole("list", { name: "Cases" }).getByText("The answer does not contain “x”.").waitFor();
  await choose("Baseline…", `${line("a", true, "x")}\n${line("b", false, "?")}\n`);
  await page.getByText("regressed", { exact: true }).last().waitFor();
  assert.equal(await page.getByLabel(/^regressed/).count(), 1);
  await clean(page, "reports");
});

test("pages of evaluations on a phone, in the dark and in Chinese; for keys that may not, and on servers without", async (t) => {
  await call("POST", "/v1/eval/datasets", { id: "looks", spec: { fixtures: [{ id: "one", user_input: "hello", provider_script: [{ kind: "chat_response", content: "Hello!" }], expect: { final_answer_contains: ["Hello"] } }] } });
  const { run: made } = await call("POST", "/v1/eval/runs", { dataset_id: "looks" });
  const paths = ["/datasets", "/datasets/looks", "/datasets/looks/cases/one", "/evals", "/evals/new?dataset=looks", `/evals/${made.id}?cell=0:one`, "/evals/online", "/evals/reports"];
  for (const options of [phone, { theme: "dark" }, { locale: "zh-CN" }]) {
    const page = await open(t, "/datasets", options);
    for (const path of paths) {
      await page.goto(server.url + path);
      await page.locator("h1, h2").first().waitFor();
      await clean(page, `${path} ${JSON.stringify(options)}`);
    }
  }
  const reader = await open(t, "/datasets", { key: (await call("POST", "/v1/keys", { kind: "read" })).secret });
  for (const path of paths.slice(0, -1)) {
    await reader.goto(server.url + path);
    await reader.getByText("This page needs an admin key").waitFor();
  }
  const page = await open(t, "/datasets/none", { allow: [/404/] });
  await page.getByText("This does not exist").waitFor();
  await page.goto(`${server.url}/evals/none`);
  await page.getByText("This does not exist").waitFor();
  const without = await serve({ env: { AWAKEN_ADMIN_EXPOSE_EVAL_ROUTES: "false" } });
  t.after(() => without.stop());
  const other = await visit(browser, without.url + "/datasets", { key: without.key });
  t.after(() => other.context.close());
  for (const path of paths.slice(0, -1)) {
    await other.page.goto(without.url + path);
    await other.page.getByText("admin.expose_eval_routes").waitFor();
  }
  assert.deepEqual(other.bad, []);
});
