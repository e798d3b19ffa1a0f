// What is done to several runs at once, and how lists are narrowed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { phone, run, settled, stage, violations } from "./rig.mjs";

const { server, call, open } = stage({});

test("runs are chosen by mouse and with x, and cancelled together after their number was named", async (t) => {
  const asked = [];
  for (let i = 0; i < 3; i++) asked.push(await run(server.url, "scenario", "scenario:approval"));
  const done = await run(server.url, "default", "hello");
  const page = await open(t, "/runs");
  const list = page.getByRole("list", { name: "Runs" });
  const row = (r) => list.getByRole("link", { name: `…${r.run_id.slice(-6)}` });
  await row(asked[0]).focus();
  await page.keyboard.press("x");
  await page.getByText("1 run chosen").waitFor();
  const box = (r) => list.getByRole("checkbox", { name: new RegExp(r.run_id.slice(-6)) });
  for (const r of [...asked.slice(1), done]) await box(r).check();
  await page.getByText("4 runs chosen").waitFor();
  assert.match((await page.getByRole("button", { name: /^Continue/ }).getAttribute("title")) ?? "", /None of them is waiting/);
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Cancel 3 runs" }).click(); // the one that has ended is not among them
  const dialog = page.getByRole("alertdialog", { name: "Cancel 3 runs?" });
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: "Cancel 3 runs" }).click();
  await page.getByText("3 of 3 done.").waitFor();
  for (const r of asked) {
    await list.getByRole("listitem").filter({ hasText: r.run_id.slice(-6) }).getByText("Cancelled").waitFor(); // the server has the cancellation at once, and ends the run a little later
    assert.equal((await call("GET", `/v1/runs/${r.run_id}`)).termination_reason?.type, "cancelled");
  }
});

test("runs are found by version, user, tool and origin, and the address has it", async (t) => {
  const made = await run(server.url, "scenario", "RUN_WEATHER_TOOL");
  await run(server.url, "default", "hello");
  const page = await open(t, "/runs");
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await rows.first().waitFor();
  await page.getByRole("button", { name: "More filters" }).click();
  await page.getByRole("searchbox", { name: "Tool, full name" }).fill("get_weather");
  await page.waitForURL(/tool=get_weather/);
  await page.getByLabel("Origin").selectOption("user");
  await page.waitForURL(/origin=user/);
  await settled(page);
  assert.equal(await rows.count(), 1);
  await page.getByRole("link", { name: `…${made.run_id.slice(-6)}` }).waitFor();
  await page.reload();
  await page.getByRole("searchbox", { name: "Tool, full name" }).waitFor(); // what narrows the list is not hidden
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Clear" }).click();
  await rows.nth(1).waitFor();
});

test("threads are narrowed to an agent and a state", async (t) => {
  const asked = await run(server.url, "scenario", "scenario:approval");
  await run(server.url, "default", "hello");
  const page = await open(t, "/threads");
  const rows = page.getByRole("list", { name: "Threads" }).getByRole("listitem");
  await rows.nth(1).waitFor();
  await page.getByLabel("Agent", { exact: true }).selectOption("scenario");
  await page.waitForURL(/agent_id=scenario/);
  await page.getByLabel("Latest run").selectOption("waiting");
  await page.waitForURL(/status=waiting/);
  await settled(page);
  assert.deepEqual(await rows.getByRole("link").evaluateAll((list) => list.map((a) => a.title)), [asked.thread_id]);
});

test("on a phone no filter is outside of the window", async (t) => {
  await run(server.url, "scenario", "scenario:approval");
  const page = await open(t, "/approvals", phone);
  for (const path of ["/approvals", "/runs", "/threads", "/approvals?view=decided", "/queue", "/cost", "/audit"]) {
    await page.goto(server.url + path);
    await settled(page);
    const more = page.getByRole("button", { name: "Filters" });
    if (await more.count()) await more.click();
    await settled(page);
    const outside = await page.evaluate(() => [...document.querySelectorAll("main input, main select, main button")].filter((e) => e.checkVisibility()).map((e) => [e.getAttribute("aria-label") ?? e.textContent, e.getBoundingClientRect()]).filter(([, box]) => box.width > 1 && (box.left < 0 || box.right > innerWidth)).map(([name, box]) => `${name} ${Math.round(box.left)}–${Math.round(box.right)}`));
    assert.deepEqual(outside, [], path);
    assert.deepEqual(await violations(page), [], path);
  }
});

test("the page of a run names the version that it keeps, and how the live one differs", async (t) => {
  await call("POST", "/v1/config/agents", { id: "poet", model_id: "default", system_prompt: "Answer in verse." });
  const made = await run(server.url, "poet", "hello");
  const has = (await call("GET", `/v1/runs/${made.run_id}`)).resolution_id;
  const page = await open(t, `/runs/${made.run_id}`);
  await page.getByRole("link", { name: `v${has}`, exact: true }).waitFor();
  await call("PUT", "/v1/config/agents/poet", { id: "poet", model_id: "default", system_prompt: "Answer in haiku." });
  const { live } = await call("GET", "/v1/registry/versions");
  await page.getByRole("link", { name: `v${has} (live ${live})` }).click();
  await page.getByText("Answer in haiku.").waitFor();
  await page.getByText("Answer in verse.").waitFor();
});

test("a message has an address, which shows it among the others", async (t) => {
  const made = await run(server.url, "default", "the first message");
  for (let i = 0; i < 12; i++) await run(server.url, "default", `message ${i}`, { thread_id: made.thread_id });
  const { messages } = await call("GET", `/v1/threads/${made.thread_id}/messages`);
  const page = await open(t, `/threads/${made.thread_id}/messages/${messages[0].id}`);
  const named = page.locator('article[aria-current="true"]');
  await named.getByText("the first message").waitFor();
  await settled(page);
  assert.ok(await named.evaluate((e) => e.getBoundingClientRect().top >= 0 && e.getBoundingClientRect().bottom <= innerHeight), "the message is not in the window");
  assert.deepEqual(await violations(page), []);
});
