// The starter in examples/aisdk, in a real browser.
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { becomes, Starter } from "./starter.ts";

const here = dirname(fileURLToPath(import.meta.url));
const starter = new Starter(join(here, "../../../examples/aisdk"));

before(() => starter.start());
after(() => starter.close());

async function open(at?: string): Promise<Page> {
  const page = await starter.open(at);
  await page.waitForSelector("#send");
  return page;
}

const say = async (page: Page, text: string) => {
  await page.fill("#text", text);
  await page.press("#text", "Enter");
};
const ready = (page: Page) => page.waitForSelector("#send");
const answer = (page: Page) => page.locator("li.assistant").last();
const items = (page: Page) => page.locator("li").count();
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
  // A reload shows the same conversation.
  const shown = await texts(page);
  await page.reload();
  await ready(page);
  await becomes(() => texts(page), shown);
  await becomes(() => items(page), 14);
  await page.close();
});

test("a reload in the middle of an answer loses and doubles nothing", async () => {
  const page = await open();
  await say(page, "scenario:slow");
  await answer(page).getByText("tick3").waitFor();
  await page.reload();
  await answer(page).getByText("tick5").waitFor();
  await page.reload(); // and again
  await answer(page).getByText("tick19").waitFor();
  await ready(page);
  await becomes(async () => squeeze(await texts(page)), ticks);
  await becomes(() => items(page), 2);
  await page.close();
});

test("a reload while an approval waits", async () => {
  const page = await open();
  await say(page, "scenario:approval");
  await page.locator("dialog").waitFor();
  await page.reload();
  await page.click(".approve");
  await answer(page).locator(".text").getByText("deleted").waitFor();
  await becomes(() => items(page), 2);
  await page.close();
});

test("stop", async () => {
  const page = await open();
  await say(page, "scenario:hang");
  await answer(page).getByText("tick2").waitFor();
  await page.click("#stop");
  await ready(page);
  await becomes(async () => squeeze(await texts(page)), "tick0 tick1 tick2");
  const shown = await texts(page);
  await page.reload();
  await ready(page);
  await becomes(() => texts(page), shown);
  await page.close();
});

test("the server restarts in the middle of an answer", async () => {
  const page = await open();
  await say(page, 'RUN_TOOL progress_demo {"steps":20,"delay_ms":100}');
  await answer(page).getByText(/step \d+ of 20/).waitFor();
  await starter.server.restart();
  await answer(page).locator('.tool[data-state="output-available"]').waitFor();
  await answer(page).locator(".text").waitFor();
  await ready(page);
  await becomes(() => items(page), 2);
  await becomes(() => page.locator(".tool").count(), 1);
  await page.close();
});
