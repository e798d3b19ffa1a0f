// Generated interfaces in the starter in examples/agui, in a real browser. The screenshots of docs/generative-ui.md are
// made with AWAKEN_IMAGES=../../../docs/images.
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { drawing } from "../../src/drawing.ts";
import { Starter } from "../../src/starter.ts";

const here = dirname(fileURLToPath(import.meta.url));
const starter = new Starter(join(here, "../../../../examples/agui"));

before(() => starter.start());
after(() => starter.close());

drawing({
  runs: "/run",
  async open(agent) {
    const page = await starter.open(`${starter.url}/?agent=${agent}`);
    await page.getByTestId("copilot-chat-textarea").waitFor();
    await page.locator("#count:enabled").waitFor(); // until then, the page sends nothing
    await page.waitForLoadState("networkidle"); // the page reads its agents and its thread twice before it is at rest
    return page;
  },
  reload: async (page) => void (await page.reload()),
  ready: (page) => page.locator(".sample").and(page.locator(":enabled")).first().waitFor(),
  picture: async (page, name, at) => (at ? undefined : starter.picture(page, `genui-copilotkit-${name}`)),
});

test("CopilotKit's own renderer draws A2UI v0.9, is acted on, and changed by a later call", async () => {
  const page = await starter.open(`${starter.url}/?agent=a2ui&renderer=copilotkit`);
  const input = page.getByTestId("copilot-chat-textarea");
  await input.waitFor();
  const ready = () => page.locator(".sample").and(page.locator(":enabled")).first().waitFor();
  await ready();
  await page.waitForLoadState("networkidle");
  await page.locator(".sample").getByText("a form, v0.9", { exact: true }).click();
  await ready();
  const drawn = page.locator("main").last();
  await drawn.getByText("How was it?", { exact: true }).waitFor();
  await drawn.getByText("Not so good", { exact: true }).click();
  const note = drawn.locator('input[type="text"], textarea:not([data-testid])').first();
  await note.fill("more salt");
  await drawn.getByText("Send", { exact: true }).click();
  await page.getByText('You chose rate in rating, with {"kind":["bad"],"note":"more salt"}.').last().waitFor();
  await ready();
  await input.fill('RUN_TOOL render_a2ui {"version":"v0.9","updateDataModel":{"surfaceId":"rating","path":"/note","value":"less salt"}}');
  await input.press("Enter");
  await page.waitForFunction(() => [...document.querySelectorAll<HTMLInputElement>("main input, main textarea")].some((i) => i.value === "less salt"));
  await ready();
  await page.reload();
  await page.getByText("How was it?", { exact: true }).waitFor();
  await page.close();
});
