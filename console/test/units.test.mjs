// The parts that need no browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createServer } from "vite";

let vite;
const load = (name) => vite.ssrLoadModule(`/src/${name}`);

before(async () => {
  vite = await createServer({ configFile: false, server: { middlewareMode: true, watch: null, ws: false }, appType: "custom", optimizeDeps: { noDiscovery: true }, logLevel: "error" });
});

after(() => vite?.close());

const at = (n, payload, kind = "x") => ({
  event_id: `e${n}`,
  event_kind: kind,
  payload,
  created_at: n,
  run_id: "r",
  thread_id: "t",
  cursors_by_scope: [{ scope: { scope_type: "run", run_id: "r" }, cursor: `1-${n}` }],
});

const log = [
  at(1, { event_type: "run_start" }),
  at(2, { event_type: "step_start", message_id: "m0" }),
  at(3, { event_type: "text_delta", delta: "He" }),
  at(4, { event_type: "text_delta", delta: "llo" }),
  at(5, { event_type: "tool_call_start", id: "c", name: "search" }),
  at(6, { event_type: "tool_call_delta", id: "c", args_delta: '{"q":' }),
  at(7, { event_type: "tool_call_ready", id: "c", name: "search", arguments: { q: 1 } }),
  at(8, { event_type: "tool_call_done", id: "c", message_id: "m", outcome: "succeeded", result: { tool_name: "search", status: "success", data: 2 } }),
  at(9, { event_type: "step_end" }),
];

test("a log that is folded event by event is that of the whole", async () => {
  const { fold, emptyFold } = await load("live/fold.ts");
  const whole = fold(emptyFold, log);
  assert.equal(whole.steps[0].text, "Hello");
  assert.deepEqual(whole.steps[0].calls, ["c"]);
  assert.deepEqual(whole.calls.get("c").args, { q: 1 });
  assert.equal(whole.calls.get("c").result.data, 2);
  let one = emptyFold;
  for (const e of log) one = fold(one, [e]);
  assert.deepEqual(one, whole);
});

test("events that arrive again do not count twice", async () => {
  const { fold, emptyFold } = await load("live/fold.ts");
  const once = fold(emptyFold, log);
  assert.equal(fold(once, log.slice(3, 7)), once);
  assert.equal(fold(fold(emptyFold, log.slice(0, 6)), log).steps[0].text, "Hello");
});

test("a reset takes back what it names", async () => {
  const { fold, emptyFold } = await load("live/fold.ts");
  const before = fold(emptyFold, log.slice(0, 4));
  const after = fold(before, [at(20, { event_type: "stream_reset", cursor: "1-2", reason: "retry" }), at(21, { event_type: "text_delta", delta: "Good day" })]);
  assert.equal(after.steps[0].text, "Good day");
  assert.equal(before.steps[0].text, "Hello", "a fold was changed");
});

test("an axis folds long idle times, and keeps the order of times", async () => {
  const { scaleOf } = await load("features/runs/scale.ts");
  const spans = [
    { from: 0, to: 2000 },
    { from: 2100, to: 4000 },
    { from: 10_804_000, to: 10_805_000 },
  ];
  const s = scaleOf(spans, 0, 10_805_000, true);
  assert.equal(s.breaks.length, 1);
  assert.ok(s.x(4000) > 0.6, `what happened before the gap ends at ${s.x(4000)}`);
  let last = -1;
  for (const ms of [0, 1000, 2000, 4000, 5_000_000, 10_804_000, 10_805_000]) {
    assert.ok(s.x(ms) > last, `${ms} is at ${s.x(ms)}, which is not after ${last}`);
    last = s.x(ms);
  }
  assert.ok(Math.abs(last - 1) < 1e-9);
  const real = scaleOf(spans, 0, 10_805_000, false);
  assert.equal(real.breaks.length, 0);
  assert.ok(real.x(4000) < 0.001);
  assert.ok(scaleOf([], 5, 5, true).x(5) === 0);
});

test("an axis of a year has few ticks", async () => {
  const { scaleOf } = await load("features/runs/scale.ts");
  assert.ok(scaleOf([{ from: 0, to: 10 }], 0, 365 * 86_400_000, false).ticks.length < 50);
});

test("every text is in both languages, with the same values", () => {
  const read = (name) => JSON.parse(readFileSync(new URL(`../src/app/i18n/${name}.json`, import.meta.url)));
  const en = read("en");
  const zh = read("zh-CN");
  assert.deepEqual(Object.keys(zh), Object.keys(en));
  const names = (text) => [...text.matchAll(/\{(\w+)/g)].map((m) => m[1]).sort();
  for (const key of Object.keys(en)) {
    assert.notEqual(zh[key], "", key);
    assert.deepEqual(names(zh[key]), names(en[key]), key);
  }
});

test("the colours of texts can be read on every surface", () => {
  const css = readFileSync(new URL("../src/ui/tokens.css", import.meta.url), "utf8");
  const themes = { light: /:root \{([^}]*)\}/.exec(css)[1], dark: /:root\[data-theme="dark"\] \{([^}]*)\}/.exec(css)[1] };
  const luminance = (hex) => {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (const [theme, text] of Object.entries(themes)) {
    const colour = Object.fromEntries([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1], m[2]]));
    const contrast = (a, b) => {
      const [x, y] = [luminance(colour[a]), luminance(colour[b])].sort((p, q) => q - p);
      return (x + 0.05) / (y + 0.05);
    };
    for (const name of ["text", "muted", "run", "ok", "wait", "fail", "doubt", "idle", "accent"]) {
      for (const surface of ["bg", "panel", "sunken"]) assert.ok(contrast(name, surface) >= 4.5, `${theme}: ${name} on ${surface} has a contrast of ${contrast(name, surface).toFixed(2)}`);
    }
    assert.ok(contrast("on-accent", "accent") >= 4.5, `${theme}: on-accent`);
  }
});
