// Conversations: what models write is shown safely, threads are found, kept and deleted.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { run, stage, violations } from "./rig.mjs";

const { server, open } = stage({}, { anonymous: true });

test("the text of a model is formatted, and can do nothing", async (t) => {
  // The scripted model repeats the beginning of what it is told.
  const made = await run(server.url, "default", "**bold** `code` <img src=x onerror=alert(1)>");
  for (const text of ["[bad](javascript:alert(1))", "![pic](https://example.com/a.png)", "[good](https://example.com/b)"]) await run(server.url, "default", text, { thread_id: made.thread_id });
  const page = await open(t, `/threads/${made.thread_id}`);
  const said = page.getByRole("region", { name: "Conversation" });
  await said.getByRole("link", { name: "good" }).waitFor();
  await said.locator("strong", { hasText: "bold" }).waitFor();
  await said.locator("code", { hasText: "code" }).waitFor();
  assert.equal(await said.locator("img").count(), 0, "an image of a model is loaded");
  assert.equal(await said.getByText("<img src=x").count(), 2);
  assert.deepEqual(await said.getByRole("link").evaluateAll((list) => list.map((a) => a.getAttribute("href")).filter((h) => !/\/(runs|messages)\//.test(h))), ["https://example.com/a.png", "https://example.com/b"]);
  const good = said.getByRole("link", { name: "good" });
  assert.match((await good.getAttribute("rel")) ?? "", /noopener noreferrer/);
  assert.deepEqual(await violations(page), []);
});

test("a thread is found by its title, saved as a file, and deleted after a warning", async (t) => {
  const made = await run(server.url, "default", "hello");
  await fetch(`${server.url}/v1/threads/${made.thread_id}`, { method: "PATCH", headers: { "Content-Type": "application/json" }, body: '{"title":"The trip to Lisbon"}' });
  const page = await open(t, "/threads", { allow: [/404/] });
  await page.getByLabel("Search titles and IDs").fill("lisbon");
  const found = page.getByRole("list", { name: "Found threads" }).getByRole("link");
  await found.first().waitFor();
  assert.match(page.url(), /q=lisbon/);
  assert.deepEqual(await violations(page), []);
  await found.first().click();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
  const lines = readFileSync(await saved.path(), "utf8").trim().split("\n").map((l) => JSON.parse(l));
  assert.equal(lines[0].thread.id, made.thread_id);
  assert.deepEqual(lines.slice(1).map((m) => m.role), ["user", "assistant"]);
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("2 messages and all runs").waitFor();
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.waitForURL(/\/threads$/);
  assert.equal((await fetch(`${server.url}/v1/threads/${made.thread_id}`)).status, 404);
});
