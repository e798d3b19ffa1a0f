// A starter of examples/ in a real browser, against a server of its own. npm test has built its page. The screenshots are made if AWAKEN_IMAGES
// names a folder for them.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Browser, chromium, type Locator, type Page } from "playwright-core";
import { freePort, Server } from "./server.ts";

const program = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((f) => existsSync(f));

const pictures = process.env.AWAKEN_IMAGES;
const slower = Number(process.env.AWAKEN_SLOWER ?? 1); // how many times slower the browser's processor is to seem

/** How long a test waits for what must come. A busy machine is slow. */
const patience = 120_000;

/** Resolves when what is read from a page is as wanted: a page shows what it knows a little later. */
export async function becomes<T>(read: () => Promise<T>, want: T) {
  for (const end = Date.now() + patience; ; await new Promise((again) => setTimeout(again, 50))) {
    const got = await read();
    if (isDeepStrictEqual(got, want)) return;
    if (Date.now() > end) assert.deepEqual(got, want);
  }
}

export class Starter {
  readonly server = new Server();
  url = "";
  #browser?: Browser;
  #child?: ChildProcess;

  // folder is the starter's.
  constructor(readonly folder: string) {}

  async start() {
    assert.ok(program, "there is no chromium: install it, or name it in CHROMIUM");
    await this.server.start();
    const port = await freePort();
    const child = spawn(process.execPath, ["../starter/start.mjs"], {
      cwd: this.folder, env: { ...process.env, AWAKEN_BUILT: "1", AWAKEN_URL: this.server.url, PORT: String(port) }, stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    await new Promise<void>((ready, failed) => {
      child.stdout!.on("data", (d) => String(d).includes("The page is at") && ready());
      child.once("exit", (code) => failed(new Error(`the starter ended with ${code}`)));
    });
    child.removeAllListeners("exit");
    this.url = `http://127.0.0.1:${port}`;
    this.#browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  }

  async close() {
    await this.#browser?.close();
    this.#child?.kill();
    await this.server.close();
  }

  // open opens the page in a new tab. A page that fails fails the test.
  async open(at = this.url): Promise<Page> {
    const page = await this.#browser!.newPage({ viewport: { width: 1200, height: 900 } });
    page.setDefaultTimeout(patience);
    if (slower > 1) await (await page.context().newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: slower });
    page.on("pageerror", (e) => assert.fail(`the page failed: ${e}`));
    await page.goto(at);
    return page;
  }

  // picture takes a screenshot of the page, or of a part of it.
  async picture(page: Page, name: string, at?: Locator) {
    if (!pictures) return;
    mkdirSync(pictures, { recursive: true });
    const path = join(pictures, `${name}.png`);
    if (at) await at.screenshot({ path });
    else await page.screenshot({ path, fullPage: true });
  }
}
