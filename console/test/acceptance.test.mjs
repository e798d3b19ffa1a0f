// The acceptance list of the console's design, line by line: T-1 to T-12 are what people come for. Lines that other files prove are named there.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { client, long, run, serve, settled, sleep, stage, violations, visit } from "./rig.mjs";

const env = { AWAKEN_OUTBOUND_ALLOW: "127.0.0.0/8", AWAKEN_SERVER_MCP_COMMANDS: process.execPath };
const { server, browser, call, open } = stage({ env });

const phone = { viewport: { width: 390, height: 844 } };

test("T-1: from a failed run to the exact prompt in three clicks", async (t) => {
  const failed = await run(server.url, "scenario", "scenario:error and the exact prompt").catch(() => undefined);
  const { items } = await call("GET", "/v1/runs?outcome=error&limit=1");
  assert.ok(items[0], `no run failed: ${JSON.stringify(failed)}`);
  const page = await open(t, "/runs?outcome=error");
  await page.getByRole("link", { name: `…${items[0].run_id.slice(-6)}` }).click();
  await page.getByRole("region", { name: "Why it is here" }).getByText("boom").first().waitFor();
  await page.getByRole("treegrid", { name: "Timeline" }).getByRole("link").first().click();
  await page.getByRole("button", { name: "What the model saw" }).click();
  const seen = page.getByRole("region", { name: "What the model saw" });
  await seen.getByText("scenario:error and the exact prompt", { exact: true }).waitFor();
  await seen.getByText("You are the scenario agent.").first().waitFor();
  assert.deepEqual(await violations(page), []);
});

test("T-2: edited arguments are approved at 390 px, by keyboard alone, with names for a screen reader; the second approver sees who was faster", async (t) => {
  const asked = await run(server.url, "scenario", "scenario:approval");
  const path = `/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`;
  const ann = await call("POST", "/v1/keys", { kind: "run", label: "Ann" });
  const bo = await call("POST", "/v1/keys", { kind: "run", label: "Bo" });
  const first = await open(t, path, { ...phone, key: ann.secret });
  const second = await open(t, path, { ...phone, key: bo.secret, allow: [/409/, /ERR_FAILED/] });
  await second.getByRole("button", { name: "Approve" }).waitFor();
  await second.route("**/v1/approvals?*", (r) => r.abort()); // its list stays as it is
  await first.getByRole("heading", { name: "Delete /tmp/x?" }).waitFor();
  /** reach presses Tab until what has the focus has a role and a name. */
  const reach = async (page, role, name) => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      const there = page.getByRole(role, { name }).and(page.locator(":focus"));
      if (await there.count()) return there;
    }
    assert.fail(`Tab does not reach ${role} ${name}`);
  };
  await reach(first, "textbox", "path");
  await first.keyboard.press("Control+a");
  await first.keyboard.type("/tmp/y");
  await reach(first, "textbox", "Reason (shown to the model)");
  await first.keyboard.type("the other one");
  await reach(first, "button", "Approve as edited");
  await first.keyboard.press("Enter");
  await first.getByText("Approved. The run continues.").waitFor();
  const { items } = await call("GET", `/v1/decisions?run_id=${asked.run_id}`);
  assert.deepEqual([items[0].action, items[0].arguments, items[0].reason, items[0].actor.label], ["resume", { path: "/tmp/y" }, "the other one", "Ann"]);
  await second.getByRole("button", { name: "Approve" }).focus();
  await second.keyboard.press("Enter");
  await second.getByText("Ann already decided").waitFor();
});

test("T-4: yesterday's dearest run in three clicks", async (t) => {
  await call("POST", "/v1/config/models", { id: "dear", provider_id: "default", upstream_model: "demo", input_token_price_per_million_usd: 1000, output_token_price_per_million_usd: 1000 });
  await call("POST", "/v1/config/agents", { id: "spender", model_id: "dear", system_prompt: "You spend.", plugin_ids: ["demo"] });
  await run(server.url, "spender", "hello");
  const dearest = await run(server.url, "spender", "RUN_WEATHER_TOOL"); // asks the model twice
  await run(server.url, "spender", "hello");
  const page = await open(t, "/sign-in");
  const { created_at } = await call("GET", `/v1/runs/${dearest.run_id}`);
  const day = new Date(created_at < 1e11 ? created_at * 1000 : created_at);
  const tomorrow = (hours) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1, hours).getTime();
  await page.route("**/v1/session", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), now_ms: tomorrow(12) } }); // the page takes the server's clock for its own: for it, the runs are of yesterday
  });
  await page.goto(server.url + "/");
  await page.getByRole("link", { name: "Cost & figures" }).click();
  const time = page.getByLabel("Time", { exact: true });
  await time.selectOption("yesterday");
  const list = page.getByRole("region", { name: "Most expensive runs" }).getByRole("listitem");
  await list.nth(2).waitFor();
  await list.first().getByRole("link").click();
  await page.waitForURL(new RegExp(`/runs/${dearest.run_id}$`));
  for (let i = 0; i < 1200 && !(await call("GET", "/v1/stats/series?metric=cost_usd&by=agent")).series.some((s) => s.key === "spender"); i++) await sleep(100);
  await page.goBack();
  await page.reload();
  await page.getByRole("link", { name: "Runs of spender" }).click();
  const { searchParams: address } = new URL(page.url());
  assert.deepEqual([address.get("since"), address.get("until")], [new Date(tomorrow(-24)).toISOString(), new Date(tomorrow(0)).toISOString()]);
  await page.goBack();
  await time.selectOption("custom");
  assert.equal(await page.getByLabel("From", { exact: true }).inputValue(), await page.getByLabel("To (inclusive)").inputValue());
  await list.nth(2).waitFor();
  await page.getByLabel("From", { exact: true }).fill("2020-01-01");
  await page.getByLabel("To (inclusive)").fill("2020-01-31");
  await page.getByText("No run in this period had a cost").waitFor();
  assert.deepEqual(await violations(page), []);
});

test("T-5: each reason to wait and each state of the queue has its sentence, in both languages", async (t) => {
  const spec = await (await fetch(server.url + "/openapi.json")).json();
  const names = (path, param) => spec.paths[path].get.parameters.find((p) => p.name === param).schema.enum;
  const reasons = names("/v1/runs", "waiting_reason");
  assert.ok(reasons.length >= 5, String(reasons));
  const asked = { tool_permission: await run(server.url, "scenario", "scenario:approval"), user_input: await run(server.url, "scenario", "scenario:frontend-tool") };
  for (const locale of ["en", "zh-CN"]) {
    const page = await open(t, "/runs", { locale });
    const choice = page.getByRole("search").getByRole("combobox").filter({ has: page.locator('option[value="tool_permission"]') });
    await choice.waitFor();
    const words = await choice.locator("option").allTextContents();
    for (const r of reasons) assert.ok(!words.includes(r), `${r} has no words in ${locale}`);
    assert.equal(words.length, reasons.length + 1);
    for (const made of Object.values(asked)) {
      await page.goto(`${server.url}/runs/${made.run_id}`);
      const why = page.getByRole("main").locator("section").first();
      await why.waitFor();
      assert.match(await why.innerText(), /\S+ \S+/);
    }
  }
});

/** mailer is a server of MCP that notes each letter that it sends in a file, and then says nothing, unless it sends the letter a second time. Written for Node.js without packages. */
const mailer = `
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "mail", version: "1" } });
  else if (method === "tools/list") say(id, { tools: [{ name: "send", description: "Sends a letter.", inputSchema: { type: "object", properties: { to: { type: "string" } } } }] });
  else if (method === "tools/call") {
    const { to } = params.arguments;
    appendFileSync(process.argv[2], to + "\\n");
    if (readFileSync(process.argv[2], "utf8").split("\\n").filter((l) => l === to).length > 1) say(id, { content: [{ type: "text", text: "sent to " + to }] });
  } else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: method } }) + "\\n");
});
`;

/** crashed returns a server that was killed while it sent a letter to each of some people, and was started again, with the ids of the runs by person. */
async function crashed(t, people, config) {
  const dir = mkdtempSync(join(tmpdir(), "awaken-mail-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "mail.mjs"), mailer);
  const letters = () => readFileSync(join(dir, "sent"), "utf8").trim().split("\n").sort();
  let own = await serve({ env });
  const { key, url } = own;
  t.after(() => own.stop());
  const ask = client(url, key);
  await ask("POST", "/v1/config/mcp-servers", { id: "mail", transport: "stdio", command: process.execPath, args: [join(dir, "mail.mjs"), join(dir, "sent")], timeout_secs: 600, config });
  for (let i = 0; i < 300 && !JSON.stringify(await ask("GET", "/v1/mcp-servers/mail/status")).includes("send"); i++) await sleep(100);
  const runs = {};
  for (const person of people) {
    const { id } = await ask("POST", "/v1/threads", {});
    await ask("POST", `/v1/threads/${id}/messages`, { agent_id: "scenario", messages: [{ role: "user", content: `RUN_TOOL mcp__mail__send {"to":"${person}"}` }] });
    for (let i = 0; i < 600 && !(existsSync(join(dir, "sent")) && letters().includes(person)); i++) await sleep(100);
    [{ run_id: runs[person] }] = (await ask("GET", `/v1/threads/${id}/runs`)).items;
  }
  assert.deepEqual(letters(), [...people].sort());
  const v = await visit(browser, `${url}/runs/${runs[people[0]]}`, { key, allow: [/ERR_/, /40[14]/] });
  t.after(() => v.context.close());
  await v.page.getByRole("treegrid", { name: "Timeline" }).getByText("mcp__mail__send").first().waitFor();
  await own.kill();
  own = { ...(await serve({ dir: own.dir, address: new URL(url).host, env })), key };
  return { url, ask, page: v.page, runs, letters };
}

test("T-8: a call with an effect, in which the server was killed, is shown as in doubt and is not made again", { timeout: 300_000 }, async (t) => {
  const { url, ask, page, runs, letters } = await crashed(t, ["ann"]);
  await page.getByRole("main").getByText("Done", { exact: true }).waitFor({ timeout: 240_000 });
  const timeline = page.getByRole("treegrid", { name: "Timeline" });
  await timeline.getByText(/Taken over/).first().waitFor();
  await timeline.getByRole("link", { name: /mcp__mail__send/ }).click();
  await page.getByRole("complementary").getByText("In doubt").first().waitFor();
  await settled(page);
  assert.deepEqual(await violations(page), []);
  const [row] = (await ask("GET", `/v1/runs/${runs.ann}/timeline`)).calls;
  assert.equal(row.in_doubt, true);
  await page.goto(`${url}/runs?in_doubt=true`);
  await page.getByRole("link", { name: `…${runs.ann.slice(-6)}` }).waitFor();
  assert.deepEqual(letters(), ["ann"]);
});

test("T-8: a call in doubt is settled by a person in three ways: made again, given up, or with the result that it had", { timeout: 400_000 }, async (t) => {
  const { url, ask, page, runs, letters } = await crashed(t, ["ann", "bo", "cy"], { in_doubt: "suspend" });
  await page.getByRole("main").getByText("Waits for a person").waitFor({ timeout: 240_000 });
  await page.getByRole("treegrid", { name: "Timeline" }).getByText(/Taken over/).first().waitFor();
  await page.goto(`${url}/approvals`);
  const list = page.getByRole("list", { name: "Approvals" });
  await list.getByRole("listitem").nth(2).waitFor({ timeout: 240_000 });
  assert.deepEqual(letters(), ["ann", "bo", "cy"], "a letter was sent again without a word");
  const answers = {
    ann: { done: "The call is made again.", action: "resume", status: "succeeded", result: /sent to ann/, do: (card) => card.getByRole("button", { name: "Make it again" }).click() },
    bo: { done: "Given up.", action: "cancel", status: "cancelled", result: /better not/, do: (card) => card.getByRole("button", { name: "Give up" }).click() },
    cy: {
      done: "Your result is that of the call",
      action: "resume",
      status: "succeeded",
      result: /cy has it/,
      async do(card) {
        await card.getByLabel("It happened, with this result", { exact: true }).last().fill('{"answer":"cy has it"}');
        await card.getByRole("button", { name: "Use as the result" }).click();
      },
    },
  };
  for (const [person, answer] of Object.entries(answers)) {
    const { items } = await ask("GET", "/v1/approvals");
    const { ticket_id } = items.find((a) => a.run_id === runs[person]);
    await page.goto(`${url}/approvals/${runs[person]}/${ticket_id}`);
    const card = page.getByRole("article");
    await card.getByText("It is not known whether this call took effect").waitFor();
    await card.getByText(`"${person}"`).first().waitFor();
    await settled(page);
    assert.deepEqual(await violations(page), []);
    await card.getByLabel("Reason (shown to the model)").fill(`better not, ${person}`);
    await answer.do(card);
    await card.getByText(answer.done).waitFor();
    for (let i = 0; i < 600 && (await ask("GET", `/v1/runs/${runs[person]}`)).status !== "done"; i++) await sleep(100);
    const [decided] = (await ask("GET", `/v1/decisions?run_id=${runs[person]}`)).items;
    assert.equal(decided.action, answer.action);
    const [row] = (await ask("GET", `/v1/runs/${runs[person]}/timeline`)).calls;
    assert.deepEqual([row.in_doubt, row.status, row.decisions.length], [true, answer.status, 1], person);
    const events = JSON.stringify((await ask("GET", `/v1/runs/${runs[person]}/events?limit=500`)).items.filter((e) => /^tool_call_(done|resumed)$/.test(e.payload.event_type)));
    assert.match(events, answer.result, person);
    await page.goto(`${url}/runs/${runs[person]}/calls/${row.call_id}`);
    await page.getByRole("complementary").getByText(`better not, ${person}`).first().waitFor();
    await page.getByRole("main").getByText("Done", { exact: true }).first().waitFor();
  }
  assert.deepEqual(letters(), ["ann", "ann", "bo", "cy"], "only the letter that a person had sent again was");
  await page.goto(`${url}/approvals?view=decided`);
  await page.getByRole("list", { name: "Decided" }).getByRole("listitem").nth(2).waitFor();
});

test("T-9: a person takes over: queues a message, withdraws it, interrupts, and cancels", async (t) => {
  const { id } = await call("POST", "/v1/threads", {});
  await call("POST", `/v1/threads/${id}/messages`, { agent_id: "scenario", messages: [{ role: "user", content: "scenario:hang" }] });
  const page = await open(t, `/threads/${id}`);
  await page.getByText("tick2").waitFor();
  const say = async (text) => {
    await page.getByPlaceholder("Type a message…").fill(text);
    await page.getByRole("button", { name: /Send/ }).click();
  };
  const mode = page.getByLabel("While a run is in progress");
  const modes = await mode.locator("option").evaluateAll((list) => list.map((o) => o.value));
  await mode.selectOption(modes[0]);
  await say("a message for later");
  const queued = page.getByRole("region", { name: "Queued, not read by the run yet" });
  await queued.getByText("a message for later").waitFor();
  assert.deepEqual(await violations(page), []);
  await queued.getByRole("button", { name: "Withdraw" }).click();
  await queued.waitFor({ state: "hidden" });
  const interrupting = modes.find((m) => /interrupt/.test(m));
  assert.ok(interrupting, String(modes));
  await mode.selectOption(interrupting);
  await say("now this instead");
  await page.getByText("Scripted response to: now this instead").waitFor();
  await call("POST", `/v1/threads/${id}/messages`, { agent_id: "scenario", messages: [{ role: "user", content: "scenario:hang" }] });
  await page.getByRole("button", { name: "Interrupt" }).click();
  await page.getByRole("button", { name: "Interrupt" }).waitFor({ state: "hidden" });
  await call("POST", `/v1/threads/${id}/messages`, { agent_id: "scenario", messages: [{ role: "user", content: "scenario:hang" }] });
  const { items } = await call("GET", `/v1/threads/${id}/runs`);
  await page.goto(`${server.url}/runs/${items[0].run_id}`);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("main").getByText("Cancelled", { exact: true }).waitFor();
});

test("T-9: a person steers a run: what they say is taken in at its next step, and no other run is made", async (t) => {
  const { id } = await call("POST", "/v1/threads", {});
  await call("POST", `/v1/threads/${id}/messages`, { agent_id: "scenario", messages: [{ role: "user", content: 'RUN_TOOL progress_demo {"steps":60,"delay_ms":200}' }] });
  const page = await open(t, `/threads/${id}`);
  await page.getByLabel("While a run is in progress").selectOption("steer");
  await page.getByPlaceholder("Type a message…").fill("rather the coast");
  await page.getByRole("button", { name: /Send/ }).click();
  await page.getByText("Scripted response to: rather the coast").waitFor();
  const { items } = await call("GET", `/v1/threads/${id}/runs`);
  assert.deepEqual([items.length, items[0].status], [1, "done"]);
});

test("T-9: a run is forked at a step, with another result of a call; the fork says what it is from, and the run stays as it was", async (t) => {
  const one = await run(server.url, "scenario", "RUN_WEATHER_TOOL");
  const before = await call("GET", `/v1/threads/${one.thread_id}/messages`);
  const page = await open(t, `/runs/${one.run_id}/steps/1`);
  await page.getByRole("button", { name: "Fork from this step…" }).click();
  await page.waitForURL(/\/fork\?step=1$/);
  assert.equal(await page.getByLabel("From step").inputValue(), "1");
  await page.getByText("You are the scenario agent.").waitFor();
  await page.getByRole("group", { name: /get_weather/ }).getByLabel("Another result").check();
  await page.getByLabel(/^Result of get_weather/).fill("It rains frogs.");
  await page.getByLabel("Temperature").fill("warm");
  await page.getByRole("button", { name: "Add a result" }).click();
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByText("This is not a number.").waitFor();
  await page.getByText("Name the tool.").waitFor();
  assert.equal(await page.getByLabel("Temperature").getAttribute("aria-invalid"), "true");
  assert.deepEqual(await violations(page), []);
  await page.getByLabel("Temperature").fill("0");
  await page.getByRole("button", { name: "Remove result 1" }).click();
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByText("get_weather answered: It rains frogs.").waitFor();
  const origin = page.getByRole("link", { name: `Forked from run …${one.run_id.slice(-6)}, before step 1` });
  const made = await call("GET", `/v1/threads/${new URL(page.url()).pathname.split("/").at(-1)}`);
  assert.deepEqual([made.forked_from.run_id, made.forked_from.step], [one.run_id, 1]);
  assert.deepEqual(await violations(page), []);
  await origin.click();
  await page.waitForURL(new RegExp(`/runs/${one.run_id}/steps/1$`));
  assert.deepEqual(await call("GET", `/v1/threads/${one.thread_id}/messages`), before);

  // The run lists its fork, and the page of the fork names the run, the step and what was changed.
  const changed = "Changed: temperature 0, result of 1 call";
  await page.getByRole("heading", { name: "1 fork" }).waitFor();
  await page.getByText(changed).waitFor();
  await page.getByRole("link", { name: `…${made.forked_from.fork_run_id.slice(-6)}` }).click();
  await page.waitForURL(new RegExp(`/runs/${made.forked_from.fork_run_id}$`));
  await origin.waitFor();
  await page.getByText(changed).waitFor();
  await page.getByRole("link", { name: "Side by side" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await origin.click();

  // From the first step, with nothing changed, it does what it did: calls get their recorded results.
  await page.getByRole("button", { name: "Fork…" }).click();
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByText(/get_weather answered: .*Tokyo/).waitFor();

  // A conversation is taken up from one of its messages, by every key that may run.
  const other = await open(t, `/threads/${one.thread_id}`, { key: (await call("POST", "/v1/keys", { kind: "run" })).secret });
  await other.getByRole("article").first().getByRole("button", { name: "Fork from here" }).click();
  await other.getByRole("link", { name: `Forked from thread …${one.thread_id.slice(-6)}, after 1 message` }).waitFor();
  await other.goto(`${server.url}/runs/${one.run_id}`);
  assert.equal(await other.getByRole("button", { name: "Fork…" }).getAttribute("title"), "Only administrators of the server can fork.");
  await other.goto(`${server.url}/runs/${one.run_id}/fork`);
  await other.getByText("This page needs an admin key of the server, not of a tenant.").waitFor();
});

test("T-10: what the preview of rules says is what then happens", { timeout: 900_000 }, async (t) => {
  const many = long ? 1000 : 30;
  const rules = [{ tool: "get_*", behavior: "allow" }, { tool: 'append_note(text ~ "draft*")', behavior: "allow" }, { tool: 'append_note(text ~ "secret*")', behavior: "deny" }, { tool: "fail*", behavior: "deny" }];
  const agent = { id: "ruled", model_id: "default", system_prompt: "You obey.", plugin_ids: ["demo", "permission"], sections: { permission: { default_behavior: "ask", rules } } };
  await call("POST", "/v1/config/agents", agent);
  const kinds = [
    (i) => ["get_weather", { location: `place ${i}` }],
    (i) => ["append_note", { text: `draft ${i}` }],
    (i) => ["append_note", { text: `secret ${i}` }],
    (i) => ["append_note", { text: `note ${i}` }],
    (i) => ["failingTool", { n: i }],
    (i) => ["delete_file", { path: `/tmp/${i}` }],
  ];
  const calls = Array.from({ length: many }, (_, i) => kinds[i % kinds.length](i)).map(([tool, args]) => ({ tool, arguments: args }));
  const said = [];
  for (let i = 0; i < many; i += 200) said.push(...(await call("POST", "/v1/agents/permission-preview", { agent: "ruled", calls: calls.slice(i, i + 200) })).items.map((x) => x.behavior));
  assert.deepEqual(new Set(said), new Set(["allow", "ask", "deny"]));
  const happened = [];
  for (const c of calls) {
    const made = await run(server.url, "ruled", `RUN_TOOL ${c.tool} ${JSON.stringify(c.arguments)}`);
    if (made.status === "waiting") happened.push("ask");
    else {
      const [row] = (await call("GET", `/v1/runs/${made.run_id}/timeline`)).calls;
      happened.push(row.started_at ? "allow" : "deny");
    }
  }
  assert.deepEqual(happened, said);
  const last = happened.slice(-500); // the page looks at as many calls
  const page = await open(t, "/agents/ruled/permissions");
  const trial = page.getByRole("region", { name: "What these rules would have done" });
  for (const b of ["allow", "ask", "deny"]) await trial.getByRole("button", { name: `${b} ${last.filter((x) => x === b).length}`, exact: true }).waitFor();
  await trial.getByText(`${last.length} calls of ${last.length} runs, `).waitFor();
  await trial.getByText(many > last.length ? "Older calls were not looked at." : "These are all its calls.").waitFor();
});

test("T-11: from nothing to an answer: a model is connected, an agent made and asked", async (t) => {
  const models = createServer((req, res) => {
    let body = "";
    req.on("data", (d) => (body += d));
    req.on("end", () => {
      if (req.headers.authorization !== "Bearer sk-planted-secret") return res.writeHead(401, { "Content-Type": "application/json" }).end('{"error":{"message":"wrong key"}}');
      if (req.url.endsWith("/models")) return res.writeHead(200, { "Content-Type": "application/json" }).end('{"object":"list","data":[{"id":"tiny","object":"model"}]}');
      const chunk = (delta, finish = null) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "tiny", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      if (!JSON.parse(body).stream) return res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "tiny", choices: [{ index: 0, message: { role: "assistant", content: "An answer of tiny." }, finish_reason: "stop" }], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } }));
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.end(chunk({ role: "assistant", content: "An answer " }) + chunk({ content: "of tiny." }) + chunk({}, "stop") + "data: [DONE]\n\n");
    });
  });
  await new Promise((resolve) => models.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    models.closeAllConnections();
    models.close();
  });
  const own = await serve({ env, seed: "" });
  t.after(() => own.stop());
  const began = Date.now();
  const { page, context, bad } = await visit(browser, own.url + "/sign-in");
  t.after(() => context.close());
  await page.getByLabel("Key", { exact: true }).fill(own.key);
  await page.keyboard.press("Enter");
  const connect = page.getByRole("region", { name: "Connect a model" });
  await connect.getByRole("combobox").selectOption("openai");
  await connect.getByRole("textbox", { name: "Model", exact: true }).fill("tiny");
  await connect.getByLabel("API key").fill("sk-planted-secret");
  await connect.getByLabel("Base URL").fill(`http://127.0.0.1:${models.address().port}/v1`);
  await connect.getByRole("button", { name: "Connect and test" }).click();
  await connect.getByText("tiny works").waitFor();
  await connect.getByRole("button", { name: "Use it" }).click();
  await connect.getByText(/now answers with tiny/).waitFor();
  const attempt = page.getByRole("region", { name: "Try an agent here" });
  await attempt.getByRole("textbox", { name: "Message" }).fill("Where should I go?");
  await page.keyboard.press("Enter");
  await attempt.getByText("An answer of tiny.").waitFor();
  t.diagnostic(`from nothing to an answer in ${Math.round((Date.now() - began) / 1000)} s`);
  assert.deepEqual(bad, []);
});

test("two administrators edit one agent, and no text is lost; the second sees both", async (t) => {
  await call("POST", "/v1/config/agents", { id: "shared", model_id: "default", system_prompt: "one", description: "first" });
  const ann = await open(t, "/agents/shared/basics", { allow: [/412/] });
  const bo = await open(t, "/agents/shared/basics", { allow: [/412/] });
  await ann.getByLabel("System prompt", { exact: true }).fill("the prompt of Ann");
  await bo.getByLabel("System prompt", { exact: true }).fill("the prompt of Bo");
  await bo.getByLabel("Description", { exact: true }).fill("the description of Bo");
  await ann.getByText("no problems").waitFor();
  await ann.getByRole("button", { name: "Publish" }).click();
  await ann.getByRole("button", { name: "Publish now" }).click();
  await ann.getByText('Agent "shared" saved').waitFor();
  const conflict = bo.getByRole("region", { name: "Changed elsewhere while you were editing" });
  await conflict.getByText("the prompt of Ann", { exact: true }).waitFor();
  assert.equal(await bo.getByLabel("System prompt", { exact: true }).inputValue(), "the prompt of Bo", "what Bo wrote is gone");
  await conflict.getByRole("button", { name: "Continue with both" }).click();
  await conflict.waitFor({ state: "hidden" });
  await bo.getByRole("button", { name: "Publish" }).click();
  await bo.getByRole("button", { name: "Publish now" }).click();
  await bo.getByText('Agent "shared" saved').waitFor();
  const now = await call("GET", "/v1/config/agents/shared?state=live");
  assert.deepEqual([now.system_prompt, now.description], ["the prompt of Bo", "the description of Bo"]);
  const { items } = await call("GET", "/v1/audit-log?resource=agents/shared");
  assert.match(JSON.stringify(items), /the prompt of Ann/, "what Ann wrote is not in the history");
});

/** edits returns what the browser keeps of edits that were not saved. */
const edits = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        const open = indexedDB.open("awaken");
        open.onsuccess = () =>
          (open.result.transaction("edits").objectStore("edits").getAll().onsuccess = (e) => {
            open.result.close();
            resolve(JSON.stringify(e.target.result));
          });
      }),
  );

/** written waits until the browser keeps a text. */
async function written(page, text) {
  for (let i = 0; i < 600; i++) {
    if ((await edits(page)).includes(text)) return;
    await page.waitForTimeout(100);
  }
  assert.fail("the edit is not kept");
}

test("an edit is back after a reload, signing out, and the crash of its tab; a secret is not", async (t) => {
  await call("POST", "/v1/config/agents", { id: "edited", model_id: "default", system_prompt: "before" });
  const big = "a long prompt ".repeat(400_000); // more than localStorage takes
  const { page, context, bad } = await visit(browser, `${server.url}/agents/edited/basics`, { key: server.key, allow: [/401/] });
  t.after(() => context.close());
  const prompt = (p) => p.getByLabel("System prompt", { exact: true });
  const back = async (p, text) => {
    await p.getByText(/Restored from/).waitFor();
    assert.ok((await prompt(p).inputValue()) === text, "the edit is not what was written");
  };
  page.on("dialog", (d) => void d.accept());
  await prompt(page).fill("after");
  await page.reload(); // at once
  await back(page, "after");
  await prompt(page).fill("signed out");
  await written(page, "signed out");
  await page.getByRole("button", { name: "Sign out" }).click();
  const leave = page.getByRole("dialog", { name: /unsaved/i });
  if (await leave.isVisible().catch(() => false)) await leave.getByRole("button").last().click();
  await page.goto(`${server.url}/sign-in?next=${encodeURIComponent("/agents/edited/basics")}`);
  if (await page.getByLabel("Key", { exact: true }).isVisible()) {
    await page.getByLabel("Key", { exact: true }).fill(server.key);
    await page.keyboard.press("Enter");
  }
  await page.waitForURL(/\/agents\/edited/);
  await back(page, "signed out");
  await prompt(page).fill(big);
  await written(page, big);
  const crashed = page.waitForEvent("crash");
  page.goto("chrome://crash").catch(() => {});
  await crashed;
  const next = await context.newPage();
  await next.goto(`${server.url}/agents/edited/basics`);
  await back(next, big);
  await next.goto(`${server.url}/providers/-/new`);
  await next.getByLabel("Provider ID").fill("never");
  await next.getByLabel("API key", { exact: true }).fill("sk-planted-secret");
  await written(next, "never");
  const kept = await edits(next);
  assert.match(kept, /never/);
  assert.ok(!kept.includes("sk-planted-secret"), "the database has the secret");
  assert.deepEqual(bad, []);
});

test("a feed that is lost is said within five seconds", async (t) => {
  const own = await serve({});
  t.after(() => own.stop());
  const { page, context } = await visit(browser, own.url + "/runs");
  t.after(() => context.close());
  await page.getByRole("banner").getByText("Live").waitFor();
  const began = Date.now();
  await own.kill();
  await page.getByText(/No connection since/).waitFor();
  const took = Date.now() - began;
  t.diagnostic(`said after ${took} ms`);
  if (process.env.AWAKEN_QUIET === "1") assert.ok(took < 5000, `said after ${took} ms`);
});

/** The addresses of the design, §2.1. */
async function addresses() {
  const done = await run(server.url, "default", "hello");
  const asked = await run(server.url, "scenario", "scenario:approval");
  const { messages } = await call("GET", `/v1/threads/${done.thread_id}/messages`);
  const { live } = await call("GET", "/v1/registry/versions");
  const { items } = await call("GET", "/v1/audit-log?limit=1");
  const { id: dataset } = await call("POST", "/v1/eval/datasets", { spec: { fixtures: [{ id: "hi", user_input: "hello", provider_script: [{ kind: "chat_response", content: "Hello!" }], expect: {} }] } });
  const { run: evaluated } = await call("POST", "/v1/eval/runs", { dataset_id: dataset });
  const started = { agent_id: "default", messages: [{ role: "user", content: "hello" }] };
  const { id: schedule } = await call("POST", "/v1/schedules", { cron: "@daily", run: started });
  const { id: webhook } = await call("POST", "/v1/webhooks", { url: "https://example.com/awaken", paused: true });
  const { id: trigger } = await call("POST", "/v1/triggers", { run: started });
  return [
    ...[`/schedules/${schedule}`, `/webhooks/${webhook}`, `/triggers/${trigger}`].flatMap((path) => [path, `${path}/edit`]),
    "/schedules/-/new",
    "/webhooks/-/new",
    "/triggers/-/new",
    `/config/schedules/${schedule}`,
    `/runs/${done.run_id}/fork?step=0`,
    `/datasets/${dataset}`,
    `/datasets/${dataset}/cases/hi`,
    `/evals/${evaluated.id}?cell=0:hi`,
    "/evals/new",
    "/evals/online",
    `/runs/${done.run_id}`,
    `/runs/${done.run_id}/steps/0`,
    `/runs/${asked.run_id}/calls/${asked.waiting.tickets[0].tool_call_id}`,
    `/threads/${done.thread_id}`,
    `/threads/${done.thread_id}/messages/${messages[0].id}`,
    `/approvals/${asked.run_id}/${asked.waiting.ticket_ids[0]}`,
    "/agents/default/tools",
    `/versions/${live}`,
    `/versions/1...${live}`,
    "/config/agents/default",
    "/config/providers/default",
    "/config/models/default",
    `/audit/${items[0].id}`,
  ];
}

const everywhere = ["/", "/approvals", "/approvals?view=decided", "/runs", "/threads", "/threads/-/new", "/agents", "/tools", "/skills", "/versions", "/datasets", "/evals", "/queue", "/queue?view=dead", "/cost", "/audit", "/schedules", "/triggers", "/webhooks", "/providers", "/models", "/pools", "/mcp-servers", "/a2a-servers", "/keys", "/system"];

test("every address works after a reload", async (t) => {
  const page = await open(t, "/");
  for (const path of [...everywhere, ...(await addresses())]) {
    await page.goto(server.url + path);
    await page.locator("h1, h2").first().waitFor();
    await settled(page);
    const title = await page.title();
    await page.reload();
    await page.locator("h1, h2").first().waitFor();
    await settled(page);
    assert.equal(await page.title(), title, path);
    assert.equal(await page.getByRole("heading", { name: "This does not exist" }).count(), 0, path);
  }
});

test("with each kind of key: no dead button without a reason, no request that is refused, and none that the API does not describe", { timeout: 1_800_000 }, async (t) => {
  const spec = await (await fetch(server.url + "/openapi.json")).json();
  const known = Object.keys(spec.paths).map((p) => [new RegExp(`^${p.replace(/[.+]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+")}$`), spec.paths[p]]);
  const make = async (body) => (await call("POST", "/v1/keys", body)).secret;
  const acme = await make({ kind: "admin", label: "of acme", tenant: "acme" });
  const inAcme = await run(server.url, "scenario", "scenario:approval", {}, acme);
  const kinds = {
    none: {},
    read: { key: await make({ kind: "read", label: "auditor" }) },
    run: { key: await make({ kind: "run", label: "approver" }) },
    user: { key: await make({ kind: "run", label: "of a user", user: "user-7" }) },
    tenant: { key: acme },
    admin: { key: server.key },
    visitor: { key: server.key, tenant: "acme" },
  };
  const own = await addresses();
  for (const [kind, { key, tenant }] of Object.entries(kinds)) {
    await t.test(kind, async (t) => {
      const { page, context, bad } = await visit(browser, server.url + "/", { key, allow: kind === "user" || kind === "tenant" || kind === "visitor" ? [/404/] : [] }); // what is of others is not there for them
      t.after(() => context.close());
      const asked = [];
      page.on("request", (q) => /\/v1\//.test(q.url()) && asked.push([q.method(), new URL(q.url()).pathname]));
      await settled(page);
      if (tenant) {
        await page.getByLabel("Tenant").selectOption(tenant);
        await page.getByText(`Tenant ${tenant}`).first().waitFor();
      }
      const dead = [];
      for (const path of [...everywhere, ...own, `/runs/${inAcme.run_id}`]) {
        if (kind !== "tenant" && !tenant && path.includes(inAcme.run_id)) continue;
        await page.goto(server.url + path);
        await page.locator("h1, h2").first().waitFor();
        await settled(page);
        dead.push(...(await page.evaluate(() => [...document.querySelectorAll("main button[disabled], main button[aria-disabled=true]")].filter((b) => b.checkVisibility() && !b.title && !b.getAttribute("aria-describedby")).map((b) => b.outerHTML.slice(0, 200)))).map((b) => `${path}: ${b}`));
      }
      assert.deepEqual(dead, []);
      assert.deepEqual(bad, []);
      const unknown = asked.filter(([method, path]) => !known.some(([is, methods]) => is.test(path) && methods[method.toLowerCase()]));
      assert.deepEqual(unknown, []);
      t.diagnostic(`${asked.length} requests`);
    });
  }
});
