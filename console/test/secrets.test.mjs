// A secret that is given to the server comes back nowhere: not in a page, its storage or address, the clipboard, a response or the log.
import assert from "node:assert/strict";
import { test } from "node:test";
import { kept, launch, long, serve, settled, visit } from "./rig.mjs";

const planted = (name) => `planted-${name}-7d1f0c9a55`;

/** What has secrets. Each is written with the API, as programs do, and as the forms of the console do. */
const documents = {
  "providers/secret-provider": { id: "secret-provider", adapter: "openai", base_url: "http://127.0.0.1:9", api_key: planted("api-key") },
  "mcp-servers/secret-http": { id: "secret-http", transport: "http", url: "http://127.0.0.1:9/mcp", config: { headers: { Authorization: planted("header") } } },
  "mcp-servers/secret-stdio": { id: "secret-stdio", transport: "stdio", command: "true", env: { TOKEN: planted("env") } },
  "a2a-servers/secret-a2a": { id: "secret-a2a", base_url: "http://127.0.0.1:9", auth: { type: "bearer", token: planted("token") } },
};

test("a planted secret is found nowhere", async (t) => {
  const server = await serve({ env: { AWAKEN_OUTBOUND_ALLOW: "127.0.0.0/8" }, log: "debug" });
  const browser = await launch();
  t.after(async () => {
    await browser.close();
    await server.stop();
  });
  const { url, key } = server;
  const auth = { "Content-Type": "application/json", Authorization: `Bearer ${key}` };

  const made = [];
  for (const [name, body] of Object.entries(documents)) {
    const res = await fetch(`${url}/v1/config/${name.split("/")[0]}`, { method: "POST", headers: auth, body: JSON.stringify(body) });
    const text = await res.text();
    if (res.ok) made.push(name);
    else t.diagnostic(`${name} was refused: ${res.status} ${text.slice(0, 200)}`);
    assert.ok(!text.includes("planted-"), `the answer to ${name} has the secret: ${text.slice(0, 300)}`);
  }
  assert.deepEqual(made, Object.keys(documents));

  const { page, context } = await visit(browser, url + "/sign-in", { permissions: ["clipboard-read", "clipboard-write"] });
  const heard = [];
  page.on("console", (m) => heard.push(m.text()));
  const bodies = [];
  page.on("response", (r) => /\/v1\//.test(r.url()) && !/stream/.test(r.url()) && bodies.push(r.text().then((x) => [r.url(), x], () => ["", ""])));
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign out" }).waitFor();

  const events = (await (await fetch(`${url}/v1/audit-log?limit=20`, { headers: auth })).json()).items;
  const pages = ["/", "/runs", "/queue", "/cost", "/audit", ...events.map((e) => `/audit/${e.id}`), "/providers", "/mcp-servers", "/a2a-servers", "/models", "/keys", "/system", "/versions", ...made.map((n) => `/${n}`), ...made.map((n) => `/config/${n}`)];
  const secrets = [key, ...Object.keys({ "api-key": 0, header: 0, env: 0, token: 0 }).map(planted)];
  for (const path of long ? pages : pages.filter((p) => !p.startsWith("/config/"))) {
    await page.goto(url + path);
    await page.locator("h1, h2").first().waitFor();
    await settled(page);
    for (const copy of (await page.getByRole("button", { name: /^Copy/ }).all()).slice(0, long ? 20 : 4)) await copy.click({ timeout: 2000 }).catch(() => {});
    const state = await kept(page);
    for (const secret of secrets) assert.ok(!state.includes(secret), `${path} has ${secret.slice(0, 20)}`);
  }
  for (const [from, text] of await Promise.all(bodies)) for (const secret of secrets) assert.ok(!text.includes(secret), `${from} has ${secret.slice(0, 20)}`);
  for (const secret of secrets) {
    assert.ok(!heard.join("\n").includes(secret), "the browser's console has a secret");
    assert.ok(!server.log().includes(secret), "the log of the server has a secret");
  }
  await context.close();
});
