// Every page, in each theme, language and size: no violation that axe finds, no error, nothing that the policy refuses.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, long, run, serve, settled, violations, visit } from "./rig.mjs";

const shots = process.env.SHOTS; // a folder for screenshots
let server, browser, pages;

before(async () => {
  [server, browser] = await Promise.all([serve(), launch()]);
  if (shots) mkdirSync(shots, { recursive: true });
  const done = await run(server.url, "default", "Where should I go?");
  await run(server.url, "scenario", "RUN_WEATHER_TOOL", { thread_id: done.thread_id });
  const waiting = await run(server.url, "permission", 'RUN_TOOL append_note {"text":"buy milk"}');
  const asked = await run(server.url, "scenario", "scenario:approval");
  const ticket = asked.waiting.ticket_ids[0];
  const decided = await run(server.url, "scenario", "scenario:approval");
  await new Promise((resolve) => setTimeout(resolve, 2500)); // a person thinks
  await fetch(`${server.url}/v1/approvals/${decided.run_id}/${decided.waiting.ticket_ids[0]}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"action":"resume","reason":"it is old"}' });
  pages = {
    decided: `/runs/${decided.run_id}/calls/${decided.waiting.tickets[0].tool_call_id}`,
    overview: "/",
    approvals: "/approvals",
    approval: `/approvals/${asked.run_id}/${ticket}`,
    remember: `/approvals/${waiting.run_id}/${waiting.waiting.ticket_ids[0]}`,
    runs: "/runs",
    none: "/runs?agent_id=nothing",
    run: `/runs/${asked.run_id}`,
    step: `/runs/${done.run_id}/steps/0`,
    call: `/runs/${asked.run_id}/calls/${asked.waiting.tickets[0].tool_call_id}`,
    events: `/runs/${done.run_id}?tab=events`,
    tree: `/runs/${done.run_id}?tab=tree`,
    raw: `/runs/${done.run_id}?tab=raw`,
    threads: "/threads",
    thread: `/threads/${done.thread_id}`,
    waitingThread: `/threads/${asked.thread_id}`,
    newThread: "/threads/new",
    signIn: "/sign-in",
    unknown: "/keys/none",
  };
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const looks = {
  light: {},
  dark: { theme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  chinese: { locale: "zh-CN" },
};

for (const [look, options] of Object.entries(looks)) {
  test(`pages in ${look}`, { skip: !long && look !== "light" }, async (t) => {
    for (const [name, path] of Object.entries(pages)) {
      await t.test(name, async () => {
        const { page, context, bad } = await visit(browser, server.url + path, options);
        try {
          await page.locator("h1, h2").first().waitFor();
          await settled(page);
          if (shots) await page.screenshot({ path: join(shots, `${name}-${look}.png`) });
          assert.deepEqual(await violations(page), []);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
          assert.deepEqual(bad, []);
        } finally {
          await context.close();
        }
      });
    }
  });
}
