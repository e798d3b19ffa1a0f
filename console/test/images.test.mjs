// Twelve pictures of the console, made with a real server, in the folder that AWAKEN_IMAGES names. npm run images makes those of the documentation, so that
// they are never old.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { client, launch, run, serve, settled, sleep, visit } from "./rig.mjs";

const folder = process.env.AWAKEN_IMAGES ?? mkdtempSync(join(tmpdir(), "awaken-images-"));
let server, browser, scene;

const call = (...args) => client(server.url, server.key)(...args);
const decide = (asked, body) => call("POST", `/v1/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`, body);

before(async () => {
  mkdirSync(folder, { recursive: true });
  [server, browser] = await Promise.all([serve({}), launch()]);
  await call("POST", "/v1/config/models", { id: "haiku", provider_id: "default", upstream_model: "demo-haiku", input_token_price_per_million_usd: 80, output_token_price_per_million_usd: 400 });
  const allow = { permission: { default_behavior: "allow", rules: [{ tool: "delete_*", behavior: "ask" }] } };
  const support = { id: "support", model_id: "haiku", description: "Answers customers, and asks before it deletes.", system_prompt: "You help customers of a travel agency. Look things up before you answer. Never promise a refund.", plugin_ids: ["demo", "permission"], sections: allow };
  await call("POST", "/v1/config/agents", support);
  const words = ["Where is my booking?", "What is the weather in Lisbon? RUN_WEATHER_TOOL", "Can I change my seat?", "RUN_STOCK_TOOL and tell me why", "When does the train leave?"];
  for (let i = 0; i < 14; i++) await run(server.url, i % 4 === 3 ? "research" : "support", words[i % words.length]);
  await run(server.url, "scenario", "scenario:error").catch(() => {});
  const trip = await run(server.url, "travel", "Plan three days in Lisbon for me.");
  await call("PATCH", `/v1/threads/${trip.thread_id}`, { title: "Three days in Lisbon" });
  await run(server.url, "travel", "What is the weather like? RUN_WEATHER_TOOL", { thread_id: trip.thread_id });
  await run(server.url, "travel", "Then the coast on the second day.", { thread_id: trip.thread_id });
  const decided = await run(server.url, "scenario", "scenario:approval");
  await sleep(2500); // a person thinks
  await decide(decided, { action: "resume", arguments: { path: "/tmp/old" }, reason: "only the old one" });
  const asked = await run(server.url, "scenario", "scenario:approval");
  await run(server.url, "permission", 'RUN_TOOL append_note {"text":"Call Ann about the refund"}');
  await run(server.url, "scenario", "scenario:frontend-tool");
  await call("PUT", "/v1/config/agents/support?publish=false", { ...support, system_prompt: support.system_prompt + " Answer in two sentences." });
  await call("POST", "/v1/registry/publish", { note: "shorter answers", canary: { share: 0.5, rule: { min_runs: 20, max_error_rate: 0.05, max_cost_ratio: 1.2 } } });
  for (let i = 0; i < 12; i++) await run(server.url, "support", words[i % words.length]);
  scene = { trip, decided, asked };
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (!process.env.AWAKEN_IMAGES) rmSync(folder, { recursive: true, force: true });
});

const phone = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, deviceScaleFactor: 1 };
const dark = { theme: "dark" };
const approval = () => `/approvals/${scene.asked.run_id}/${scene.asked.waiting.ticket_ids[0]}`;
const timeline = () => `/runs/${scene.decided.run_id}/calls/${scene.decided.waiting.tickets[0].tool_call_id}`;

const pictures = {
  overview: [() => "/", {}],
  "overview-phone": [() => "/", { ...phone, ...dark }],
  approvals: [approval, {}],
  "approval-phone": [approval, phone],
  runs: [() => "/runs", dark],
  run: [timeline, {}],
  "run-dark": [timeline, dark],
  thread: [() => `/threads/${scene.trip.thread_id}`, {}],
  "thread-phone": [() => `/threads/${scene.trip.thread_id}`, { ...phone, ...dark }],
  agent: [() => "/agents/support/basics", {}],
  versions: [() => "/versions", dark],
  chinese: [approval, { locale: "zh-CN" }],
};

const documented = ["overview", "approvals", "approval-phone", "run", "versions"];

for (const [name, [path, options]] of Object.entries(pictures)) {
  test(`picture${documented.includes(name) ? " of the documentation" : ""}: ${name}`, async () => {
    const { page, context, bad } = await visit(browser, server.url + path(), { viewport: { width: 1280, height: 800 }, key: server.key, ...options });
    try {
      await page.locator("h1, h2").first().waitFor();
      await settled(page);
      const file = join(folder, `console-${name}.png`);
      await page.screenshot({ path: file });
      assert.ok(statSync(file).size < 150_000, `${file} has ${statSync(file).size} bytes`);
      const cut = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(cut <= 0, `the page is ${cut} px wider than the window`);
      assert.deepEqual(bad, []);
    } finally {
      await context.close();
    }
  });
}
