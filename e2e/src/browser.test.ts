// The starter in examples/aisdk, in a real browser.
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Browser, chromium, type Page } from "playwright-core";
import { freePort, Server } from "./server";

const here = import.meta.dirname ?? ".";
const program = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((f) => existsSync(f));
const pictures = join(here, "screenshots");
const server = new Server();
let browser: Browser;
let starter: ChildProcess;
let url = "";

before(async () => {
  assert.ok(program, "there is no chromium: install it, or name it in CHROMIUM");
  mkdirSync(pictures, { recursive: true });
  await server.start();
  const port = await freePort();
  const folder = join(here, "../../examples/aisdk");
  assert.equal(spawnSync("npm", ["--version"]).status, 0);
  starter = spawn(process.execPath, ["start.mjs"], { cwd: folder, env: { ...process.env, AWAKEN_URL: server.url, PORT: String(port) }, stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((ready, failed) => {
    starter.stdout!.on("data", (d) => String(d).includes("The page is at") && ready());
    starter.once("exit", (code) => failed(new Error(`the starter ended with ${code}`)));
  });
  starter.removeAllListeners("exit");
  url = `http://127.0.0.1:${port}`;
  browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
});

after(async () => {
  await browser?.close();
  starter?.kill();
  await server.close();
});

async function open(): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  page.on("pageerror", (e) => assert.fail(`the page failed: ${e}`));
  await page.goto(url);
  await page.waitForSelector("#send");
  return page;
}

const say = async (page: Page, text: string) => {
  await page.fill("#text", text);
  await page.press("#text", "Enter");
};
const ready = (page: Page) => page.waitForSelector("#send");
const answer = (page: Page) => page.locator("li.assistant").last();
const texts = (page: Page) => page.locator("li.assistant .text").allInnerTexts();
const ticks = [...Array(20).keys()].map((i) => `tick${i}`).join(" ");
const squeeze = (list: string[]) => list.join("").trim().replace(/\s+/g, " ");

test("text, tools, an approval, progress and state", async () => {
  const page = await open();
  await say(page, "scenario:text");
  await answer(page).getByText("arrives in a few pieces").waitFor();
  await ready(page);
  await say(page, "scenario:tool");
  await answer(page).locator('.tool[data-state="output-available"]').waitFor();
  await ready(page);
  await say(page, "scenario:approval");
  await page.locator("dialog").waitFor();
  await page.screenshot({ path: join(pictures, "approval.png"), fullPage: true });
  await page.click(".approve");
  await answer(page).locator(".text").getByText("deleted").waitFor();
  await ready(page);
  await say(page, "scenario:approval");
  await page.click(".deny");
  await answer(page).locator('.tool[data-state="output-denied"]').waitFor();
  await ready(page);
  await say(page, 'RUN_TOOL progress_demo {"steps":3,"delay_ms":50}');
  await answer(page).locator(".progress progress").waitFor();
  await answer(page).getByText("step 3 of 3").waitFor();
  await ready(page);
  await say(page, "scenario:state");
  await answer(page).getByText('client.state = {"counter":2}').waitFor();
  await ready(page);
  await say(page, "scenario:frontend-tool");
  await answer(page).locator(".text").getByText("timeZone").waitFor();
  await ready(page);
  await page.screenshot({ path: join(pictures, "chat.png"), fullPage: true });
  // A reload shows the same conversation.
  const shown = await texts(page);
  await page.reload();
  await ready(page);
  assert.deepEqual(await texts(page), shown);
  assert.equal(await page.locator("li").count(), 14);
  await page.close();
});

test("a reload in the middle of an answer loses and doubles nothing", async () => {
  const page = await open();
  await say(page, "scenario:slow");
  await answer(page).getByText("tick3").waitFor();
  await page.reload();
  await answer(page).getByText("tick5").waitFor();
  await page.screenshot({ path: join(pictures, "after-reload.png"), fullPage: true });
  await page.reload(); // and again
  await answer(page).getByText("tick19").waitFor();
  await ready(page);
  assert.equal(squeeze(await texts(page)), ticks);
  assert.equal(await page.locator("li").count(), 2);
  await page.close();
});

test("a reload while an approval waits", async () => {
  const page = await open();
  await say(page, "scenario:approval");
  await page.locator("dialog").waitFor();
  await page.reload();
  await page.click(".approve");
  await answer(page).locator(".text").getByText("deleted").waitFor();
  assert.equal(await page.locator("li").count(), 2);
  await page.close();
});

test("stop", async () => {
  const page = await open();
  await say(page, "scenario:hang");
  await answer(page).getByText("tick2").waitFor();
  await page.click("#stop");
  await ready(page);
  const shown = await texts(page);
  assert.equal(squeeze(shown), "tick0 tick1 tick2");
  await page.reload();
  await ready(page);
  assert.deepEqual(await texts(page), shown);
  await page.close();
});

test("the server restarts in the middle of an answer", async () => {
  const page = await open();
  await say(page, 'RUN_TOOL progress_demo {"steps":20,"delay_ms":100}');
  await answer(page).getByText(/step \d+ of 20/).waitFor();
  await server.restart();
  await answer(page).locator('.tool[data-state="output-available"]').waitFor();
  await answer(page).locator(".text").waitFor();
  await ready(page);
  assert.equal(await page.locator("li").count(), 2);
  assert.equal(await page.locator(".tool").count(), 1);
  await page.close();
});
