// A starter of examples/ in a real browser, against a server of its own.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Locator, type Page } from "playwright-core";
import { freePort, Server } from "./server.ts";

const program = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((f) => existsSync(f));

export class Starter {
  readonly server = new Server();
  url = "";
  #browser?: Browser;
  #child?: ChildProcess;

  // folder is the starter's; pictures is where screenshots go.
  constructor(readonly folder: string, readonly pictures: string) {}

  async start() {
    assert.ok(program, "there is no chromium: install it, or name it in CHROMIUM");
    mkdirSync(this.pictures, { recursive: true });
    await this.server.start();
    const port = await freePort();
    const child = spawn(process.execPath, ["../starter/start.mjs"], {
      cwd: this.folder, env: { ...process.env, AWAKEN_URL: this.server.url, PORT: String(port) }, stdio: ["ignore", "pipe", "inherit"],
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
    page.setDefaultTimeout(120_000); // a busy machine is slow
    page.on("pageerror", (e) => assert.fail(`the page failed: ${e}`));
    await page.goto(at);
    return page;
  }

  // picture takes a screenshot of the page, or of a part of it.
  async picture(page: Page, name: string, at?: Locator) {
    const path = join(this.pictures, `${name}.png`);
    if (at) await at.screenshot({ path });
    else await page.screenshot({ path, fullPage: true });
  }
}
