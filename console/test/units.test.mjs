// The parts that need no browser.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
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

test("the warnings about a document are read from headers that a browser joined", async () => {
  const { warningsOf } = await load("api/warnings.ts");
  assert.deepEqual(warningsOf(new Headers()), []);
  const headers = new Headers();
  for (const w of ['catalog_literal_matches_nothing: excluded_tools has "x", which is not a registered tool; known: a, b', "secret_missing: secret providers/p#api_key is missing: set it again"]) headers.append("X-Awaken-Warning", w);
  assert.deepEqual(warningsOf(headers), [
    { code: "catalog_literal_matches_nothing", message: 'excluded_tools has "x", which is not a registered tool; known: a, b' },
    { code: "secret_missing", message: "secret providers/p#api_key is missing: set it again" },
  ]);
});

test("a call in doubt looks so until it is settled, and then as it was settled", async () => {
  const { lookOf } = await load("ui/status.tsx");
  const call = (status, outcome, settled, more) => ({ status, outcome, in_doubt: true, doubt: { since: 1, origin: "tool", ...(settled && { settled }) }, ...more });
  const by = (outcome) => ({ outcome, by: "person", at: 2 });
  const words = (...args) => lookOf(call(...args)).word;
  assert.equal(words("failed", "in_doubt"), "call.inDoubt");
  assert.equal(words("cancelled", "in_doubt", undefined, { decisions: [{ action: "cancel" }] }), "call.inDoubt", "refusing to make it again keeps the doubt");
  assert.equal(words("failed", "made", by("made")), "settle.wasMade");
  assert.equal(words("cancelled", "not_made", by("not_made")), "settle.wasNotMade");
  assert.equal(words("failed", "not_made", by("not_made"), { decisions: [{ action: "resume", outcome: "not_made" }] }), "call.failed", "it was made again");
  assert.equal(words("succeeded", "made", { outcome: "made", by: "tool", at: 2 }), "call.succeeded");
  assert.equal(lookOf({ status: "failed", in_doubt: true }).word, "call.inDoubt", "an older record");
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
  // The event that it names may be unknown here: the log has one for many deltas of a stream.
  const between = fold(before, [at(20, { event_type: "stream_reset", cursor: "1-3", reason: "lost" })]);
  assert.deepEqual(between.events.map((e) => e.cursors_by_scope[0].cursor).filter((c) => Number(c.slice(2)) > 3), ["1-20"], "events after the cursor stay");
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
  const read = (name) => JSON.parse(readFileSync(new URL(`../src/i18n/${name}.json`, import.meta.url)));
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

test("the text of a model is Markdown without HTML, and only addresses of the web are links", async () => {
  const { blocksOf, safe } = await load("ui/markdown.tsx");
  assert.deepEqual(
    blocksOf("# Title\n\none\ntwo\n\n- a\n- b\n\n```js\nlet x = '<b>';\n```\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n").map((b) => b.kind),
    ["heading", "p", "list", "code", "quote", "table", "rule"],
  );
  assert.equal(blocksOf("<script>alert(1)</script>")[0].kind, "p");
  assert.deepEqual(blocksOf("```\nstill open"), [{ kind: "code", lang: "", text: "still open" }]);
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "data:text/html,x", "vbscript:x", "//host", "/v1/keys", "file:///etc/passwd", "blob:x"]) assert.equal(safe(bad), "", bad);
  assert.equal(safe("https://example.com/a?b"), "https://example.com/a?b");
  for (const text of ["*".repeat(5000), "[".repeat(5000), "`".repeat(5000), "|\n".repeat(2000), "> ".repeat(5000), "_a".repeat(3000)]) {
    const began = performance.now();
    blocksOf(text);
    assert.ok(performance.now() - began < 2000, "a text of a model stops the page");
  }
});

test("what changed between two documents is named by its path", async () => {
  const { changesOf } = await load("features/audit/diff.ts");
  assert.deepEqual(changesOf({ a: 1, b: { c: [1], d: "x" } }, { a: 1, b: { c: [2], d: "x" }, e: null }), [
    { path: "b.c", before: [1], after: [2] },
    { path: "e", before: undefined, after: null },
  ]);
  assert.deepEqual(changesOf({ a: 1 }, { a: 1 }), []);
});

test("rows of a timeline fold below their step, and unfold below their call", async () => {
  const { placedOf } = await load("features/runs/rows.ts");
  const none = { commits: [], activations: [], takeovers: [], waits: [], resets: [] };
  const parent = { run_id: "p", ...none, steps: [{ step: 0, started_at: 1 }, { step: 1, started_at: 5 }], calls: [{ step: 0, index: 0, call_id: "c", child_run_id: "k", queued_at: 2 }] };
  const child = { run_id: "k", ...none, steps: [{ step: 0, started_at: 3 }], calls: [] };
  const shown = (folded, unfolded, children = []) => placedOf(parent, new Set(folded), new Set(unfolded), new Map(children)).map((p) => `${p.key}@${p.level}${p.loads ? " loads" : ""}`);
  assert.deepEqual(shown([], []), ["p/s0@1", "p/c0/c@2", "p/s1@1"]);
  assert.deepEqual(shown(["p/s0"], []), ["p/s0@1", "p/s1@1"]);
  assert.deepEqual(shown([], ["p/c0/c"]), ["p/s0@1", "p/c0/c@2 loads", "p/s1@1"]);
  assert.deepEqual(shown([], ["p/c0/c"], [["k", child]]), ["p/s0@1", "p/c0/c@2", "k/s0@3", "p/s1@1"]);
});

test("a long log is folded without being copied for each event", async () => {
  const { fold, emptyFold } = await load("live/fold.ts");
  let f = emptyFold;
  for (let n = 1; n <= 2500; n += 5) f = fold(f, [n, n + 1, n + 2, n + 3, n + 4].map((i) => at(i, { event_type: "state" })));
  assert.equal(f.events.length, 2500);
  assert.deepEqual(f.seen.map((part) => part.size), [1000, 1000, 500]);
  const more = fold(f, [at(2500, { event_type: "state" }), at(2501, { event_type: "state" }), at(2501, { event_type: "state" })]);
  assert.equal(more.events.length, 2501);
  assert.equal(more.seen[0], f.seen[0], "a full part was copied");
});

test("an edit is kept without secrets, and has them again when it comes back", async () => {
  const { bare, fill } = await load("ui/bare.ts");
  const doc = { id: "x", api_key: "k", url: "u", sections: { a: { token: "t", n: 1 } }, list: [{ auth: { token: "t" }, name: "one" }] };
  const kept = bare(doc);
  assert.equal(JSON.stringify(kept).includes('"t"'), false);
  assert.equal("api_key" in kept, false);
  assert.deepEqual(fill({ ...kept, url: "edited" }, doc), { ...doc, url: "edited" });
});

test("features do not import each other", () => {
  const root = new URL("../src/features/", import.meta.url);
  const files = readdirSync(root, { recursive: true }).filter((f) => /\.tsx?$/.test(f));
  assert.ok(files.length > 20);
  const across = files.flatMap((f) => [...readFileSync(new URL(f, root), "utf8").matchAll(/from "(\.\.\/[^"]*)"/g)].filter((m) => /^\.\.\/(?!\.\.\/)/.test(m[1]) || m[1].includes("/features/")).map((m) => `${f}: ${m[1]}`));
  assert.deepEqual(across, []);
});

test("a comparison's sides are what its address says", async () => {
  const { sidesOf, textOf } = await load("features/compare/sides.ts");
  assert.deepEqual(sidesOf("a@live,b/c@12~m,d,e@draft,f@1"), [
    { agent: "a", version: "live", model: "" },
    { agent: "b/c", version: "12", model: "m" },
    { agent: "d", version: "live", model: "" },
    { agent: "e", version: "draft", model: "" },
  ]);
  assert.equal(textOf(sidesOf("a@live,b@12~m")), "a@live,b@12~m");
});

test("a fork's request has what was changed, and nothing else", async () => {
  const { bodyOf, fresh, wrongOf } = await load("features/runs/forkbody.ts");
  assert.deepEqual(bodyOf(fresh(2)), { body: { from_step: 2, tools: "recorded" }, wrong: {} });
  const form = { ...fresh(1), version: "7", agent: "other", model: "m", prompt: "", numbers: { temperature: "0", max_tokens: " ", top_p: "x" }, effort: "low", calls: { a: { kind: "result", text: "r" }, b: { kind: "refused", text: "no" } }, tools: "real", stubs: [{ tool: "t", args: '{"a":1}', result: "x" }, { tool: "", args: "{", result: "" }] };
  const { body, wrong } = bodyOf(form);
  assert.deepEqual({ ...body, fixtures: undefined }, { from_step: 1, tools: "real", agent: "other", model_id: "m", system_prompt: "", overrides: { temperature: 0, reasoning_effort: "low" }, results: { a: "r" }, refused: { b: "no" }, fixtures: undefined });
  assert.deepEqual(body.fixtures[0], { tool: "t", arguments: { a: 1 }, result: { tool_name: "t", status: "success", message: "x" } });
  assert.deepEqual(wrong, { top_p: "number", "stub:1": "json" });
  const at = (message, path = "") => Object.keys(wrongOf(message, path ? [{ path, message }] : []))[0];
  assert.deepEqual([at("step is 9, want 0 to 1"), at("x", "/model_id"), at('call "c1" has no result before step 1'), at("results[0].tool is empty"), at("version not found: 99"), at("agent not found: no"), at("boom")], ["step", "model", "call:c1", "stub:0", "version", "agent", ""]);
});

test("cases are read from files in every form, and mistakes are named", async () => {
  const { casesOf, expectations, fieldOf, merged, ofKind, replaced } = await load("features/datasets/cases.ts");
  const [a, b] = [{ id: "a", user_input: "x" }, { id: "b", user_input: "y", expect: { rubric: "r", scorers: [{ kind: "no_tool" }], max_tokens_total: 5 } }];
  for (const text of [JSON.stringify([a, b]), JSON.stringify({ fixtures: [a, b] }), JSON.stringify({ id: "d", spec: { fixtures: [a, b] } }), `${JSON.stringify(a)}\n\n${JSON.stringify(b)}\n`]) assert.deepEqual(casesOf(text).map((c) => c.id), ["a", "b"], text);
  assert.deepEqual(casesOf(JSON.stringify(a)), [{ ...a, expect: {} }]);
  assert.throws(() => casesOf(`${JSON.stringify(a)}\n{`), /^Error: 2: /);
  assert.throws(() => casesOf('[{"id":"a"}]'), /1: id, user_input/);
  assert.throws(() => casesOf(" "));
  assert.equal(expectations(b), 2);
  assert.deepEqual(merged([a], [{ ...a, user_input: "z" }, b]).map((c) => c.user_input), ["z", "y"]);
  assert.deepEqual(replaced([a, b], "a").map((c) => c.id), ["b"]);
  assert.deepEqual(replaced([a], "", b).map((c) => c.id), ["a", "b"]);
  assert.deepEqual([fieldOf("invalid: spec.fixtures[1].expect.scorers[0].pattern is x", 1), fieldOf("spec.fixtures[1].user_input is empty", 1), fieldOf("spec.fixtures[0].id is x", 1), fieldOf("boom", 1)], ["expect.scorers[0]", "user_input", "", ""]);
  assert.deepEqual(ofKind({ kind: "contains", text: "t", not: true, name: "n" }, "exact"), { kind: "exact", text: "t", name: "n" });
});

test("results are ordered by what must be looked at, and exported", async () => {
  const m = await load("features/evals/matrix.ts");
  const item = (id, passed, text = "t", model = "m", sample) => ({ fixture_id: id, cell: { model_id: model }, sample_index: sample, report: { fixture_id: id, passed, failures: passed ? [] : [{ kind: "answer_missing_phrase", phrase: "<x>" }], final_text: text, total_tokens: 3, session_duration_ms: 1500 } });
  const now = [item("same", true), item("lost", false), item("won", true), item("drift", true, "u"), item("still", false), item("new", false)];
  const kinds = { same: "unchanged", lost: "regression", won: "fixed", drift: "drift", gone: "missing_from_new", still: "still_failing", new: "newly_added" }; // as the server says
  const diff = Object.entries(kinds).map(([id, kind]) => ({ kind, fixture_id: id, cell: { model_id: "m" }, ...(id === "lost" && { new_failures: ["answer_missing_phrase"] }), ...(id === "new" && { passed: false }) }));
  assert.deepEqual(m.rowsOf(now, diff).map((r) => r.fixture), ["lost", "gone", "drift", "still", "new", "won", "same"]);
  assert.deepEqual(m.rowsOf([item("p", true), item("f", false), item("k", true, "t", "m", 0), item("k", false, "t", "m", 1)]).map((r) => `${r.fixture} ${r.state}`), ["f failed", "k flaky", "p passed"]);
  const rows = m.rowsOf(now, diff);
  assert.deepEqual(m.views.map((v) => rows.filter((r) => m.shows(r, v)).length), [5, 1, 1, 3, 7]);
  assert.equal(m.markdown(diff).split("\n")[0], "**Blocked:** 1 regression, 1 missing, 1 drifted, 1 new, 1 fixed, 1 still failing, 1 unchanged");
  assert.match(m.markdown(diff), /\| lost with m \| passed before and fails: answer missing phrase \| blocks \|/);
  const junit = m.junit("d", diff, now);
  assert.match(junit, /<testsuite name="d" tests="7" failures="4">/);
  assert.match(junit, /<testcase name="lost with m" classname="d" time="1.500">/);
  assert.ok(!junit.includes('"<x>"'), "the text of an answer is not escaped");
  assert.deepEqual(m.reportsOf(m.ndjson(now)), now.map((it) => ({ ...it, sample_index: undefined })));
  assert.throws(() => m.reportsOf('{"a":1}'), /1: fixture_id, passed/);
});

test("a range of time is that of its name: days begin at midnight, and the clock may change in them", async () => {
  const { rangeOf } = await load("features/cost/range.ts");
  const local = (...parts) => new Date(...parts).getTime();
  const at = local(2026, 2, 29, 15, 20); // the day on which clocks change in Europe
  assert.deepEqual(rangeOf("yesterday", "", "", at), { name: "yesterday", since: local(2026, 2, 28), until: local(2026, 2, 29), step: "hour" });
  assert.deepEqual(rangeOf("today", "", "", at), { name: "today", since: local(2026, 2, 29), step: "hour" });
  assert.deepEqual(rangeOf("yesterday", "", "", local(2026, 2, 30)), { name: "yesterday", since: local(2026, 2, 29), until: local(2026, 2, 30), step: "hour" });
  assert.equal(rangeOf("no such range", "", "", at).name, "week");
  assert.equal(rangeOf(undefined, "", "", at).since, Math.floor(at / 3_600_000) * 3_600_000 - 7 * 86_400_000);
  assert.deepEqual(rangeOf("custom", "2026-03-05", "2026-03-01", at), { name: "custom", since: local(2026, 2, 1), until: local(2026, 2, 6), step: "6h" });
  assert.deepEqual(rangeOf("custom", "2026-03-05", "", at), { name: "custom", since: local(2026, 2, 5), until: local(2026, 2, 6), step: "hour" });
  assert.deepEqual(rangeOf("custom", "2026-01-01", "2026-01-31", at), { name: "custom", since: Date.UTC(2026, 0, 1), until: Date.UTC(2026, 1, 1), step: "day" });
  assert.equal(rangeOf("custom", "2025-01-01", "2026-01-31", at).step, "week");
  for (const bad of ["", "yesterday", "2026-02-31", "2026-13-01"]) assert.deepEqual(rangeOf("custom", bad, bad, at), { name: "custom", since: local(2026, 2, 29), until: local(2026, 2, 30), step: "hour" }, bad);
});

test("an interface that an agent has drawn is outlined, whatever it was passed as", async () => {
  const { outline, program } = await load("ui/outline.ts");
  const form = {
    messages: [
      { surfaceUpdate: { surfaceId: "table", components: [
        { id: "all", component: { Column: { children: { explicitList: ["name", "book", "gone"] } } } },
        { id: "name", component: { TextField: { label: { literalString: "Name" }, text: { path: "/who/name" } } } },
        { id: "book", component: { Button: { child: "label", action: { name: "book" } } } },
        { id: "label", component: { Text: { text: { literalString: "Book" } } } },
      ] } },
      { dataModelUpdate: { surfaceId: "table", contents: [{ key: "who", valueMap: [{ key: "name", valueString: "Ada" }] }] } },
      { beginRendering: { surfaceId: "table", root: "all" } },
    ],
  };
  const plain = (v) => JSON.parse(JSON.stringify(v));
  const label = { type: "Text", text: "Book", parts: [] };
  const want = [{ id: "table", parts: [{ type: "Column", parts: [{ type: "TextField", text: "Name", value: "Ada", parts: [] }, { type: "Button", action: "book", parts: [label] }] }] }];
  assert.deepEqual(plain(outline("render_a2ui", form)), want);
  assert.deepEqual(plain(outline("render_a2ui", JSON.stringify(form))), want);
  assert.deepEqual(
    plain(outline("render_a2ui", { messages: [
      { version: "v0.9", createSurface: { surfaceId: "s", catalogId: "c" } },
      { version: "v0.9", updateComponents: { surfaceId: "s", components: [{ id: "root", component: "Button", child: "a", action: { event: { name: "go" } } }, { id: "a", component: "Text", text: { path: "/t" } }] } },
      { version: "v0.9", updateDataModel: { surfaceId: "s", value: { t: "Go" } } },
    ] })),
    [{ id: "s", parts: [{ type: "Button", action: "go", parts: [{ type: "Text", text: "Go", parts: [] }] }] }],
  );
  const spec = { root: "c", elements: { c: { type: "Card", props: { title: "Order" }, children: ["n", "c"] }, n: { type: "Input", props: { label: "N", value: { $bindState: "/n" } }, on: { press: { action: "send" } } } }, state: { n: 1 } };
  const [drawn] = plain(outline("render_json_ui", { prompt: "x" }, JSON.stringify({ rendered: true, surface_id: "o", spec })));
  assert.equal(drawn.id, "o");
  assert.deepEqual(drawn.parts[0].parts[0], { type: "Input", text: "N", value: "1", action: "send", parts: [] });
  assert.equal(program("render_openui_ui", { prompt: "x" }, { data: { code: "root = Card([])" } }), "root = Card([])");
  for (const wrong of [undefined, null, 3, "{", [], {}, { messages: 1 }, { messages: [null, { surfaceUpdate: { surfaceId: 1 } }] }, { spec: { root: "a", elements: { a: 1 } } }]) {
    for (const tool of ["render_a2ui", "render_json_ui", "render_openui_ui"]) assert.ok(Array.isArray(outline(tool, wrong, wrong)));
  }
  outline("render_a2ui", { updateDataModel: { surfaceId: "s", path: "/__proto__/polluted", value: true } });
  assert.equal({}.polluted, undefined);
});

test("usual cron expressions are said in words, others are not guessed", async () => {
  const { cronWords } = await load("features/automate/cron.ts");
  const { languageOf } = await load("i18n/i18n.ts");
  const read = (name) => JSON.parse(readFileSync(new URL(`../src/i18n/${name}.json`, import.meta.url)));
  const en = languageOf("en", read("en"), () => {});
  for (const [cron, want] of Object.entries({
    "* * * * *": "Every minute",
    "*/15 * * * *": "Every 15 minutes",
    "*/7 * * * *": undefined, // not every seven minutes: the hour begins anew
    "5 * * * *": "Every hour at :05",
    "@hourly": "Every hour at :00",
    "30 */6 * * *": "Every 6 hours at :30",
    "0 9 * * *": "Every day at 09:00",
    "0 9,17 * * *": "Every day at 09:00 and 17:00",
    "0 9 * * mon-fri": "Monday to Friday at 09:00",
    "0 9 * * 1-5": "Monday to Friday at 09:00",
    "0 9 * * 0,7": "Every Sunday at 09:00",
    "@weekly": "Every Sunday at 00:00",
    "0 8 1,15 * *": "On day 1 and 15 of every month at 08:00",
    "0 8 1 * mon": undefined, // one day or the other
    "0 8 1 jan *": undefined,
    "61 8 * * *": undefined,
    "0 25 * * *": undefined,
    "0 9 * *": undefined,
    "0 9-17 * * *": undefined,
    nonsense: undefined,
  }))
    assert.equal(cronWords(cron, en), want, cron);
  assert.equal(cronWords("0 9 * * mon-fri", languageOf("zh-CN", read("zh-CN"), () => {})), "周一至周五 09:00");
});

test("a time on the wall of a zone is a moment, and back, also when clocks change", async () => {
  const { instantOf, localOf, known } = await load("features/automate/zones.ts");
  assert.equal(instantOf("2027-01-31T09:00", "Europe/Berlin"), "2027-01-31T08:00:00Z");
  assert.equal(instantOf("2027-07-31T09:00", "Europe/Berlin"), "2027-07-31T07:00:00Z");
  assert.equal(instantOf("2027-03-28T02:30", "Europe/Berlin"), "2027-03-28T01:30:00Z"); // left out
  assert.equal(instantOf("2027-10-31T02:30", "Europe/Berlin"), "2027-10-31T00:30:00Z"); // the first of two
  assert.equal(instantOf("2027-10-31T04:00", "Asia/Kolkata"), "2027-10-30T22:30:00Z");
  assert.equal(instantOf("", "UTC"), undefined);
  assert.equal(localOf("2027-01-31T08:00:00Z", "Europe/Berlin"), "2027-01-31T09:00");
  assert.equal(localOf("2027-01-31T00:05:00+01:00", "UTC"), "2027-01-30T23:05");
  assert.equal(localOf(undefined, "UTC"), "");
  assert.equal(known("Mars/Olympus"), "UTC");
});

test("an error of a schedule, webhook or trigger stands at the field that it is about", async () => {
  const { fieldOf } = await load("features/automate/spec.ts");
  const { differing } = await load("ui/diff.ts");
  const { ApiError } = await load("api/errors.ts");
  for (const [text, field] of Object.entries({
    'cron: minute: "61" is not a number from 0 to 59': "cron",
    'time_zone is "Mars/Olympus"; want the name of a zone such as Europe/Berlin': "time_zone",
    "at is 2001-01-01T00:00:00Z, which is over": "at",
    "at least one message is required": "messages",
    "messages[0].content is empty": "messages",
    "agent not found: none": "agent_id",
    "run.agent_id is missing; want the agent of the run": "agent_id",
    'run.priority is "urgent"; want background or interactive': "priority",
    'run: budget: unknown field "x"': "budget",
    "url has the scheme http, want https": "url",
    'events[0] is "x"; want run.started': "events",
    "per_minute is 1000; want 1 to 600": "per_minute",
  }))
    assert.equal(fieldOf(new ApiError(400, { error: text }, "")), field, text);
  assert.equal(fieldOf(new ApiError(503, { error: "cron is away" }, "")), "");
  assert.deepEqual(differing({ a: 1, run: { x: 1, y: 2 } }, { run: { y: 2, x: 1 }, a: 2, paused: false }), ["a"]);
});

// What a file may import: its own folder, and the folders behind it in this list.
const layers = ["main.tsx", "app", "features", "ui", "live", "api", "i18n"];

test("folders import only what is below them, and no file imports itself in a circle", () => {
  const root = new URL("../src/", import.meta.url);
  const files = readdirSync(root, { recursive: true }).filter((f) => /\.tsx?$/.test(f) && !f.endsWith(".d.ts"));
  const imports = new Map();
  for (const file of files) {
    const text = readFileSync(new URL(file, root), "utf8");
    const named = [...text.matchAll(/(?:from|import\() ?"(\.[^"]+)"/g)].map((m) => new URL(m[1], new URL(file, root)).pathname.slice(root.pathname.length));
    imports.set(file, named.map((n) => files.find((f) => f === n || f === `${n}.ts` || f === `${n}.tsx`)).filter(Boolean));
  }
  const layer = (file) => {
    const at = layers.indexOf(file.split("/")[0]);
    assert.ok(at >= 0, `${file} is in no layer`);
    return at;
  };
  const wrong = [...imports].flatMap(([file, all]) => all.filter((f) => layer(f) < layer(file)).map((f) => `${file} imports ${f}`));
  assert.deepEqual(wrong, []);
  const state = new Map(); // true while the files that a file imports are visited
  const visit = (file, path) => {
    assert.ok(state.get(file) !== true, `a circle: ${[...path.slice(path.indexOf(file)), file].join(" > ")}`);
    if (state.has(file)) return;
    state.set(file, true);
    for (const f of imports.get(file)) visit(f, [...path, file]);
    state.set(file, false);
  };
  for (const file of files) visit(file, []);
  assert.ok(imports.get("app/router.tsx").length > 20, "the imports were not read");
});
