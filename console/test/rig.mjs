// A real server with the demo agents, and a browser. Nothing is mocked.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

/** long is whether all tests run, and not only those that find most in little time. */
export const long = process.env.AWAKEN_LONG === "1";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** serve starts the server. AWAKEN_URL and AWAKEN_KEY name one that runs already, for tests that need nothing special. */
export async function serve(options) {
  const { env = {}, dir, address = "127.0.0.1:0", log = "error", seed = "demo" } = options ?? {};
  if (process.env.AWAKEN_URL && options === undefined) return { url: process.env.AWAKEN_URL, key: process.env.AWAKEN_KEY, stop: async () => {} };
  const folder = dir ?? mkdtempSync(join(tmpdir(), "awaken-console-"));
  const server = spawn(process.env.AWAKEN_BIN, ["serve", ...(seed ? ["--seed", seed] : []), "--address", address, "--storage-dir", folder, "--log-level", log], { cwd: folder, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", log === "error" ? "inherit" : "pipe"] });
  let said = "";
  let logged = "";
  server.stderr?.on("data", (chunk) => (logged += chunk));
  await new Promise((resolve, reject) => {
    server.stdout.on("data", (chunk) => {
      said += chunk;
      if (/All routes/.test(said)) resolve();
    });
    server.on("exit", (code) => reject(new Error(`the server ended with status ${code}: ${said} ${logged}`)));
  });
  server.removeAllListeners("exit");
  const gone = new Promise((resolve) => server.on("exit", resolve));
  return {
    url: /listens on (\S+)/.exec(said)[1],
    key: /Admin key, shown only now: (\S+)/.exec(said)?.[1],
    dir: folder,
    /** log returns what the server logged, if it logs more than errors. */
    log: () => logged,
    /** kill ends the process as a crash does, and keeps its folder. */
    async kill() {
      server.kill("SIGKILL");
      await gone;
    },
    async stop() {
      server.kill();
      await gone;
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** run has an agent answer a message, and returns the response. */
export async function run(url, agent, text, more = {}, key = "") {
  const res = await fetch(`${url}/v1/runs`, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json", ...(key && { Authorization: `Bearer ${key}` }) }, body: JSON.stringify({ agent_id: agent, messages: [{ role: "user", content: text }], ...more }) });
  if (!res.ok) throw new Error(`${res.status} ${await res.text()}`);
  return res.json();
}

/** client returns a function that asks a server with a key, and returns what it answers. It fails if that is an error. */
export const client = (url, key) => async (method, path, body, headers = {}) => {
  const res = await fetch(url + path, { method, headers: { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }), ...headers }, body: body && JSON.stringify(body) });
  const text = await res.text();
  if (!res.ok) throw new Error(`${method} ${path}: ${res.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
};

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** visit opens a page, signed in with options.key, and records what must not happen: errors in the console, violations of the policy, failed requests. */
export async function visit(browser, url, options = {}) {
  const { theme = "light", locale = "en", allow = [], key, ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 }, reducedMotion: "reduce", ...rest });
  context.setDefaultTimeout(Number(process.env.AWAKEN_PATIENCE_MS ?? 120_000)); // what a test waits for comes, however busy the machine is
  await context.addInitScript(([t, l]) => {
    localStorage.setItem("awaken.admin.theme", t);
    localStorage.setItem("awaken.locale", l);
    document.addEventListener("securitypolicyviolation", (e) => console.error(`CSP: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  }, [theme, locale]);
  if (key) {
    const origin = new URL(url).origin;
    const res = await context.request.post(`${origin}/v1/session`, { headers: { Authorization: `Bearer ${key}`, Origin: origin } });
    if (!res.ok()) throw new Error(`signing in: ${res.status()} ${await res.text()}`);
  }
  const page = await context.newPage();
  const slower = Number(process.env.AWAKEN_SLOWER ?? 1); // how many times slower the browser's processor is to seem
  if (slower > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: slower });
  const bad = [];
  const record = (text) => allow.some((a) => a.test(text)) || bad.push(text);
  page.on("console", (m) => (m.type() === "error" || m.type() === "warning") && record(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => record(`page: ${e.message}`));
  page.on("response", (r) => r.status() >= 400 && record(`${r.status()} ${r.url()}`));
  const busy = new Set();
  const leaves = (q) => q.isNavigationRequest() && q.frame() === page.mainFrame() && busy.clear(); // what the page before had asked for does not end any more
  page.on("request", (q) => {
    leaves(q);
    if (!q.url().includes("/events/stream")) busy.add(q);
  });
  page.on("response", (r) => leaves(r.request()));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (q) => busy.delete(q));
  pending.set(page, busy);
  await page.goto(url);
  return { page, context, bad };
}

const pending = new WeakMap(); // the requests of a page that are not answered yet

/** settled waits until a page has what it asked for and shows it: no request, no skeleton, no animation. */
export async function settled(page) {
  const end = Date.now() + 60_000;
  for (let quiet = 0; quiet < 4 && Date.now() < end; ) {
    const still = pending.get(page).size === 0 && (await page.evaluate(() => !document.querySelector(".skeleton") && document.getAnimations().every((a) => a.playState !== "running")));
    quiet = still ? quiet + 1 : 0;
    await page.waitForTimeout(50);
  }
}

export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const everyLook = { light: {}, dark: { theme: "dark" }, phone, chinese: { locale: "zh-CN" } };

/** shot keeps a picture of a page in the folder that SHOTS names, if it names one. */
export async function shot(page, name, options) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`), ...options });
}

/**
 * stage gives the tests of a file a server, which options describe, and a browser, and ends both after them. prepare runs before the tests. Pages are
 * signed in as administrators, unless they are anonymous.
 */
export function stage(options, { prepare, anonymous = false } = {}) {
  const server = {};
  let real;
  const browser = { newContext: (...args) => real.newContext(...args) };
  const call = (...args) => client(server.url, server.key)(...args);
  const signed = (more) => ({ ...(anonymous ? {} : { key: server.key }), ...more });
  before(async () => {
    const [started, launched] = await Promise.all([serve(typeof options === "function" ? await options() : options), launch()]);
    Object.assign(server, started);
    real = launched;
    await prepare?.();
  });
  after(async () => {
    await real?.close();
    await server.stop?.();
  });
  /** open shows a page for a test that fails if the page had an error, a request that failed or something that the policy refused. */
  const open = async (t, path, more) => {
    const v = await visit(browser, server.url + path, signed(more));
    t.after(async () => {
      await v.context.close();
      assert.deepEqual(v.bad, []);
    });
    return v.page;
  };
  /** looks tests pages in every look: they have no violation, and are not wider than the window. Without all tests, it is only those that few names. */
  const looks = (title, pages, { few = [], allow = () => [] } = {}) => {
    for (const [look, more] of Object.entries(everyLook)) {
      test(`${title} in ${look}`, { skip: !long && !few.includes(look) && "all looks take minutes" }, async (t) => {
        for (const [name, path] of Object.entries(pages)) {
          await t.test(name, async (t) => {
            const page = await open(t, typeof path === "string" ? path : path(), { allow: allow(name), ...more });
            await page.locator("h1, h2").first().waitFor();
            await settled(page);
            await shot(page, `${name}-${look}`);
            assert.deepEqual(await violations(page), []);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
          });
        }
      });
    }
  };
  return { server, browser, call, open, looks };
}

/** violations returns what axe finds in a page. */
export async function violations(page) {
  await page.evaluate(axe);
  const { violations: list } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return list.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.html.slice(0, 160)} ${(n.any[0] ?? n.all[0] ?? n.none[0])?.message ?? ""}`));
}

/** kept returns all that a page has and leaves behind: its document, fields, storage, databases, cookies, address, history and the clipboard. */
export const kept = (page) =>
  page.evaluate(async () => {
    const values = [...document.querySelectorAll("input,textarea,select")].map((e) => e.value).join("\n");
    const bases = await Promise.all(
      (await indexedDB.databases()).map(
        (d) =>
          new Promise((resolve) => {
            const open = indexedDB.open(d.name);
            open.onsuccess = async () => {
              const db = open.result;
              const all = await Promise.all([...db.objectStoreNames].map((s) => new Promise((r) => (db.transaction(s).objectStore(s).getAll().onsuccess = (e) => r(e.target.result)))));
              db.close();
              resolve(JSON.stringify(all));
            };
          }),
      ),
    );
    return [document.documentElement.outerHTML, values, JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href, JSON.stringify(history.state), ...bases, await navigator.clipboard.readText().catch(() => "")].join("\n");
  });
