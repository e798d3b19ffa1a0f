// The starter in examples/agui, in a real browser.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { Starter } from "../../src/starter.ts";

const here = dirname(fileURLToPath(import.meta.url));
const starter = new Starter(join(here, "../../../../examples/agui"), join(here, "screenshots"));

before(() => starter.start());
after(() => starter.close());

async function open(at?: string): Promise<Page> {
  const page = await starter.open(at);
  await page.getByTestId("copilot-chat-textarea").waitFor();
  return page;
}

// While a run goes on, the button stops it; then it waits for words.
const ready = (page: Page) => page.locator('[data-testid="copilot-send-button"]:disabled').waitFor();

async function say(page: Page, text: string) {
  await ready(page);
  await page.getByTestId("copilot-chat-textarea").fill(text);
  await page.getByTestId("copilot-chat-textarea").press("Enter");
}

const answers = (page: Page) => page.getByTestId("copilot-assistant-message");
const answer = (page: Page, text: string | RegExp) => answers(page).getByText(text).last().waitFor();
const shown = async (page: Page) => (await page.getByTestId("copilot-message-list").innerText()).replace(/\s+/g, " ").trim();
const count = (text: string, word: string) => text.split(word).length - 1;
const ticks = [...Array(20).keys()].map((i) => `tick${i}`).join(" ");

test("text, tools, approvals, progress, state and the page's own tools", async () => {
  const page = await open();
  await say(page, "scenario:text");
  await answer(page, "arrives in a few pieces");
  await say(page, "scenario:tool");
  await page.locator('.tool[data-status="complete"]').getByText("temperature_c").waitFor();
  await say(page, "scenario:approval");
  await page.locator(".ask").getByText("Delete /tmp/x?").waitFor();
  await starter.picture(page, "approval");
  await page.click(".approve");
  await answer(page, 'delete_file answered: {"path":"/tmp/x","status":"deleted"}');
  await say(page, "scenario:approval");
  await page.click(".deny");
  await answer(page, "the user said no");
  await say(page, "scenario:approval");
  await page.click(".edit");
  await answer(page, 'delete_file answered: {"path":"/tmp/edited"');
  await say(page, "scenario:approvals");
  await page.locator(".ask").nth(1).scrollIntoViewIfNeeded();
  await starter.picture(page, "approvals");
  await page.locator(".ask .approve").nth(0).click();
  await page.locator(".ask .deny").nth(1).click();
  await answer(page, /deleted.*the user said no|the user said no.*deleted/s);
  await say(page, 'RUN_TOOL progress_demo {"steps":20,"delay_ms":50}');
  await page.locator(".progress progress").waitFor();
  await page.locator(".progress").getByText("step 20 of 20").waitFor();
  await starter.picture(page, "progress");
  await page.click("#count"); // the page changes the state, and then the agent does
  await say(page, "scenario:state");
  await page.locator("#state").getByText('{"counter":12}').waitFor();
  await say(page, "scenario:frontend-tool");
  await answer(page, "timeZone");
  await say(page, 'RUN_TOOL set_background_color {"color":"rgb(230, 240, 255)"}');
  await answer(page, "the background is rgb(230, 240, 255)");
  assert.equal(await page.evaluate(() => document.body.style.background), "rgb(230, 240, 255)");
  await starter.picture(page, "chat");
  // A reload, and another tab, show the same conversation and the same state.
  await ready(page);
  await answers(page).nth(18).waitFor(); // a slow page shows the last answer later than its run ends
  const texts = await answers(page).allInnerTexts();
  assert.equal(texts.length, 19);
  await page.reload();
  await page.waitForFunction(
    (want) => JSON.stringify([...document.querySelectorAll<HTMLElement>('[data-testid="copilot-assistant-message"]')].map((e) => e.innerText)) === want,
    JSON.stringify(texts),
  );
  await page.locator("#state").getByText('{"counter":12}').waitFor();
  await page.close();
});

test("a reload in the middle of an answer loses and doubles nothing", async () => {
  const page = await open();
  await say(page, "scenario:slow");
  await answer(page, /tick\d/);
  await page.reload();
  await answer(page, /tick5/);
  await starter.picture(page, "after-reload");
  const tab = await open(page.url()); // and another tab
  await page.reload(); // and again
  for (const p of [page, tab]) {
    await answer(p, "tick19");
    assert.equal(await shown(p), `scenario:slow ${ticks}`);
    assert.equal(await answers(p).count(), 1);
  }
  await tab.close();
  await page.close();
});

test("a reload in the middle of a tool, and its progress", async () => {
  const page = await open();
  await say(page, 'RUN_TOOL progress_demo {"steps":80,"delay_ms":200}');
  await page.getByText(/step \d+ of 80/).waitFor();
  await page.reload();
  await page.getByText("step 80 of 80").waitFor();
  await answer(page, 'progress_demo answered: {"steps":80}');
  assert.equal(await page.locator(".tool").count(), 1);
  assert.equal(await page.locator(".progress").count(), 1);
  await page.close();
});

test("a reload while approvals wait", async () => {
  const page = await open();
  await say(page, "scenario:approvals");
  await page.locator(".ask").nth(1).waitFor();
  await page.reload();
  await page.locator(".ask .approve").nth(0).click();
  await page.locator(".ask .approve").nth(1).click();
  await answer(page, /delete_file answered.*delete_file answered/s); // not only the calls themselves
  assert.equal(count(await shown(page), "delete_file answered"), 2);
  assert.equal(await page.locator(".tool").count(), 2);
  await page.close();
});

test("stop", async () => {
  const page = await open();
  await say(page, 'RUN_TOOL progress_demo {"steps":100,"delay_ms":200}');
  await page.getByText(/step \d+ of 100/).waitFor();
  await page.getByTestId("copilot-send-button").click(); // it is the stop button now
  const thread = new URL(page.url()).searchParams.get("thread");
  // waitForFunction takes a promise for a true value: the wait is here.
  const latest = () => page.evaluate(async (t) => (await fetch(`/v1/threads/${t}/runs/latest`)).json(), thread);
  let run = await latest();
  for (const end = Date.now() + 30_000; run.status !== "done"; run = await latest()) {
    assert.ok(Date.now() < end, `the run is ${run.status} 30 s after it was stopped`);
    await page.waitForTimeout(50);
  }
  assert.equal(run.termination_reason.type, "cancelled");
  await page.close();
});
