// The console under load. Each test prints its figure. The limits are asserted if AWAKEN_QUIET=1 says that nothing else uses the machine.
import assert from "node:assert/strict";
import { createServer, request as ask } from "node:http";
import { after, before, test } from "node:test";
import { launch, long, run, serve, visit } from "./rig.mjs";

const quiet = process.env.AWAKEN_QUIET === "1";
let server, browser;

before(async () => {
  if (!long) return;
  [server, browser] = await Promise.all([serve({}), launch()]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** limit prints a figure, and holds it to its limit on a quiet machine. */
function limit(t, name, value, unit, holds) {
  t.diagnostic(`${name}: ${typeof value === "number" ? Math.round(value * 10) / 10 : value} ${unit}`);
  if (quiet) assert.ok(holds(value), `${name} is ${value} ${unit}`);
}

/** gate is a proxy in front of the server. answer may answer a request itself; it returns whether it did. */
async function gate(t, answer) {
  const to = new URL(server.url);
  const proxy = createServer((req, res) => {
    const url = new URL(req.url, server.url);
    if (answer(req, res, url)) return;
    const up = ask({ host: to.hostname, port: to.port, path: req.url, method: req.method, headers: { ...req.headers, host: to.host } }, (back) => {
      res.writeHead(back.statusCode, back.headers);
      back.pipe(res);
    });
    up.on("error", () => res.destroy());
    req.pipe(up);
    res.on("close", () => up.destroy());
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${proxy.address().port}`;
}

const json = (res, body) => {
  res.writeHead(200, { "Content-Type": "application/json" });
  res.end(JSON.stringify(body));
};

/** envelope is event n of a run. */
const envelope = (id, thread, n, payload) => ({
  event_id: `e${n}`,
  event_kind: payload.event_type,
  payload,
  created_at: Date.now(),
  run_id: id,
  thread_id: thread,
  cursors_by_scope: [{ scope: { scope_type: "run", run_id: id }, cursor: `1-${n}` }],
});

test("a stream of 1,000 events per second is shown smoothly", { skip: !long, timeout: 300_000 }, async (t) => {
  const asked = await run(server.url, "scenario", "scenario:approval");
  const record = await (await fetch(`${server.url}/v1/runs/${asked.run_id}`)).json();
  const seconds = Number(process.env.AWAKEN_LOAD_SECONDS ?? 60);
  let sent = 0;
  const url = await gate(t, (req, res, at) => {
    if (at.pathname === `/v1/runs/${asked.run_id}`) return json(res, { ...record, status: "running", waiting: undefined }), true;
    if (at.pathname !== `/v1/runs/${asked.run_id}/events/stream`) return false;
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    const write = (n, payload) => res.write(`id: 1-${n}\ndata: ${JSON.stringify(envelope(asked.run_id, asked.thread_id, n, payload))}\n\n`);
    let n = 1000;
    write(n++, { event_type: "step_start", message_id: "long" });
    const began = Date.now();
    const timer = setInterval(() => {
      const due = Math.min(seconds * 1000, Date.now() - began);
      for (; sent < due; sent++) write(n++, { event_type: "text_delta", delta: `word${sent % 10} ` });
      if (sent >= seconds * 1000) clearInterval(timer);
    }, 10);
    res.on("close", () => clearInterval(timer));
    return true;
  });
  const { page, context } = await visit(browser, `${url}/runs/${asked.run_id}?tab=events`);
  t.after(() => context.close());
  await page.getByRole("list", { name: "Events" }).waitFor();
  const figures = await page.evaluate(async (ms) => {
    let frames = 0;
    let longest = 0;
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) longest = Math.max(longest, e.duration);
    }).observe({ type: "longtask" });
    const began = performance.now();
    await new Promise((resolve) => {
      const frame = () => {
        frames++;
        if (performance.now() - began < ms) requestAnimationFrame(frame);
        else resolve();
      };
      requestAnimationFrame(frame);
    });
    return { fps: (1000 * frames) / (performance.now() - began), longest, nodes: document.querySelectorAll("*").length };
  }, seconds * 1000);
  t.diagnostic(`events sent: ${sent} in ${seconds} s; nodes in the page: ${figures.nodes}`);
  assert.ok(figures.nodes < 3000, `${figures.nodes} nodes: rows that are not visible are in the page`);
  limit(t, "frames per second", figures.fps, "fps", (v) => v >= 50);
  limit(t, "longest task", figures.longest, "ms", (v) => v <= 100);
});

test("of 100,000 rows the first page is there at once", { skip: !long, timeout: 120_000 }, async (t) => {
  const made = await run(server.url, "default", "hello");
  const record = await (await fetch(`${server.url}/v1/runs/${made.run_id}`)).json();
  const all = 100_000;
  const url = await gate(t, (req, res, at) => {
    if (at.pathname !== "/v1/runs") return false;
    const from = Number(at.searchParams.get("cursor") ?? 0);
    const size = Number(at.searchParams.get("limit") ?? 100);
    const items = Array.from({ length: Math.min(size, all - from) }, (_, i) => ({ ...record, run_id: `run-${String(from + i).padStart(8, "0")}` }));
    json(res, { items, total: all, has_more: from + size < all, next_cursor: String(from + size) });
    return true;
  });
  const { page, context } = await visit(browser, url + "/threads");
  t.after(() => context.close());
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  const first = await page.evaluate(async () => {
    const began = performance.now();
    document.querySelector('a[href$="/runs"]').click();
    while (!document.querySelector('li[data-index="0"] a[href*="run-"]')) await new Promise((resolve) => requestAnimationFrame(resolve));
    return performance.now() - began;
  });
  limit(t, "first page", first, "ms", (v) => v < 500);
  const most = await page.evaluate(async () => {
    const scroller = document.querySelector("li[data-index]").closest("div.overflow-auto");
    let nodes = 0;
    for (let i = 0; i < 60; i++) {
      scroller.scrollTop = scroller.scrollHeight;
      await new Promise((resolve) => setTimeout(resolve, 50));
      nodes = Math.max(nodes, document.querySelectorAll("*").length);
    }
    return { nodes, height: scroller.scrollHeight };
  });
  t.diagnostic(`scrolled over ${Math.round(most.height / 33)} rows with ${most.nodes} nodes in the page`);
  assert.ok(most.nodes < 3000, `${most.nodes} nodes: rows that are not visible are in the page`);
});

test("a run of 30,000 events opens at once", { skip: !long, timeout: 120_000 }, async (t) => {
  const asked = await run(server.url, "default", "hello");
  const steps = 1500;
  const began = Date.now() - 3_600_000;
  const row = (i) => ({ step: i, started_at: began + i * 2000, answered_at: began + i * 2000 + 900, ended_at: began + i * 2000 + 1900, begun: 1, model: "demo", message_id: `m${i}`, usage: { total_tokens: 20 } });
  const call = (i, j) => ({ step: i, index: j, call_id: `c${i}-${j}`, tool_name: "search", status: "succeeded", effect: "read_only", queued_at: began + i * 2000 + 900, started_at: began + i * 2000 + 950, ended_at: began + i * 2000 + 1500 });
  const timeline = (from, to) => ({
    commits: Array.from({ length: to - from }, (_, i) => ({ at: began + (from + i) * 2000 + 1900, fence: 1, kinds: ["step"], last_seq: 20 * (from + i) + 20, first_seq: 20 * (from + i) + 1, number: from + i })),
    steps: Array.from({ length: to - from }, (_, i) => row(from + i)),
    calls: Array.from({ length: to - from }, (_, i) => [0, 1, 2].map((j) => call(from + i, j))).flat(),
    activations: from === 0 ? [{ fence: 1, number: 1, seq: 1, started_at: began }] : [],
    takeovers: [],
    waits: [],
    resets: [],
  });
  const url = await gate(t, (req, res, at) => {
    const base = `/v1/runs/${asked.run_id}`;
    if (at.pathname === `${base}/timeline`) {
      const from = Number(at.searchParams.get("cursor") ?? 0);
      const to = Math.min(steps, from + Number(at.searchParams.get("limit") ?? 200));
      json(res, { run_id: asked.run_id, thread_id: asked.thread_id, status: "done", ...timeline(from, to), has_more: to < steps, next_cursor: String(to) });
      return true;
    }
    if (at.pathname === `${base}/events`) {
      const from = Number(at.searchParams.get("cursor")?.split("-")[1] ?? 0);
      const size = Number(at.searchParams.get("limit") ?? 100);
      const items = Array.from({ length: Math.min(size, 30_000 - from) }, (_, i) => envelope(asked.run_id, asked.thread_id, from + i + 1, { event_type: "text_delta", delta: "word " }));
      json(res, { events: items, items, has_more: from + size < 30_000, next_cursor: `1-${from + items.length}` });
      return true;
    }
    return false;
  });
  const { page, context } = await visit(browser, url + "/runs");
  t.after(() => context.close());
  await page.getByRole("list", { name: "Runs" }).getByRole("link", { name: `…${asked.run_id.slice(-6)}` }).waitFor();
  const opened = await page.evaluate(async (id) => {
    const began = performance.now();
    document.querySelector(`a[href$="/runs/${id}"]`).click();
    while (!document.querySelector('[role=treegrid] [role=row] a[href*="/steps/"]')) await new Promise((resolve) => requestAnimationFrame(resolve));
    return performance.now() - began;
  }, asked.run_id);
  limit(t, "a run of 30,000 events opens in", opened, "ms", (v) => v < 2000);
  await page.locator(`[role=treegrid][aria-rowcount="${steps * 4 + 1}"]`).waitFor(); // the rest follows
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(nodes < 6000, `${nodes} nodes: rows that are not visible are in the page`);
});

test("a page is equal to the log after its server was killed ten times", { skip: !long, timeout: 600_000 }, async (t) => {
  let own = await serve({ env: { AWAKEN_MAILBOX_DEFAULT_MAX_ATTEMPTS: "50" } });
  const { key } = own;
  t.after(() => own.stop());
  const auth = { "Content-Type": "application/json", Authorization: `Bearer ${key}` };
  const thread = await (await fetch(`${own.url}/v1/threads`, { method: "POST", headers: auth, body: "{}" })).json();
  await fetch(`${own.url}/v1/threads/${thread.id}/messages`, { method: "POST", headers: auth, body: JSON.stringify({ agent_id: "scenario", messages: [{ role: "user", content: "scenario:hang" }] }) });
  const { items } = await (await fetch(`${own.url}/v1/threads/${thread.id}/runs`, { headers: auth })).json();
  const id = items[0].run_id;
  const { page, context } = await visit(browser, `${own.url}/runs/${id}?tab=events`);
  t.after(() => context.close());
  await page.getByRole("list", { name: "Events" }).waitFor();
  for (let i = 0; i < 10; i++) {
    const { status } = await (await fetch(`${own.url}/v1/runs/${id}`, { headers: auth })).json();
    assert.notEqual(status, "done", `the run ended after ${i} kills`);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { url, dir } = own;
    await own.kill();
    own = await serve({ dir, address: new URL(url).host, env: { AWAKEN_MAILBOX_DEFAULT_MAX_ATTEMPTS: "50" } });
  }
  await fetch(`${own.url}/v1/runs/${id}/cancel`, { method: "POST", headers: auth });
  for (let i = 0; i < 600; i++) {
    const { status } = await (await fetch(`${own.url}/v1/runs/${id}`, { headers: auth })).json();
    if (status === "done") break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const log = [];
  let cursor = "";
  for (;;) {
    const one = await (await fetch(`${own.url}/v1/runs/${id}/events?limit=500${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, { headers: auth })).json();
    log.push(...(one.events ?? one.items));
    if (!one.has_more) break;
    cursor = one.next_cursor;
  }
  await page.getByRole("main").getByText("Cancelled", { exact: true }).waitFor({ timeout: 90_000 });
  const count = () => page.getByRole("list", { name: "Events" }).getByRole("listitem").first().getAttribute("aria-setsize");
  for (let i = 0; i < 300 && Number(await count()) !== log.length; i++) await page.waitForTimeout(100);
  t.diagnostic(`the page has ${await count()} events, the log ${log.length}`);
  assert.equal(Number(await count()), log.length);
});
