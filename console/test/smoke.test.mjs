// The short part of the suite: each thing that people do with the console, once, in one browser with one real server.
// The other files try all of it in depth: npm run test:long.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { startMcp } from "./mcp.mjs";
import { client, kept, launch, run, serve, settled, shot, sleep, violations, visit } from "./rig.mjs";

let server, browser, asked, done, evaluated;
const heard = []; // what each page wrote to the browser's console

const call = (...args) => client(server.url, server.key)(...args);

before(async () => {
  [server, browser] = await Promise.all([serve({ env: { AWAKEN_OUTBOUND_ALLOW: "127.0.0.0/8", AWAKEN_WORKSPACE_DIR: "files", AWAKEN_EXPOSE_TRACE_ROUTES: "true", AWAKEN_TRACE_BODIES: "all" }, log: "debug" }), launch()]);
  await call("POST", "/v1/config/agents", { id: "poet", model_id: "default", system_prompt: "Answer in verse.", excluded_tools: ["no_such_tool"] });
  done = await run(server.url, "default", "Where should I go?");
  asked = await run(server.url, "scenario", "scenario:approval");
  await call("POST", "/v1/schedules", { id: "smoke", cron: "0 9 * * mon-fri", run: { agent_id: "default", messages: [{ role: "user", content: "hello" }] } });
  await call("POST", "/v1/eval/datasets", { id: "smoke", spec: { fixtures: [{ id: "hi", user_input: "hello", provider_script: [{ kind: "chat_response", content: "Hello!" }], expect: { final_answer_contains: ["Bye"] } }] } });
  evaluated = await call("POST", "/v1/eval/runs", { dataset_id: "smoke" });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** open shows a page for a test that fails if the page had an error, a request that failed or something that the policy refused. */
async function open(t, path, options = {}) {
  const v = await visit(browser, server.url + path, { key: server.key, ...options });
  v.page.on("console", (m) => heard.push(m.text()));
  t.after(async () => {
    await v.context.close();
    assert.deepEqual(v.bad, []);
  });
  return v.page;
}

/** late lets the requests of a page for an address arrive at the server when its session has just ended, before the page knows. */
async function late(page, address) {
  const ended = [];
  let over;
  const signedOut = new Promise((resolve) => (over = resolve));
  await page.route(address, async (route) => {
    ended.push(route.request().response());
    await signedOut;
    await route.continue().catch(() => {}); // the page has given it up
  });
  await page.route("**/v1/session", async (route) => {
    if (route.request().method() !== "DELETE") return route.continue();
    const response = await route.fetch();
    over();
    await Promise.all(ended);
    await route.fulfill({ response });
  });
}

test("the console opens at /, and a key signs in and out", async (t) => {
  const page = await open(t, "/", { key: undefined });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const painted = Math.round(await page.evaluate(() => new Promise((resolve) => new PerformanceObserver((list) => list.getEntriesByName("first-contentful-paint").forEach((e) => resolve(e.startTime))).observe({ type: "paint", buffered: true }))));
  t.diagnostic(`first paint after ${painted} ms`);
  if (process.env.AWAKEN_QUIET === "1") assert.ok(painted < 1000, `first paint after ${painted} ms`);
  await page.getByRole("link", { name: "Sign in" }).click();
  await late(page, "**/v1/tenants");
  await page.getByLabel("Key", { exact: true }).fill(server.key);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  assert.ok(!(await kept(page)).includes(server.key), "the page keeps the key");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in" }).waitFor();
});

test("a run is followed live, from its question to its end", async (t) => {
  const page = await open(t, "/threads/-/new");
  await page.getByRole("combobox", { name: "Agent" }).selectOption("scenario");
  await page.getByRole("textbox", { name: "Message" }).fill("scenario:slow");
  await page.keyboard.press("Control+Enter");
  await page.getByText(/tick0/).first().waitFor();
  const { items } = await call("GET", "/v1/runs?agent_id=scenario&limit=1");
  await page.goto(`${server.url}/runs/${items[0].run_id}`);
  await page.getByRole("main").getByText("Done", { exact: true }).waitFor();
  await page.getByRole("treegrid", { name: "Timeline" }).getByRole("link").first().waitFor();
});

test("a call is approved with edited arguments, by keyboard, and the run continues", async (t) => {
  const one = await run(server.url, "scenario", "scenario:approval");
  const page = await open(t, `/approvals/${one.run_id}/${one.waiting.ticket_ids[0]}`);
  await page.getByLabel("path").fill("/tmp/y");
  await page.getByRole("button", { name: "Approve as edited" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Approved. The run continues.").waitFor();
  const { items } = await call("GET", `/v1/decisions?run_id=${one.run_id}`);
  assert.deepEqual([items[0].action, items[0].arguments], ["resume", { path: "/tmp/y" }]);
});

test("a prompt is edited, and published, the warnings about it are shown, and the next run has it", async (t) => {
  const page = await open(t, "/agents/poet/basics");
  const warnings = page.getByRole("region", { name: "Warnings" });
  await warnings.getByText('excluded_tools has "no_such_tool", which is not a registered tool').waitFor();
  await page.getByLabel("System prompt", { exact: true }).fill("Answer in haiku.");
  await page.getByRole("status").getByText("1 warning").waitFor();
  await warnings.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Publish now" }).click();
  await page.getByText('Agent "poet" saved').waitFor();
  await warnings.getByText('excluded_tools has "no_such_tool"').waitFor();
  await settled(page);
  await shot(page, "warnings");
  assert.deepEqual(await violations(page), []);
  assert.equal((await call("GET", "/v1/config/agents/poet?state=live")).system_prompt, "Answer in haiku.");
  const made = await run(server.url, "poet", "hello");
  assert.match(JSON.stringify(await call("GET", `/v1/runs/${made.run_id}/steps/0/request`)), /Answer in haiku\./);
});

/** eventually waits until the server says something. */
async function eventually(what, path, holds) {
  for (let i = 0; i < 1200; i++) {
    if (holds(await call("GET", path))) return;
    await sleep(50);
  }
  assert.fail(`waited in vain for ${what}`);
}

test("a call in doubt is settled after its run has ended, and what its server promises and adds is shown", async (t) => {
  const mail = await startMcp();
  t.after(() => mail.close());
  const tool = (name, more) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" }, ...more });
  mail.state.tools = [tool("send-letter"), tool("look", { annotations: { readOnlyHint: true } })];
  mail.state.cuts.add("send-letter");
  await call("POST", "/v1/config/mcp-servers", { id: "mail", transport: "http", url: mail.url });
  await eventually("the tools", "/v1/mcp-servers/mail/status", (s) => s.tools.length === 2);
  const sent = await run(server.url, "scenario", "RUN_TOOL mcp__mail__send_letter {}");
  const at = `/v1/runs/${sent.run_id}/timeline`;
  const [doubtful] = (await call("GET", at)).calls;
  assert.deepEqual([doubtful.outcome, (await call("GET", `/v1/runs/${sent.run_id}`)).status], ["in_doubt", "done"]);
  const address = `/runs/${sent.run_id}/calls/${doubtful.call_id}`;
  const reader = await call("POST", "/v1/keys", { kind: "read", label: "reader" });
  const settlement = (page) => page.getByRole("region", { name: "It is not known whether this call took effect" });

  const only = await open(t, address, { key: reader.secret });
  await settlement(only).waitFor();
  assert.equal(await settlement(only).getByRole("button").count(), 0, "who may only read can settle");

  const late = await open(t, `/threads/${sent.thread_id}`, { allow: [/409/, /ERR_FAILED/] });
  await late.getByRole("group").getByText("In doubt").click();
  await settlement(late).waitFor();
  await settled(late);
  await shot(late, "settle-thread");
  assert.deepEqual(await violations(late), []);
  await late.route(/\/v1\/runs\?|\/timeline/, (r) => r.abort()); // what it shows stays as it is

  const page = await open(t, address, { allow: [/502/, /400/] }); // its MCP server goes away, and a form is not complete
  await settlement(page).getByLabel("Its result").fill('{"receipt":7}');
  assert.equal(await settlement(page).getByRole("button", { name: "It was not made" }).getAttribute("aria-disabled"), "true");
  await settlement(page).getByLabel("How you found out").fill("The letter is in the archive.");
  await settled(page);
  await shot(page, "settle-run");
  assert.deepEqual(await violations(page), []);
  await settlement(page).getByRole("button", { name: "It was made" }).click();
  const done = page.getByRole("region", { name: "Settled: made" });
  await done.getByText(/^Settled by .+, /).waitFor();
  await done.getByText("The letter is in the archive.").waitFor();
  const { outcome, doubt } = (await call("GET", at)).calls[0];
  assert.deepEqual([outcome, doubt.settled.by, doubt.settled.result], ["made", "person", { receipt: 7 }]);

  await settlement(late).getByRole("button", { name: "It was not made" }).click();
  await late.getByRole("alert").getByText(/^Not accepted: .+ already settled it as made, /).waitFor();
  await shot(late, "settle-refused");
  await late.unroute(/\/v1\/runs\?|\/timeline/);
  await late.reload();
  await late.getByRole("group").getByText("Settled: made").first().click();
  await late.getByText(/^Settled by .+, /).waitFor();

  await page.goto(`${server.url}/mcp-servers/mail`);
  const connection = page.getByRole("region", { name: "Connection" });
  const row = (name) => connection.getByRole("row", { name });
  await row("look").getByText("Only reads").waitFor();
  assert.match(await row("look").innerText(), /mcp__mail__look[^]*Has an effect[^]*Only reads[^]*hints are not trusted[^]*offered to agents/);
  mail.state.tools.push(tool("burn"));
  await connection.getByRole("button", { name: "Connect again" }).click();
  await connection.getByText("1 tool was added since approval.").waitFor();
  await row("burn").getByText("added, waits for approval").waitFor();
  await settled(page);
  await shot(page, "mcp-tools");
  assert.deepEqual(await violations(page), []);
  mail.close();
  await connection.getByRole("button", { name: "Connect again" }).click();
  await connection.getByText(/next attempt in \d+s|trying now/).waitFor();
  await shot(page, "mcp-next");

  await page.goto(`${server.url}/mcp-servers/-/new`);
  await page.getByText("Authorization", { exact: true }).click();
  await page.getByLabel("Client secret", { exact: true }).fill("not-for-anyone");
  const why = page.getByText("the MCP server could choose who receives it");
  await why.waitFor();
  await settled(page);
  await shot(page, "mcp-issuer");
  assert.deepEqual(await violations(page), []);
  await page.getByLabel("Issuer", { exact: true }).fill("https://login.example");
  await why.waitFor({ state: "hidden" });
});

test("the pause that a provider asked for is shown, and forgotten after a question", async (t) => {
  const busy = createServer((_, res) => res.writeHead(429, { "Content-Type": "application/json", "Retry-After": "3600" }).end('{"error":{"message":"slow down"}}'));
  await new Promise((resolve) => busy.listen(0, "127.0.0.1", resolve));
  t.after(() => busy.close());
  await call("POST", "/v1/config/providers", { id: "busy", adapter: "openai", base_url: `http://127.0.0.1:${busy.address().port}`, api_key: "k" });
  await call("POST", "/v1/config/models", { id: "busy", provider_id: "busy", upstream_model: "large" });
  await call("POST", "/v1/config/agents", { id: "busy", model_id: "busy", system_prompt: "" });
  const { id } = await call("POST", "/v1/threads", {});
  await call("POST", `/v1/threads/${id}/messages`, { agent_id: "busy", messages: [{ role: "user", content: "hello" }] });
  const limits = "/v1/providers/limits";
  await eventually("the pause", limits, (l) => l.items.some((i) => i.provider_id === "busy" && i.paused_ms > 0));
  const page = await open(t, "/providers/busy");
  const panel = page.getByRole("region", { name: "Active limits" });
  await panel.getByText(/^Paused by the provider for/).waitFor();
  await settled(page);
  await shot(page, "limits");
  assert.deepEqual(await violations(page), []);
  await panel.getByRole("button", { name: "Forget learned limits of large" }).click();
  const ask = page.getByRole("alertdialog", { name: "Forget the learned limits of large?" });
  await ask.waitFor();
  assert.deepEqual(await violations(page), []);
  await ask.getByRole("button", { name: "Forget" }).click();
  await panel.getByText("Learned limits of large cleared.").waitFor();
});

const pages = {
  overview: () => "/",
  approvals: () => `/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`,
  runs: () => "/runs",
  run: () => `/runs/${asked.run_id}/calls/${asked.waiting.tickets[0].tool_call_id}`,
  threads: () => "/threads",
  thread: () => `/threads/${done.thread_id}`,
  agents: () => "/agents",
  agent: () => "/agents/permission/permissions",
  versions: () => "/versions",
  fork: () => `/runs/${done.run_id}/fork`,
  dataset: () => "/datasets/smoke/cases/hi",
  eval: () => `/evals/${evaluated.run.id}?cell=0:hi`,
  queue: () => "/queue",
  cost: () => "/cost",
  traces: () => "/traces",
  trace: () => `/traces/${done.run_id}?at=0`,
  live: () => "/evals/live",
  audit: () => "/audit",
  providers: () => "/providers",
  keys: () => "/keys",
  schedules: () => "/schedules",
  schedule: () => "/schedules/smoke",
  newSchedule: () => "/schedules/-/new",
  webhooks: () => "/webhooks",
  triggers: () => "/triggers",
};

test("axe finds nothing on the main pages, and the policy refuses nothing", async (t) => {
  const page = await open(t, "/");
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(server.url + path());
    await page.locator("h1, h2").first().waitFor();
    await settled(page);
    assert.deepEqual(await violations(page), [], name);
  }
});

test("the same on a phone, in the dark, in Chinese", async (t) => {
  const page = await open(t, pages.approvals(), { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, theme: "dark", locale: "zh-CN" });
  for (const name of ["approvals", "overview", "run", "trace"]) {
    await page.goto(server.url + pages[name]());
    await page.locator("h1, h2").first().waitFor();
    await settled(page);
    assert.deepEqual(await violations(page), [], name);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px wider than the window`);
  }
});

test("a planted secret is in no page, storage, response or log", async (t) => {
  const secret = "planted-api-key-7d1f0c9a55";
  await call("POST", "/v1/config/providers", { id: "secret-provider", adapter: "openai", base_url: "http://127.0.0.1:9", api_key: secret });
  const { items } = await call("GET", "/v1/audit-log?resource=providers/secret-provider");
  const page = await open(t, "/providers/secret-provider");
  const bodies = [];
  page.on("response", (r) => /\/v1\//.test(r.url()) && !/stream/.test(r.url()) && bodies.push(r.text().catch(() => "")));
  for (const path of ["/providers/secret-provider", `/audit/${items[0].id}`]) {
    await page.goto(server.url + path);
    await page.locator("h1, h2").first().waitFor();
    await settled(page);
    assert.ok(!(await kept(page)).includes(secret), `${path} has the secret`);
  }
  for (const text of [...(await Promise.all(bodies)), ...heard, server.log()]) assert.ok(!text.includes(secret), `the secret is in ${text.slice(0, 200)}`);
  assert.ok(server.log().length > 0, "the server logged nothing");
});

test("every field that forms show has its title and its hint in Chinese, and no text is of a field that is gone", async () => {
  const read = (name) => JSON.parse(readFileSync(new URL(`../src/i18n/${name}.json`, import.meta.url)));
  const words = read("zh-CN");
  const texts = read("fields.zh-CN");
  const gone = new Set(Object.keys(texts));
  const missing = [];
  const need = (path, title, hint) => {
    gone.delete(path);
    if (!title) missing.push(`${path}: title`);
    if (!hint) missing.push(`${path}: hint`);
  };
  const walk = (root, schema, top) => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (field.readOnly) continue;
      const path = `${root}/${name}`;
      need(path, texts[path]?.title ?? words[`field.${name}`], texts[path]?.hint ?? (top ? words[`hint.${name}`] : undefined) ?? !field.description);
      walk(path, field, false);
    }
  };
  for (const ns of ["agents", "providers", "models", "model-pools", "mcp-servers", "a2a-servers", "skills"]) walk(ns, await call("GET", `/v1/config/${ns}/$schema`), true);
  for (const section of (await call("GET", "/v1/capabilities")).plugins.flatMap((p) => p.config_schemas)) {
    const path = `sections/${section.key}`;
    need(path, texts[path]?.title, texts[path]?.hint);
    walk(path, section.schema, false);
  }
  assert.deepEqual(missing, [], "write them in src/i18n/fields.zh-CN.json");
  assert.deepEqual([...gone], [], "no field has these texts");
});

test("a form speaks Chinese", async (t) => {
  const page = await open(t, "/agents/poet/advanced", { locale: "zh-CN" });
  await page.getByText("自动摘要阈值").or(page.getByText("将要超出限额的运行会停下等待")).first().waitFor({ state: "attached" });
  await settled(page);
  const main = await page.getByRole("main").innerText();
  assert.doesNotMatch(main, /\b(limit for|means|the number of)\b/);
});
