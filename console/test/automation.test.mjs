// Schedules, webhooks and triggers, in a browser, with a real server and a real receiver.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { kept, run, settled, shot, stage, violations, visit } from "./rig.mjs";

/** startReceiver starts a server that has messages, and answers with what status says. */
async function startReceiver() {
  const got = [];
  const http = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk) => (body += chunk));
    req.on("end", () => {
      got.push({ path: req.url, headers: req.headers, body: JSON.parse(body) });
      res.statusCode = receiver.status;
      res.end();
    });
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const receiver = { url: `http://127.0.0.1:${http.address().port}/awaken`, got, status: 200, close: () => http.close() };
  return receiver;
}

const template = (content) => ({ agent_id: "default", messages: [{ role: "user", content }] });

let receiver;
const { server, browser, call, open, looks } = stage(
  { env: { AWAKEN_OUTBOUND_ALLOW: "127.0.0.0/8", AWAKEN_OUTBOUND_TENANTS_ALLOW: "127.0.0.0/8" } },
  {
    async prepare() {
      receiver = await startReceiver();
      await call("POST", "/v1/schedules", { id: "nightly", cron: "30 2 * * *", time_zone: "Europe/Berlin", description: "At night", run: template("Tidy up.") });
      await call("POST", "/v1/schedules", { id: "leap", cron: "0 0 29 2 *", run: template("Jump."), paused: true });
      await call("POST", "/v1/schedules/nightly/run");
      await call("POST", "/v1/webhooks", { id: "audit", url: receiver.url, description: "All that happens" });
      await call("POST", "/v1/triggers", { id: "issues", run: template("Answer: {{payload}}"), trust_payload: true, thread_from: "/issue/id" });
      await call("POST", "/v1/triggers/issues/run", { payload: '{"issue":{"id":7}}' });
    },
  },
);

after(() => receiver?.close());

/** eventually waits until something is so. */
async function eventually(what, is) {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const got = await is();
    if (got) return got;
  }
  assert.fail(`not within a minute: ${what}`);
}

test("a schedule is made with its next times in view, run, paused, changed and deleted", async (t) => {
  const page = await open(t, "/schedules", { allow: [/400/] }); // an expression that is not one
  await page.getByRole("link", { name: "New schedule" }).click();
  const create = page.getByRole("button", { name: "Create the schedule" });
  assert.match((await create.getAttribute("title")) ?? "", /agent/);
  await page.getByLabel("ID", { exact: true }).fill("report");
  await page.getByLabel("Time zone").fill("Europe/Berlin");
  await page.getByLabel("Cron expression").fill("61 9 * * *");
  await page.getByRole("alert").getByText("is not a number from 0 to 59").waitFor();
  await shot(page, "schedule-wrong");
  assert.deepEqual(await violations(page), []);
  await page.getByLabel("Cron expression").fill("0 9 * * mon-fri");
  await page.getByText("Monday to Friday at 09:00").waitFor();
  const times = page.getByRole("region", { name: "The next times" }).getByRole("listitem");
  await times.first().waitFor();
  assert.equal(await times.count(), 10);
  await page.getByLabel("Agent", { exact: true }).selectOption("default");
  await page.getByLabel("Message", { exact: true }).fill("Report on {{scheduled_time}}.");
  await page.getByLabel("Wait for it").check();
  await create.click();
  await page.getByText("Schedule “report” saved").waitFor();
  await page.waitForURL(/\/schedules\/report$/);
  const made = await call("GET", "/v1/schedules/report");
  assert.deepEqual([made.cron, made.time_zone, made.overlap, made.missed, made.run.messages[0].content], ["0 9 * * mon-fri", "Europe/Berlin", "wait", "latest", "Report on {{scheduled_time}}."]);

  await page.getByRole("button", { name: "Run now" }).click();
  const log = page.getByRole("list", { name: "Log" });
  const link = log.getByRole("link").first();
  await link.waitFor();
  await log.getByText("by hand").waitFor();
  await page.reload();
  await link.click();
  await page.waitForURL(/\/runs\//);
  await page.getByRole("link", { name: "by schedule report" }).click();
  await page.waitForURL(/\/schedules\/report$/);

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  assert.equal((await call("GET", "/v1/schedules/report")).status, "paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();

  // An edit survives a reload, a start meanwhile is no conflict, and what others change is not lost.
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Description").fill("For the morning");
  await page.getByText("Unsaved changes").waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  await page.getByRole("button", { name: "Leave and keep changes here" }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor(); // the address changes before the form is gone
  await page.goBack();
  await page.getByText("Restored from").waitFor();
  assert.equal(await page.getByLabel("Description").inputValue(), "For the morning");
  await call("POST", "/v1/schedules/report/run");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL(/\/schedules\/report$/);
  assert.equal((await call("GET", "/v1/schedules/report")).description, "For the morning");

  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Description").fill("Mine");
  const { cron, ...now } = await call("GET", "/v1/schedules/report");
  await call("PUT", "/v1/schedules/report", { cron: "@daily", time_zone: now.time_zone, run: now.run, description: now.description, overlap: now.overlap });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Changed elsewhere while you were editing").waitFor();
  assert.equal((await call("GET", "/v1/schedules/report")).cron, "@daily");
  await page.getByRole("button", { name: "Take theirs" }).click();
  assert.equal(await page.getByLabel("Cron expression").inputValue(), "@daily");

  // Once, at a time that is over.
  await page.getByLabel("once", { exact: true }).check();
  assert.match((await page.getByRole("button", { name: "Save" }).getAttribute("title")) ?? "", /time first/);
  await page.getByLabel("Date and time").fill("2031-01-31T09:00");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL(/\/schedules\/report$/);
  assert.equal((await call("GET", "/v1/schedules/report")).at, "2031-01-31T08:00:00Z");

  await page.getByRole("button", { name: "Delete the schedule" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete the schedule" }).click();
  await page.waitForURL(/\/schedules$/);
  await page.getByRole("link", { name: "nightly" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "report", exact: true }).count(), 0);
});

test("what became of times that nothing could start is said in words", async (t) => {
  const page = await open(t, "/schedules/nightly");
  const row = page.getByRole("list", { name: "Log" }).getByRole("listitem").first();
  await row.getByText("Started").waitFor();
  await page.route("**/v1/schedules/nightly/firings*", (route) =>
    route.fulfill({
      json: {
        items: [
          { number: 4, at: "2026-11-17T01:30:00Z", count: 1, outcome: "refused", reason: 'agent "gone" not found', recorded_at: "2026-11-17T01:30:00Z" },
          { number: 3, at: "2026-11-14T01:30:00Z", through: "2026-11-16T01:30:00Z", count: 3, outcome: "missed", reason: "no process was running", recorded_at: "2026-11-17T01:30:00Z" },
          { number: 2, at: "2026-11-13T01:30:00Z", count: 1, outcome: "skipped", run_id: "0123456789abcdef", recorded_at: "2026-11-13T01:30:00Z" },
        ],
      },
    }),
  );
  await page.reload();
  await page.getByText("3 times, up to Mon, Nov 16, 2026, 02:30").waitFor();
  await page.getByText('agent "gone" not found').waitFor();
  await page.getByText("The previous run had not ended:").waitFor();
  await shot(page, "schedule-log");
  assert.deepEqual(await violations(page), []);
});

test("a webhook is made, its secret shown once, tested, told, and told again", async (t) => {
  const page = await open(t, "/webhooks", { allow: [/400/] });
  await page.getByRole("link", { name: "New webhook" }).click();
  await page.getByLabel("ID", { exact: true }).fill("crm");
  await page.getByLabel("URL", { exact: true }).fill("https://10.0.0.1/awaken");
  await page.getByRole("button", { name: "Create the webhook" }).click();
  await page.getByText("which is not on the public internet").first().waitFor();
  assert.equal(await page.getByLabel("URL", { exact: true }).getAttribute("aria-invalid"), "true");
  await page.getByLabel("URL", { exact: true }).fill(receiver.url + "?of=crm");
  await page.getByLabel("Waits", { exact: true }).uncheck();
  await page.getByLabel("default", { exact: true }).check();
  await page.getByRole("button", { name: "Create the webhook" }).click();
  const dialog = page.getByRole("dialog", { name: "Webhook crm created" });
  const secret = (await dialog.locator("code").innerText()).trim();
  assert.match(secret, /^whsec_/);
  await shot(page, "webhook-secret");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  await dialog.waitFor();
  await dialog.getByRole("button", { name: "I have kept it" }).click();
  await page.getByText("Webhook “crm” saved").waitFor();
  const stored = await call("GET", "/v1/webhooks/crm");
  assert.deepEqual([stored.events, stored.agents], [["run.finished"], ["default"]]);
  await settled(page);
  assert.ok(!(await kept(page)).includes(secret), "the page still has the secret");

  await page.getByRole("button", { name: "Send a test message" }).click();
  await page.getByRole("status").getByText("Accepted").waitFor();
  receiver.status = 503;
  await page.getByRole("button", { name: "Send a test message" }).click();
  await page.getByRole("status").getByText("Failed").waitFor();
  await page.getByRole("status").getByText("503").first().waitFor();
  receiver.status = 200;

  const res = await fetch(`${server.url}/v1/runs`, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json", Authorization: `Bearer ${server.key}` }, body: JSON.stringify(template("hello")) });
  const { run_id } = await res.json();
  const ofRun = () => receiver.got.filter((m) => m.path.includes("of=crm") && m.body.data?.run_id === run_id);
  await eventually("the receiver was told", () => ofRun().length === 1);
  const deliveries = page.getByRole("list", { name: "Deliveries" });
  await deliveries.getByRole("link", { name: `…${run_id.slice(-6)}` }).waitFor();
  await deliveries.getByText("1 message accepted").waitFor();
  await page.getByRole("button", { name: `Resend all messages about run ${run_id}` }).click();
  await page.getByText("Resending now.").waitFor();
  await eventually("the receiver was told again", () => ofRun().length >= 2);
  await deliveries.getByText("2 attempts").click();
  await deliveries.getByText("Message 1").first().waitFor();
  await shot(page, "webhook-deliveries");
  assert.deepEqual(await violations(page), []);

  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "New secret" }).click();
  const again = page.getByRole("dialog", { name: "New secret" });
  const next = (await again.locator("code").innerText()).trim();
  assert.notEqual(next, secret);
  await again.getByRole("button", { name: "I have kept it" }).click();
  await again.waitFor({ state: "detached" });
  for (const path of ["/webhooks", "/webhooks/crm/edit"]) {
    await page.goto(server.url + path);
    await settled(page);
    for (const s of [secret, next]) assert.ok(!(await kept(page)).includes(s), `${path} has the secret`);
  }

  await page.getByLabel("Description").fill("Never saved");
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByText("They will be lost.").waitFor();
  await page.getByRole("button", { name: "Discard changes" }).last().click();
  await page.waitForURL(/\/webhooks\/crm$/);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await page.getByRole("button", { name: "Delete the webhook" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete the webhook" }).click();
  await page.waitForURL(/\/webhooks$/);
  await page.getByRole("link", { name: "audit", exact: true }).waitFor();
});

test("a trigger is made, its URL and secret shown once; the URL starts runs until the secret is replaced", async (t) => {
  const page = await open(t, "/triggers", { allow: [/400/] });
  await page.getByRole("link", { name: "New trigger" }).click();
  await page.getByLabel("ID", { exact: true }).fill("deploys");
  await page.getByLabel("Agent", { exact: true }).selectOption("default");
  await page.getByLabel("Message", { exact: true }).fill("Summarise: {{payload}}");
  await page.getByLabel("Runs per minute").fill("1000");
  await page.getByLabel("Trust the body").check();
  await page.getByText("The author of the body can instruct the agent").waitFor();
  await page.getByLabel("Trust the body").uncheck();
  await page.getByRole("button", { name: "Create the trigger" }).click();
  await page.getByText("per_minute is 1000; want 1 to 600").first().waitFor();
  await page.getByLabel("Runs per minute").fill("30");
  await page.getByRole("button", { name: "Create the trigger" }).click();
  const dialog = page.getByRole("dialog", { name: "Trigger deploys created" });
  await dialog.locator("code").nth(2).waitFor();
  const [url, secret, curl] = await dialog.locator("code").allInnerTexts();
  assert.match(url, /\/v1\/triggers\/deploys\/fire\?/);
  assert.ok(curl.includes(url));
  await shot(page, "trigger-secret");
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: "I have kept it" }).click();
  await page.getByText("Trigger “deploys” saved").waitFor();
  await settled(page);
  const signature = new URL(url).searchParams.get("signature") ?? new URL(url).search.slice(1);
  for (const s of [secret, signature]) assert.ok(!(await kept(page)).includes(s), "the page still has the secret");

  const fire = (to) => fetch(to, { method: "POST", headers: { "Content-Type": "application/json", "Idempotency-Key": "deploy-1" }, body: '{"version":"1.2.0"}' });
  const fired = await fire(url);
  assert.equal(fired.status, 202);
  const { run_id } = await fired.json();
  const log = page.getByRole("list", { name: "Requests" });
  await log.getByRole("link", { name: `…${run_id.slice(-6)}` }).waitFor();
  await log.getByText("deploy-1").waitFor();

  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByRole("button", { name: "Start a run" }).click();
  await page.getByRole("dialog").getByRole("link").click();
  await page.waitForURL(/\/runs\//);
  await page.getByRole("link", { name: "by trigger deploys" }).click();
  await page.waitForURL(/\/triggers\/deploys$/);

  await page.getByRole("button", { name: "New URL" }).click();
  await page.getByLabel("Expires").fill("2001-01-01T00:00");
  await page.getByRole("button", { name: "Make the URL" }).click();
  await page.getByRole("alert").getByText("which is over").waitFor();
  await page.getByLabel("Expires").fill("2031-01-01T00:00");
  await page.getByRole("button", { name: "Make the URL" }).click();
  const second = page.getByRole("dialog", { name: "New URL" });
  const other = (await second.locator("code").first().innerText()).trim();
  assert.equal((await fire(other)).status, 202);
  await second.getByRole("button", { name: "I have kept it" }).click();

  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByLabel("Revoke immediately").check();
  await page.getByRole("alertdialog").getByRole("button", { name: "New secret" }).click();
  const third = page.getByRole("dialog", { name: "New URL and secret" });
  const newest = (await third.locator("code").first().innerText()).trim();
  await third.getByRole("button", { name: "I have kept it" }).click();
  for (const old of [url, other]) assert.ok((await fire(old)).status >= 400, "a URL of the secret before is accepted");
  assert.equal((await fire(newest)).status, 202);

  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Signed requests only").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Only clients that sign their requests").waitFor();
  await page.getByRole("button", { name: "Delete the trigger" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete the trigger" }).click();
  await page.waitForURL(/\/triggers$/);
});

test("of two operators who save at the same moment, the second is told; a new secret meanwhile is no conflict", async (t) => {
  const page = await open(t, "/webhooks/audit/edit", { allow: [/409/] });
  const { id, revision, ...webhook } = await call("GET", "/v1/webhooks/audit");
  const { id: other, revision: _, ...trigger } = await call("GET", "/v1/triggers/issues");
  for (const [kind, doc] of [
    [`webhooks/${id}`, webhook],
    [`triggers/${other}`, trigger],
  ]) {
    await page.goto(`${server.url}/${kind}/edit`);
    await page.getByLabel("Description").fill("Mine");
    let meanwhile = () => call("PUT", `/v1/${kind}`, { ...doc, description: "Theirs" }); // done before the next request to save arrives
    await page.route(`**/v1/${kind}`, async (route) => {
      if (route.request().method() === "PUT") {
        await meanwhile?.();
        meanwhile = undefined;
      }
      await route.continue();
    });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Changed elsewhere while you were editing").waitFor();
    assert.equal((await call("GET", `/v1/${kind}`)).description, "Theirs");
    await page.getByRole("button", { name: "Keep mine" }).click();
    meanwhile = () => call("POST", `/v1/${kind}/rotate`, {});
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(new RegExp(`/${kind}$`));
    assert.equal((await call("GET", `/v1/${kind}`)).description, "Mine");
  }
});

test("a key that is not an admin's is told so, without a request that fails; what does not exist is, too", async (t) => {
  const { secret } = await call("POST", "/v1/keys", { kind: "read", label: "auditor" });
  const reader = await visit(browser, server.url + "/schedules", { key: secret });
  t.after(() => reader.context.close());
  for (const path of ["/schedules", "/schedules/-/new", "/schedules/nightly", "/schedules/nightly/edit", "/webhooks", "/webhooks/-/new", "/webhooks/audit", "/webhooks/audit/edit", "/triggers", "/triggers/-/new", "/triggers/issues", "/triggers/issues/edit"]) {
    await reader.page.goto(server.url + path);
    await reader.page.getByText("This page needs an admin key").waitFor();
  }
  assert.deepEqual(reader.bad, []);
  const page = await open(t, "/schedules/none", { allow: [/404/] });
  for (const path of ["/schedules/none", "/webhooks/none/edit", "/triggers/none"]) {
    await page.goto(server.url + path);
    await page.getByRole("heading", { name: "This does not exist" }).waitFor();
  }
});

test("a list that is empty says what would be there and how to make one", async (t) => {
  const page = await open(t, "/schedules");
  for (const [kind, link] of [
    ["schedules", "New schedule"],
    ["webhooks", "New webhook"],
    ["triggers", "New trigger"],
  ]) {
    await page.route(`**/v1/${kind}?*`, (route) => route.fulfill({ json: { items: [] } }));
    await page.goto(`${server.url}/${kind}`);
    await page.getByRole("heading", { name: `No ${kind} yet` }).waitFor();
    assert.equal(await page.getByRole("main").getByRole("link", { name: link }).count(), 2);
    assert.deepEqual(await violations(page), []);
    await shot(page, `${kind}-empty`);
  }
});

test("documents whose id is new are opened, edited and made as others are", async (t) => {
  const ask = { agent_id: "default", messages: [{ role: "user", content: "hello" }] };
  await call("POST", "/v1/schedules", { id: "new", cron: "0 9 * * *", run: ask });
  await call("POST", "/v1/triggers", { id: "new", run: ask });
  await call("POST", "/v1/webhooks", { id: "new", url: "https://example.com/x" });
  await call("POST", "/v1/eval/datasets", { id: "new", spec: { fixtures: [{ id: "new", user_input: "hello" }] } });
  await call("POST", "/v1/config/agents", { id: "new", model_id: "default", system_prompt: "One." });
  await call("POST", "/v1/config/model-pools", { id: "new", members: [{ model_id: "default" }] });
  await run(server.url, "default", "hello", { thread_id: "new" });
  const page = await open(t, "/");
  for (const path of ["/schedules", "/triggers", "/webhooks", "/datasets", "/agents", "/pools"]) {
    await page.goto(`${server.url}${path}`);
    await page.getByRole("main").getByRole("link", { name: "new", exact: true }).first().click();
    await page.getByRole("heading", { level: 1, name: "new", exact: true }).waitFor();
  }
  await page.goto(`${server.url}/threads/new`);
  await page.getByText("hello", { exact: true }).first().waitFor();
  await page.goto(`${server.url}/schedules/new/edit`);
  await page.getByLabel("Description").fill("mine");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Schedule “new” saved").waitFor();
  await page.goto(`${server.url}/datasets/new`);
  await page.getByRole("link", { name: "New case" }).click();
  await page.getByLabel("Case ID").fill("another");
  await page.getByText("Unsaved changes").waitFor();
  await page.reload();
  await page.getByText("Unsaved changes").waitFor();
  assert.equal(await page.getByLabel("Case ID").inputValue(), "another");
});

looks(
  "schedules, webhooks and triggers",
  {
    schedules: "/schedules",
    schedule: "/schedules/nightly",
    newSchedule: "/schedules/-/new",
    scheduleEdit: "/schedules/nightly/edit",
    webhooks: "/webhooks",
    webhook: "/webhooks/audit",
    newWebhook: "/webhooks/-/new",
    webhookEdit: "/webhooks/audit/edit",
    triggers: "/triggers",
    trigger: "/triggers/issues",
    newTrigger: "/triggers/-/new",
    triggerEdit: "/triggers/issues/edit",
  },
  { few: ["light"] },
);
