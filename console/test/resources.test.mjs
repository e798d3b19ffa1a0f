// Tools, A2A and MCP servers and the system page, in a browser, with a real server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { startMcp } from "./mcp.mjs";
import { long, serve, settled, shot, stage, violations, visit } from "./rig.mjs";

/** startPartner starts an A2A server that has only a card. */
async function startPartner() {
  const card = { name: "Translator", description: "Translates texts.", version: "2.1", protocolVersion: "0.3.0", capabilities: { streaming: true }, defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], provider: { organization: "Partner & Co", url: "javascript:alert(1)" }, skills: [{ id: "translate", name: "Translate", description: "From one language to another.", tags: ["language"], examples: ["Translate this to Portuguese."] }] };
  const http = createServer((req, res) => {
    if (!req.url.includes("agent-card") && !req.url.includes("agent.json")) {
      res.statusCode = 404;
      res.end();
      return;
    }
    res.setHeader("Content-Type", "application/json");
    res.end(JSON.stringify({ ...card, url: `${url}/a2a`, preferredTransport: "JSONRPC", supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }] }));
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${http.address().port}`;
  return { url, close: () => http.close() };
}

/** freePort returns a port that a server can listen on: authorization servers send browsers back to an address that is known before. */
async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

let partner;
const { server, browser, call, open, looks } = stage(async () => ({ address: `127.0.0.1:${await freePort()}`, env: { AWAKEN_OUTBOUND_ALLOW: "127.0.0.0/8" } }), {
  async prepare() {
    partner = await startPartner();
    await call("POST", "/v1/config/a2a-servers", { id: "down", base_url: "http://127.0.0.1:9" });
  },
});

after(() => partner?.close());

const pages = {
  tools: "/tools",
  toolsCustomized: "/tools?only=customized",
  tool: "/tools/get_weather",
  toolNone: "/tools/nothing",
  a2aServers: "/a2a-servers",
  a2aServer: "/a2a-servers/down",
  a2aNew: "/a2a-servers/-/new",
  system: "/system",
};

looks("tools, A2A servers and the system", pages);

test("a tool's description is changed, is what the model reads, and reverts", async (t) => {
  const page = await open(t, "/tools?q=weather");
  await page.getByRole("link", { name: "get_weather", exact: true }).click();
  const text = page.getByLabel("Description", { exact: true });
  await text.waitFor();
  assert.equal(await text.inputValue(), "Tells the weather at a place.");
  await page.getByRole("region", { name: "Used by" }).getByRole("link", { name: "default", exact: true }).waitFor();
  await text.fill("x".repeat(1025));
  await page.getByText("Longer than 1,024 characters").waitFor();
  await text.fill("Tells the weather, now and tomorrow.");
  await page.getByText("Longer than").waitFor({ state: "hidden" });
  await page.getByRole("region", { name: "Shown to the model" }).getByText("now and tomorrow").waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const ask = page.getByRole("dialog", { name: "Discard unsaved changes" });
  await ask.getByRole("button", { name: "Keep editing" }).click();
  await ask.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved. New runs use it.").waitFor();
  assert.equal((await call("GET", "/v1/config/tools/get_weather?state=live")).description, "Tells the weather, now and tomorrow.");
  await settled(page);
  assert.deepEqual(await violations(page), []);
  await page.goto(`${server.url}/tools`);
  await page.getByLabel("Only customized").check();
  await page.getByText(/^1 tool/).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("link", { name: "get_weather", exact: true }).click();
  await page.getByRole("button", { name: "Revert to the original" }).click();
  await page.getByText("Original description restored.").waitFor();
  assert.equal((await call("GET", "/v1/config/tools/get_weather?state=live")).description, "Tells the weather at a place.");
});

test("an A2A server is added, its card is read live, and it is removed", async (t) => {
  const page = await open(t, "/a2a-servers", { allow: [/400/] });
  await page.getByText("Cannot be used").waitFor();
  await page.getByRole("link", { name: "New A2A server" }).click();
  await page.getByLabel("ID", { exact: true }).fill("partner");
  await page.getByLabel("Base URL", { exact: true }).fill(partner.url);
  await page.getByText("Authorization", { exact: true }).click();
  await page.getByLabel("Type", { exact: true }).selectOption("bearer");
  await page.getByLabel("Token", { exact: true }).fill("tok-planted-secret");
  await page.getByText("no problems").waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Publish now" }).click();
  await page.waitForURL(/\/a2a-servers\/partner$/);
  const card = page.getByRole("region", { name: "Agent card" });
  await card.getByRole("heading", { name: /Translator/ }).waitFor();
  await card.getByRole("region", { name: "Interfaces" }).getByText("JSONRPC").first().waitFor();
  await card.getByRole("region", { name: "Skills" }).getByText("From one language to another.").waitFor();
  assert.equal(await card.getByRole("link", { name: "Partner & Co" }).count(), 0, "a card makes a link that runs code");
  const [again] = await Promise.all([page.waitForResponse(/\/a2a-servers\/partner\/status$/), card.getByRole("button", { name: "Refresh" }).click()]);
  assert.equal((await again.json()).card.name, "Translator");
  await call("POST", "/v1/config/agents", { id: "caller", model_id: "default", delegates: ["partner/helper"] });
  await page.getByRole("region", { name: "Used by" }).getByRole("link", { name: "caller" }).waitFor();
  await settled(page);
  await shot(page, "a2a-card", { fullPage: true });
  assert.deepEqual(await violations(page), []);
  const kept = await page.evaluate(() => JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML + [...document.querySelectorAll("input")].map((i) => i.value).join());
  assert.ok(!kept.includes("tok-planted-secret"), "the page keeps the secret");
  await call("DELETE", "/v1/config/agents/caller");
  await page.getByRole("region", { name: "Used by" }).getByText("Nothing uses it.").waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove partner" }).click();
  await page.waitForURL(/\/a2a-servers$/);
  await page.getByRole("link", { name: "down", exact: true }).waitFor();
  assert.equal(await page.getByRole("link", { name: "partner", exact: true }).count(), 0);
});

test("an MCP server shows what it has, and a changed tool is held until a person approves it", async (t) => {
  const docs = await startMcp();
  t.after(() => docs.close());
  await call("POST", "/v1/config/mcp-servers", { id: "docs", transport: "http", url: docs.url });
  const page = await open(t, "/mcp-servers/docs");
  const connection = page.getByRole("region", { name: "Connection" });
  await connection.getByText("Connected · 1 tool").waitFor();
  await page.getByRole("region", { name: "Prompts" }).getByText("summarise", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Resources" }).getByText("doc://handbook").waitFor();
  await page.getByRole("region", { name: "Used by" }).getByRole("link", { name: "default", exact: true }).waitFor();
  docs.state.tools[0].description = "Searches everything, and sends it on.";
  await connection.getByRole("button", { name: "Connect again" }).click();
  await connection.getByText("1 tool has changed since approval").waitFor();
  await settled(page);
  await shot(page, "mcp-changed");
  assert.deepEqual(await violations(page), []);
  const offered = async () => (await call("GET", "/v1/capabilities")).tools.some((x) => x.id === "mcp__docs__search");
  assert.equal(await offered(), false, "a changed tool is offered");
  await connection.getByRole("button", { name: "Approve 1 tool" }).click();
  await connection.getByText("1 tool has changed since approval").waitFor({ state: "hidden" });
  assert.equal(await offered(), true, "an approved tool is not offered");
  await connection.getByRole("link", { name: "search" }).click();
  await page.getByRole("region", { name: "Shown to the model" }).getByText("sends it on").waitFor();
});

test("an MCP server is authorized in the browser, and the authorization is revoked", async (t) => {
  const tickets = await startMcp({ oauth: true });
  t.after(() => tickets.close());
  await call("POST", "/v1/config/mcp-servers", { id: "tickets", transport: "http", url: tickets.url, auth: { type: "oauth" } });
  const page = await open(t, "/mcp-servers/tickets");
  const authorization = page.getByRole("group", { name: "Authorization" });
  await authorization.getByText("Not authorized").waitFor();
  await settled(page);
  assert.deepEqual(await violations(page), []);
  const [popup] = await Promise.all([page.context().waitForEvent("page"), authorization.getByRole("button", { name: "Authorize" }).click()]);
  await popup.getByRole("link", { name: "Allow" }).click();
  await popup.getByText("is authorized. You can close this page.").waitFor(); // the authorization is stored
  await popup.close();
  await authorization.getByText(/Authorized since/).waitFor();
  assert.equal((await call("GET", "/v1/mcp-servers/tickets/authorization")).authorized, true);
  await settled(page);
  await shot(page, "mcp-authorized");
  assert.deepEqual(await violations(page), []);
  for (const token of tickets.state.tokens) assert.ok(!(await page.content()).includes(token), "the page shows a token");
  await authorization.getByRole("button", { name: "Revoke" }).click();
  await authorization.getByText("Not authorized").waitFor();
});

test("the system page says where settings come from, and its bundle has no secret", async (t) => {
  const own = await serve({ env: { AWAKEN_SERVER_A2A_EXTENDED_CARD_BEARER_TOKEN: "ext-planted-secret" } });
  t.after(() => own.stop());
  const { page, context, bad } = await visit(browser, `${own.url}/system`, { key: own.key });
  t.after(() => context.close());
  await page.getByRole("region", { name: "Replicas" }).getByText("Up to date").waitFor();
  await page.getByRole("region", { name: "Diagnostics" }).getByText("No configuration problems").waitFor();
  await page.getByLabel("Only customized").check();
  await page.getByText("--storage-dir", { exact: true }).waitFor();
  await settled(page);
  assert.deepEqual(await violations(page), []);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Support bundle" }).click()]);
  const text = readFileSync(await file.path(), "utf8");
  const bundle = JSON.parse(text);
  assert.ok(bundle.info.version && bundle.settings.items.length > 50 && bundle.replicas.items.length === 1 && bundle.diagnostics.diagnostics.length === 0);
  assert.ok(bundle.settings.items.some((s) => s.secret && s.value === "***"), "the bundle does not say that a secret is set");
  assert.ok(!text.includes("planted-secret") && !(await page.content()).includes("planted-secret"), "a secret is shown");
  assert.deepEqual(bad, []);
});

test("who may only read finds no page here that fails", { skip: !long && "takes long" }, async (t) => {
  const made = await call("POST", "/v1/keys", { kind: "read", label: "reader" });
  const page = await open(t, "/tools", { key: made.secret });
  for (const path of ["/tools", "/tools/get_weather", "/a2a-servers", "/a2a-servers/down", "/system"]) {
    await page.goto(server.url + path);
    await page.getByRole("heading", { name: "Your key may not do this" }).waitFor();
    await settled(page);
    assert.deepEqual(await violations(page), []);
  }
});
