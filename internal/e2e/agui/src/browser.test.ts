// The starter in examples/agui, in a real browser.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Page } from "playwright-core";
import { becomes, Starter } from "../../src/starter.ts";

const here = dirname(fileURLToPath(import.meta.url));
const starter = new Starter(join(here, "../../../../examples/agui"));

before(() => starter.start());
after(() => starter.close());

async function open(at?: string): Promise<Page> {
  const page = await starter.open(at);
  await page.getByTestId("copilot-chat-textarea").waitFor();
  await page.locator("#count:enabled").waitFor(); // until then, the page sends nothing
  if (!at) await page.waitForLoadState("networkidle"); // the page reads its agents and its thread twice before it is at rest
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
  await page.locator(".ask .approve").nth(0).click();
  await page.locator(".ask .deny").nth(1).click();
  await answer(page, /deleted.*the user said no|the user said no.*deleted/s);
  await say(page, 'RUN_TOOL progress_demo {"steps":20,"delay_ms":50}');
  await page.locator(".progress progress").waitFor();
  await page.locator(".progress").getByText("step 20 of 20").waitFor();
  await ready(page);
  await page.click("#count"); // the page changes the state, and then the agent does
  await say(page, "scenario:state");
  await page.locator("#state").getByText('{"counter":12}').waitFor();
  await say(page, "scenario:frontend-tool");
  await answer(page, "timeZone");
  await say(page, 'RUN_TOOL set_background_color {"color":"rgb(230, 240, 255)"}');
  await answer(page, "the background is rgb(230, 240, 255)");
  await becomes(() => page.evaluate(() => document.body.style.background), "rgb(230, 240, 255)");
  // A reload, and another tab, show the same conversation and the same state.
  await ready(page);
  const tab = await open(page.url());
  // An answer is an empty element first, and shows its text later, also when its run is over.
  const differing = async () => {
    const [one, other] = [await answers(page).allInnerTexts(), await answers(tab).allInnerTexts()];
    return one.length === 19 && one.every(Boolean) && isDeepStrictEqual(one, other) ? [] : [one, other];
  };
  await becomes(differing, []);
  await page.reload();
  await becomes(differing, []);
  for (const p of [page, tab]) await p.locator("#state").getByText('{"counter":12}').waitFor();
  await tab.close();
  await page.close();
});

test("a reload in the middle of an answer loses and doubles nothing", async () => {
  const page = await open();
  await say(page, "scenario:slow");
  await answer(page, /tick\d/);
  await page.reload();
  await answer(page, /tick5/);
  const tab = await open(page.url()); // and another tab
  await page.reload(); // and again
  for (const p of [page, tab]) {
    await answer(p, "tick19");
    await becomes(() => shown(p), `scenario:slow ${ticks}`);
    await becomes(() => answers(p).count(), 1);
  }
  await tab.close();
  await page.close();
});

test("a reload in the middle of a tool, and its progress", async () => {
  for (let delay = 100; ; delay *= 4) {
    const page = await open();
    await say(page, `RUN_TOOL progress_demo {"steps":40,"delay_ms":${delay}}`);
    const progress = page.getByText(/step \d+ of 40/);
    const done = answers(page).getByText('progress_demo answered: {"steps":40}').last();
    await progress.or(done).first().waitFor();
    await page.reload();
    await progress.or(done).first().waitFor();
    if (!(await progress.isVisible())) { // the tool was faster than the page
      await page.close();
      continue;
    }
    await page.getByText("step 40 of 40").waitFor();
    await done.waitFor();
    await becomes(() => page.locator(".tool").count(), 1);
    await becomes(() => page.locator(".progress").count(), 1);
    await page.close();
    break;
  }
});

test("a reload while approvals wait", async () => {
  const page = await open();
  await say(page, "scenario:approvals");
  await page.locator(".ask").nth(1).waitFor();
  await page.reload();
  await page.locator(".ask .approve").nth(0).click();
  await page.locator(".ask .approve").nth(1).click();
  await answer(page, /delete_file answered.*delete_file answered/s); // not only the calls themselves
  await becomes(async () => count(await shown(page), "delete_file answered"), 2);
  await becomes(() => page.locator(".tool").count(), 2);
  await page.close();
});

test("stop", async () => {
  const page = await open();
  await say(page, 'RUN_TOOL progress_demo {"steps":100,"delay_ms":2000}');
  await page.getByText(/step \d+ of 100/).waitFor();
  await page.getByTestId("copilot-send-button").click(); // it is the stop button now
  const thread = new URL(page.url()).searchParams.get("thread");
  // waitForFunction takes a promise for a true value: the wait is here.
  const latest = () => page.evaluate(async (t) => (await fetch(`/v1/threads/${t}/runs/latest`)).json(), thread);
  let run = await latest();
  for (const end = Date.now() + 120_000; run.status !== "done"; run = await latest()) {
    assert.ok(Date.now() < end, `the run is ${run.status} two minutes after it was stopped`);
    await page.waitForTimeout(50);
  }
  assert.equal(run.termination_reason.type, "cancelled");
  await page.close();
});
