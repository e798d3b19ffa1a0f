// What the console says when something is missing: a key, a permission, the server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { client, launch, long, run, serve, violations, visit } from "./rig.mjs";

let browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

async function signIn(page, key) {
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

test("a server that needs a key says so, and a key that may only read finds no button that fails", async (t) => {
  const server = await serve({ env: { AWAKEN_SERVER_REQUIRE_KEY: "true" } });
  t.after(() => server.stop());
  const { page, context, bad } = await visit(browser, server.url + "/runs");
  t.after(() => context.close());
  await page.getByRole("heading", { name: "Sign in required" }).waitFor();
  assert.deepEqual(await violations(page), []);
  const made = await client(server.url, server.key)("POST", "/v1/keys", { kind: "read", label: "auditor" });
  await run(server.url, "scenario", "scenario:approval", {}, server.key);
  await page.getByRole("main").getByRole("link", { name: "Sign in" }).click();
  await signIn(page, made.secret ?? made.key);
  await page.waitForURL(/\/runs$/);
  await page.getByRole("list", { name: "Runs" }).getByRole("link").first().click();
  const cancel = page.getByRole("button", { name: "Cancel" });
  await cancel.waitFor();
  assert.equal(await cancel.getAttribute("aria-disabled"), "true");
  assert.match((await cancel.getAttribute("title")) ?? "", /read-only/);
  await cancel.click({ force: true });
  await page.goto(server.url + "/approvals");
  assert.equal(await page.getByRole("button", { name: "Approve" }).getAttribute("aria-disabled"), "true");
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(bad, []);
});

test("a page follows its server through a crash", { skip: !long }, async (t) => {
  let server = await serve({});
  t.after(() => server.stop());
  const { page, context } = await visit(browser, server.url + "/runs");
  t.after(() => context.close());
  await page.getByRole("banner").getByText("Live").waitFor();
  await server.kill();
  await page.getByText(/No connection since/).waitFor({ timeout: 10_000 });
  server = await serve({ dir: server.dir, address: new URL(server.url).host });
  const made = await run(server.url, "default", "hello");
  await page.getByRole("banner").getByText("Live").waitFor({ timeout: 60_000 });
  await page.getByRole("link", { name: `…${made.run_id.slice(-6)}` }).waitFor();
});

test("every address works below a base path", { skip: !long }, async (t) => {
  const server = await serve({ env: { AWAKEN_SERVER_BASE_PATH: "/tools/awaken" } });
  t.after(() => server.stop());
  const made = await run(server.url + "/tools/awaken", "default", "hello");
  const { page, context, bad } = await visit(browser, `${server.url}/tools/awaken/runs/${made.run_id}`);
  t.after(() => context.close());
  await page.getByRole("main").getByText("Done", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Threads" }).first().click();
  await page.waitForURL(/\/tools\/awaken\/threads$/);
  await page.reload();
  await page.getByRole("list", { name: "Threads" }).getByRole("link").first().waitFor();
  assert.deepEqual(bad, []);
});

test("seven tabs of one browser leave connections for all", { skip: !long }, async (t) => {
  const server = await serve({});
  t.after(() => server.stop());
  const asked = await run(server.url, "scenario", "scenario:approval");
  const { page, context, bad } = await visit(browser, `${server.url}/runs/${asked.run_id}`);
  t.after(() => context.close());
  const tabs = [page];
  for (let i = 0; i < 6; i++) {
    const tab = await context.newPage();
    await tab.goto(`${server.url}/${i % 2 ? "runs/" + asked.run_id : "runs"}`);
    tabs.push(tab);
  }
  for (const tab of tabs) await tab.getByRole("main").getByText("Waits for a person").first().waitFor();
  await fetch(`${server.url}/v1/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"action":"resume"}' });
  for (const tab of tabs) await tab.getByRole("main").locator("span").getByText("Done", { exact: true }).first().waitFor();
  assert.deepEqual(bad, []);
});

test("what does not exist is told apart from what is not allowed", async (t) => {
  const server = await serve({});
  t.after(() => server.stop());
  const { page, context } = await visit(browser, server.url + "/runs/none");
  t.after(() => context.close());
  await page.getByRole("heading", { name: "This does not exist" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.goto(server.url + "/threads/none");
  await page.getByRole("heading", { name: "This does not exist" }).waitFor();
});

test("without the console, its addresses are those of the API: JSON", { skip: !long }, async (t) => {
  const server = await serve({ env: { AWAKEN_CONSOLE_ENABLED: "false" } });
  t.after(() => server.stop());
  const res = await fetch(server.url + "/", { headers: { Accept: "text/html" } });
  assert.equal(res.status, 404);
  assert.equal((await res.json()).code, "not_found");
});
