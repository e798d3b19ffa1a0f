// What people do with the console, in a browser, with a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { phone, run, stage, violations } from "./rig.mjs";

const { server, open } = stage(undefined, { anonymous: true });

const decisions = async (id) => (await (await fetch(`${server.url}/v1/decisions?run_id=${id}`)).json()).items;

test("edited arguments are approved on a phone, by holding", async (t) => {
  const asked = await run(server.url, "scenario", "scenario:approval");
  const page = await open(t, `/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`, phone);
  await page.getByLabel("path").fill("/tmp/y");
  const approve = page.getByRole("button", { name: "Approve as edited" });
  await approve.tap();
  await page.waitForTimeout(800);
  assert.equal((await decisions(asked.run_id)).length, 0, "a tap has approved a call with an effect");
  const box = await approve.boundingBox();
  const session = await page.context().newCDPSession(page);
  const touch = (type) => session.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x: box.x + box.width / 2, y: box.y + box.height / 2 }] });
  await touch("touchStart");
  await page.getByText("Approved. The run continues.").waitFor();
  await touch("touchEnd");
  const [made] = await decisions(asked.run_id);
  assert.equal(made.action, "resume");
  assert.deepEqual(made.arguments, { path: "/tmp/y" });
});

test("a call is refused by keyboard, and the second approver sees who was faster", async (t) => {
  const asked = await run(server.url, "scenario", "scenario:approval");
  const path = `/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`;
  const first = await open(t, path);
  const second = await open(t, path, { allow: [/409/, /ERR_FAILED/] });
  await first.getByRole("heading", { name: "Delete /tmp/x?" }).waitFor();
  await second.getByRole("button", { name: "Approve" }).waitFor();
  await second.route("**/v1/approvals?*", (r) => r.abort()); // its list stays as it is
  const refused = first.getByText("Refused. The model sees this.");
  for (let tries = 0; tries < 30 && !(await refused.isVisible()); tries++) { // twice within a second: a slow machine may need several attempts
    await first.keyboard.press("r");
    await first.keyboard.press("r");
  }
  await refused.waitFor();
  const [made] = await decisions(asked.run_id);
  assert.equal(made.action, "cancel");
  await second.getByRole("button", { name: "Approve" }).click();
  await second.getByText("already decided: Refused.").waitFor();
});

test("the page of a run follows it", async (t) => {
  const asked = await run(server.url, "scenario", "scenario:approval");
  const page = await open(t, `/runs/${asked.run_id}`);
  await page.getByRole("main").getByText("Waits for a person").waitFor();
  await fetch(`${server.url}/v1/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"action":"resume"}' });
  await page.getByRole("main").getByText("Done", { exact: true }).waitFor();
  await page.getByText("Activation 2").waitFor();
  assert.deepEqual(await violations(page), []);
});

test("the list of runs and the count of approvals are live", async (t) => {
  const page = await open(t, "/runs");
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await rows.first().waitFor();
  const asked = await run(server.url, "scenario", "scenario:approval");
  await page.getByRole("link", { name: `…${asked.run_id.slice(-6)}` }).waitFor();
  await page.getByRole("link", { name: /^Approvals \d+/ }).first().waitFor();
});

test("a conversation is begun and continued", async (t) => {
  const page = await open(t, "/threads/-/new");
  await page.getByLabel("Message").fill("Where should I go?");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Scripted response to: Where should I go?").waitFor();
  await page.getByPlaceholder("Type a message…").fill("And in winter?");
  await page.getByRole("button", { name: /Send/ }).click();
  await page.getByText("Scripted response to: And in winter?").waitFor();
  await page.waitForFunction(() => document.querySelector("textarea").value === ""); // the stream may be faster than the response
  await page.reload();
  await page.getByText("Scripted response to: And in winter?").waitFor();
});

test("filters are in the address, and Back works", async (t) => {
  await run(server.url, "default", "hello");
  const page = await open(t, "/runs?status=done&agent_id=default");
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await rows.first().waitFor();
  assert.equal(await page.getByLabel("Status").inputValue(), "done");
  await rows.first().getByRole("link").first().click();
  await page.waitForURL(/\/runs\/[^?]+$/);
  await page.goBack();
  assert.match(page.url(), /status=done/);
  await rows.first().waitFor();
});

test("what the model saw is three clicks from the list of runs", async (t) => {
  await run(server.url, "default", "the exact prompt");
  const page = await open(t, "/sign-in?next=" + encodeURIComponent("/runs?agent_id=default"));
  await page.getByLabel("Key", { exact: true }).fill(server.key);
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Runs" }).getByRole("listitem").first().getByRole("link").first().click();
  await page.getByRole("treegrid", { name: "Timeline" }).getByRole("link").first().click();
  await page.getByRole("button", { name: "What the model saw" }).click();
  await page.getByRole("region", { name: "What the model saw" }).getByText("the exact prompt", { exact: true }).waitFor();
});

test("a key signs in, no script can read it, and it signs out", async (t) => {
  const page = await open(t, "/sign-in?next=/runs", { allow: [/401/] });
  await page.getByLabel("Key", { exact: true }).fill("ak_admin_wrong");
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Key", { exact: true }).fill(server.key);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/runs$/);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  const kept = await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML);
  assert.ok(!kept.includes(server.key), "the page keeps the key");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in" }).waitFor();
});

test("the palette, the keys and the language", async (t) => {
  const page = await open(t, "/");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("thr");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "hidden" }); // keys belong to it for as long as it is there
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByRole("heading", { name: "Approvals" }).waitFor();
  await page.getByRole("button", { name: "简体中文" }).click();
  await page.getByRole("heading", { name: "审批" }).waitFor();
});
