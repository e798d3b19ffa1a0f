// What both starters show of generated interfaces: drawn by the real renderers, with actions that reach the agent.
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { becomes } from "./starter.ts";

/** What differs between the starters. */
export interface Starting {
  runs: string; // the end of the address that starts runs
  open(agent: string): Promise<Page>;
  reload(page: Page): Promise<void>;
  ready(page: Page): Promise<unknown>; // the run is over
  picture(page: Page, name: string, at?: Locator): Promise<unknown>; // of the page, or of a part of it
}

const surface = (page: Page, id: string) => page.locator(`.surface[data-surface="${id}"]`);

/** Declares the tests of a starter. */
export function drawing(s: Starting) {
  // A page is ready before its request, and when it has read the response to its end.
  const ask = async (page: Page, sample: string) => {
    const response = page.waitForResponse((r) => r.request().method() === "POST" && new URL(r.url()).pathname.endsWith(s.runs));
    await page.locator(".sample").getByText(sample, { exact: true }).click();
    await (await response).finished();
    await s.ready(page);
  };
  const answered = (page: Page, text: string) => page.getByText(text).last().waitFor();

  test("A2UI is drawn, changed and acted on", async () => {
    const page = await s.open("a2ui");
    await ask(page, "a card");
    await surface(page, "demo").getByText("Hello from the scripted model").waitFor();
    await ask(page, "a form");
    const form = surface(page, "table");
    await form.getByText("Book a table").waitFor();
    const name = form.locator("input").first();
    await becomes(() => name.inputValue(), "Ada"); // bound to the data model
    await name.fill("Linus");
    await s.picture(page, "a2ui", form);
    await s.picture(page, "page");
    await form.getByText("Book", { exact: true }).click();
    await answered(page, 'You chose book in table, with {"name":"Linus","seats":2}.');
    await s.ready(page);
    await ask(page, "change the data"); // a later call changes what an earlier one drew
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('.surface[data-surface="table"] input')?.value === "Grace");
    await ask(page, "a form, v0.9");
    const rating = surface(page, "rating");
    await rating.getByText("Not so good").click();
    await rating.locator('input[type="text"], textarea').first().fill("more salt");
    await rating.scrollIntoViewIfNeeded();
    await s.picture(page, "a2ui-v09", rating);
    await rating.getByText("Send", { exact: true }).click();
    await answered(page, 'You chose rate in rating, with {"kind":["bad"],"note":"more salt"}.');
    await s.ready(page);
    await s.reload(page);
    await surface(page, "table").getByText("Book a table").waitFor();
    await surface(page, "rating").getByText("How was it?").waitFor();
    await becomes(() => page.locator(".surface").count(), 3);
    await page.close();
  });

  test("JSON Render is drawn by a sub-agent and acted on", async () => {
    const page = await s.open("json-render");
    await ask(page, "a form");
    const form = surface(page, "table");
    await form.getByText("Book a table").waitFor();
    await form.locator("input").first().fill("Linus");
    await s.picture(page, "json-render", form);
    await form.getByRole("button", { name: "Book" }).click();
    await answered(page, 'You chose book in table, with {"name":"Linus","seats":"2"}.');
    await s.ready(page);
    await s.reload(page);
    await surface(page, "table").getByText("Book a table").waitFor();
    await page.close();
  });

  test("OpenUI is drawn by a sub-agent and by the agent itself, and acted on", async () => {
    const page = await s.open("openui");
    await ask(page, "the weather");
    await page.locator(".surface.openui").getByText("Weather in Tokyo").waitFor();
    await ask(page, "a form");
    const form = surface(page, "order");
    await form.getByText("Two questions").waitFor();
    await form.locator("input").first().fill("Linus");
    await form.locator("input").nth(1).fill("3");
    await s.picture(page, "openui", form);
    await form.getByRole("button", { name: "Send" }).click();
    await answered(page, "You chose continue_conversation in order");
    await s.ready(page);
    await page.locator("body").getByText(/"message":"Send the order".*Linus/s).last().waitFor();
    await page.close();
  });

  test("answers that are interfaces are drawn while they arrive", async () => {
    const page = await s.open("openui-ui");
    await ask(page, "the weather");
    await page.locator(".surface.openui").getByText("Weather in Tokyo").waitFor();
    await page.close();
    const other = await s.open("json-render-ui");
    await ask(other, "a form");
    await other.locator(".surface.json-render").getByText("Book a table").waitFor();
    await other.close();
  });
}
