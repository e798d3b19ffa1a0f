// What people do with the configuration, in a browser, with a real server.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { run, serve, settled, shot, stage, violations, visit } from "./rig.mjs";

const { server, browser, call, open, looks } = stage({ env: { AWAKEN_OUTBOUND_ALLOW: "127.0.0.0/8" } }, {
  async prepare() {
    await make("agents", { id: "poet", model_id: "default", system_prompt: "Answer in verse.", plugin_ids: ["demo"] });
    await make("mcp-servers", { id: "docs", transport: "stdio", command: "/bin/false" });
    await run(server.url, "permission", 'RUN_TOOL append_note {"text":"buy milk"}');
  },
});

const make = (namespace, doc) => call("POST", `/v1/config/${namespace}`, doc);

const pages = {
  agents: "/agents",
  agentsNone: "/agents?q=nothing-like-this",
  agent: "/agents/permission/basics",
  agentTools: "/agents/default/tools",
  agentPlugins: "/agents/permission/plugins",
  agentAdvanced: "/agents/default/advanced",
  agentPermissions: "/agents/permission/permissions",
  agentHistory: "/agents/poet/history",
  agentNew: "/agents/-/new/basics",
  versions: "/versions",
  version: "/versions/2",
  versionNone: "/versions/9999",
  providers: "/providers",
  provider: "/providers/default",
  providerNew: "/providers/-/new",
  models: "/models",
  model: "/models/default",
  pools: "/pools",
  pool: "/pools/-/new",
  mcpServers: "/mcp-servers",
  mcpServer: "/mcp-servers/docs",
  mcpNew: "/mcp-servers/-/new",
  skills: "/skills",
  skill: "/skills/greeting",
  keys: "/keys",
};

looks("pages of the configuration", pages, { few: ["light"], allow: (name) => (name.endsWith("None") ? [/404/] : []) });

test("T-3: a prompt is changed, tried, compared and published, and the next run has it", async (t) => {
  const page = await open(t, "/agents");
  await page.getByRole("link", { name: "poet", exact: true }).click();
  await page.getByLabel("System prompt", { exact: true }).fill("Answer in haiku.");
  await page.getByText("Unsaved changes").waitFor();
  const sandbox = page.getByRole("complementary", { name: "Sandbox" });
  await sandbox.getByPlaceholder("Type a message…").fill("hello sandbox");
  await sandbox.getByRole("button", { name: "Send" }).click();
  await sandbox.getByText("Scripted response to: hello sandbox").waitFor();
  await page.getByRole("button", { name: "1 difference" }).click();
  await page.getByRole("dialog").getByText("Answer in verse.").first().waitFor();
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Save draft" }).click();
  await page.getByText('Agent "poet": draft saved').waitFor();
  assert.equal((await call("GET", "/v1/config/agents/poet?state=live")).system_prompt, "Answer in verse.", "a draft is live");
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("dialog").getByLabel("Note").fill("haiku");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Publish now" }).click();
  await page.getByText('Agent "poet" saved').waitFor();
  assert.equal((await call("GET", "/v1/config/agents/poet?state=live")).system_prompt, "Answer in haiku.");
  const { live, items } = await call("GET", "/v1/registry/versions");
  assert.equal(items[0].note, "haiku");
  const made = await run(server.url, "poet", "hello");
  assert.equal((await call("GET", `/v1/runs/${made.run_id}`)).registry_version ?? live, live);
});

test("problems stand at their fields, and what has them cannot be saved", async (t) => {
  const page = await open(t, "/agents/poet/basics", { allow: [/400/] });
  await page.getByLabel("Max rounds", { exact: true }).fill("-3");
  await page.getByText("max_rounds is -3, want 0 or more").waitFor();
  assert.equal(await page.getByLabel("Max rounds", { exact: true }).getAttribute("aria-invalid"), "true");
  assert.equal(await page.getByRole("button", { name: "Save draft" }).getAttribute("aria-disabled"), "true");
  assert.deepEqual(await violations(page), []);
  await page.getByLabel("Max rounds", { exact: true }).fill("4");
  await page.getByText("no problems").waitFor();
});

test("the JSON and the form are one document", async (t) => {
  const page = await open(t, "/agents/poet/advanced");
  const editor = page.getByRole("textbox", { name: "Raw JSON" });
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"id":"poet","model_id":"default","system_prompt":"From JSON.","max_rounds":5}');
  await page.getByRole("tab", { name: "Basics" }).click();
  assert.equal(await page.getByLabel("System prompt", { exact: true }).inputValue(), "From JSON.");
  assert.equal(await page.getByLabel("Max rounds", { exact: true }).inputValue(), "5");
  await page.getByLabel("Max rounds", { exact: true }).fill("6");
  await page.getByRole("tab", { name: "Advanced" }).click();
  await page.getByRole("textbox", { name: "Raw JSON" }).getByText("6", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Discard changes" }).click();
});

test("an edit is not lost: leaving asks, and a reload brings it back", async (t) => {
  const page = await open(t, "/agents/poet/basics");
  await page.getByLabel("Description", { exact: true }).fill("a draft in my head");
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const ask = page.getByRole("dialog", { name: "Discard unsaved changes" });
  await ask.waitFor();
  assert.deepEqual(await violations(page), []);
  await ask.getByRole("button", { name: "Keep editing" }).click();
  await ask.waitFor({ state: "hidden" });
  page.on("dialog", (d) => void d.accept());
  await page.reload();
  await page.getByText(/Restored from/).waitFor();
  assert.equal(await page.getByLabel("Description", { exact: true }).inputValue(), "a draft in my head");
  await page.getByRole("button", { name: "Discard changes" }).first().click();
  await page.getByText(/Restored from/).waitFor({ state: "hidden" });
});

test("two who edit one agent lose nothing", async (t) => {
  await make("agents", { id: "shared", model_id: "default", system_prompt: "one", description: "first" });
  const page = await open(t, "/agents/shared/basics");
  await page.getByLabel("System prompt", { exact: true }).fill("mine");
  await call("PUT", "/v1/config/agents/shared", { id: "shared", model_id: "default", system_prompt: "theirs", description: "second" });
  const conflict = page.getByRole("region", { name: "Changed elsewhere while you were editing" });
  await conflict.waitFor();
  assert.equal(await page.getByLabel("System prompt", { exact: true }).inputValue(), "mine", "a refetch changed the edit");
  await conflict.getByText("theirs", { exact: true }).waitFor();
  assert.deepEqual(await violations(page), []);
  await conflict.getByRole("button", { name: "Continue with both" }).click();
  await conflict.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Publish now" }).click();
  await page.getByText('Agent "shared" saved').waitFor();
  const saved = await call("GET", "/v1/config/agents/shared?state=live");
  assert.equal(saved.system_prompt, "mine");
  assert.equal(saved.description, "second");
});

test("rules are tried on the latest calls while they are written", async (t) => {
  const page = await open(t, "/agents/permission/permissions");
  const trial = page.getByRole("region", { name: "What these rules would have done" });
  await trial.getByRole("link", { name: "append_note" }).first().waitFor();
  await page.getByRole("button", { name: "Add a rule" }).click();
  await page.getByLabel(/Pattern of rule/).last().fill("append_*");
  await page.getByLabel(/What rule .* does/).last().selectOption("deny");
  await trial.getByText("append_* → deny").first().waitFor();
  await page.getByRole("button", { name: "Discard changes" }).first().click();
});

test("a provider is connected: its key is stored, tested, and never shown again", async (t) => {
  const page = await open(t, "/providers/-/new", { allow: [/400/] });
  await page.getByLabel("Provider ID").fill("mine");
  await page.getByLabel("Adapter", { exact: true }).selectOption("openai");
  await page.getByLabel("API key", { exact: true }).fill("sk-planted-secret");
  await page.getByLabel("Base URL", { exact: true }).fill("http://127.0.0.1:9");
  await page.getByText("no problems").waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Publish now" }).click();
  await page.waitForURL(/\/providers\/mine$/);
  await page.getByText("Stored", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Test the connection" }).click();
  await page.getByRole("region", { name: "Connection" }).locator(".text-fail").waitFor();
  await settled(page);
  assert.deepEqual(await violations(page), []);
  const kept = await page.evaluate(() => JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML + [...document.querySelectorAll("input")].map((i) => i.value).join());
  assert.ok(!kept.includes("sk-planted-secret"), "the page keeps the secret");
  await page.getByRole("button", { name: "Remove", exact: true }).first().waitFor();
});

test("T-7: a canary's rule is drawn, it is promoted, and an old version comes back", async (t) => {
  await make("agents", { id: "canary", model_id: "default", system_prompt: "old" });
  const before = (await call("GET", "/v1/registry/versions")).live;
  await call("PUT", "/v1/config/agents/canary?publish=false", { id: "canary", model_id: "default", system_prompt: "new" });
  await call("POST", "/v1/registry/publish", { note: "try it", canary: { share: 0.5, rule: { min_runs: 10, max_error_rate: 0.05, max_cost_ratio: 1.2 } } });
  const page = await open(t, "/versions");
  const canary = page.getByRole("region", { name: "Canary" });
  await canary.getByText("0 of 10 runs").waitFor();
  await settled(page);
  await shot(page, "canary-light");
  assert.deepEqual(await violations(page), []);
  await canary.getByRole("button", { name: "Promote" }).click();
  await canary.waitFor({ state: "hidden" });
  assert.equal((await call("GET", "/v1/config/agents/canary?state=live")).system_prompt, "new");
  await page.getByRole("button", { name: `Roll back to version ${before}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("agents/canary").waitFor();
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: `Publish version ${before} again` }).click();
  await dialog.waitFor({ state: "hidden" });
  assert.equal((await call("GET", "/v1/config/agents/canary?state=live")).system_prompt, "old");
});

test("a key is made, its secret shown once, and it is revoked", async (t) => {
  const page = await open(t, "/keys");
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("Label").fill("the web site");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Create key" }).click();
  const secret = await page.getByRole("dialog").locator("code").innerText();
  assert.match(secret, /^ak_run_/);
  const ok = await fetch(`${server.url}/v1/runs`, { headers: { Authorization: `Bearer ${secret}` } });
  assert.equal(ok.status, 200);
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.ok(!(await page.content()).includes(secret), "the page keeps the secret");
  await page.getByRole("button", { name: "Revoke the web site" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" }); // it has the label, too
  await page.getByText("the web site").waitFor({ state: "hidden" });
});

test("who may only read finds no page of the configuration that fails", async (t) => {
  const made = await call("POST", "/v1/keys", { kind: "read", label: "auditor" });
  const page = await open(t, "/agents", { key: made.secret });
  await page.getByRole("link", { name: "poet", exact: true }).click();
  await page.getByText("Only administrators of the server can manage configuration").waitFor();
  for (const path of ["/versions", "/providers", "/models/default", "/mcp-servers", "/skills", "/keys"]) {
    await page.goto(server.url + path);
    await page.getByRole("heading", { name: "Your key may not do this" }).waitFor();
    await settled(page);
    assert.deepEqual(await violations(page), []);
  }
});

test("the first five minutes: connect a model, try an agent, see the same call in code", async (t) => {
  const models = createServer((req, res) => {
    res.setHeader("Content-Type", "application/json");
    const known = req.headers.authorization === "Bearer sk-planted-secret";
    res.statusCode = known ? 200 : 401;
    res.end(JSON.stringify(known ? { object: "list", data: [{ id: "tiny", object: "model" }] } : { error: { message: "wrong key" } }));
  });
  await new Promise((resolve) => models.listen(0, "127.0.0.1", resolve));
  t.after(() => models.close());
  const own = await serve({ env: { AWAKEN_OUTBOUND_ALLOW: "127.0.0.0/8" } });
  t.after(() => own.stop());
  const { page, context, bad } = await visit(browser, own.url + "/sign-in", {});
  t.after(() => context.close());
  await page.getByLabel("Key", { exact: true }).fill(own.key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "First steps" }).waitFor();
  const connect = page.getByRole("region", { name: "Connect a model" });
  await connect.getByRole("combobox").selectOption("openai");
  await connect.getByRole("textbox", { name: "Model", exact: true }).fill("tiny");
  await connect.getByLabel("API key").fill("sk-wrong");
  await connect.getByLabel("Base URL").fill(`http://127.0.0.1:${models.address().port}/v1`);
  await connect.getByRole("button", { name: "Connect and test" }).click();
  await connect.getByRole("alert").waitFor();
  await connect.getByLabel("API key").fill("sk-planted-secret");
  await connect.getByRole("button", { name: "Connect and test" }).click();
  await connect.getByText("tiny works").waitFor();
  const attempt = page.getByRole("region", { name: "Try an agent here" });
  await attempt.getByRole("textbox", { name: "Message" }).fill("Where should I go?");
  await page.keyboard.press("Enter");
  await attempt.getByText("Scripted response to: Where should I go?").waitFor();
  await connect.getByRole("button", { name: "Use it" }).click();
  await connect.getByText("Agent default now answers with tiny.").waitFor();
  const code = page.getByRole("region", { name: "Call it from code" });
  for (const [name, has] of [["curl", "curl -N"], ["AI SDK", "DefaultChatTransport"], ["Go", "http.NewRequest"]]) {
    await code.getByRole("button", { name, exact: true }).click();
    await code.getByText(has).waitFor();
  }
  await settled(page);
  await shot(page, "first-light", { fullPage: true });
  assert.deepEqual(await violations(page), []);
  assert.ok(!(await page.content()).includes("sk-planted-secret"), "the page keeps the secret");
  assert.deepEqual(bad, []);
});
