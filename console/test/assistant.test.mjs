// The assistant and the comparison of agents, in a browser, with a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, shot, stage, violations } from "./rig.mjs";

const { call, open, looks } = stage({ env: {} }, {
  async prepare() {
    await call("POST", "/v1/config/agents", { id: "poet", model_id: "default", system_prompt: "Answer in verse.", plugin_ids: ["demo"] });
    await call("PUT", "/v1/config/agents/poet", { id: "poet", model_id: "default", system_prompt: "Answer in prose.", plugin_ids: ["demo"] });
    await call("PUT", "/v1/config/agents/poet?publish=false", { id: "poet", model_id: "default", system_prompt: "Answer in haiku.", plugin_ids: ["demo"] });
  },
});

const pages = { assistant: "/assistant", compare: "/compare", compareFour: "/compare?sides=default@live,travel@live,research@1,poet@draft~default" };

looks("the assistant and the comparison", pages);

const say = async (page, text) => {
  await page.getByLabel("Message to the assistant").fill(text);
  await page.keyboard.press("Enter");
};

test("the assistant drafts, shows the difference before it publishes, and publishes what a person approves", async (t) => {
  const page = await open(t, "/assistant");
  await say(page, `RUN_TOOL admin_create_agent_draft ${JSON.stringify({ agent: { id: "bard", model_id: "default", system_prompt: "Sing." } })}`);
  await page.getByText("Saved as a draft:").waitFor();
  await page.getByRole("link", { name: "bard", exact: true }).waitFor();
  await say(page, `RUN_TOOL admin_publish_agent ${JSON.stringify({ agent: { id: "bard", model_id: "default", system_prompt: "Sing." } })}`);
  const first = page.getByRole("region", { name: "What publishing bard changes" });
  await first.getByText("new", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByText("Published:").waitFor();
  assert.equal((await call("GET", "/v1/config/agents/bard?state=live")).system_prompt, "Sing.");
  await say(page, `RUN_TOOL admin_publish_agent ${JSON.stringify({ agent: { id: "bard", model_id: "default", system_prompt: "Sing loud." } })}`);
  await first.getByText("1 difference").waitFor();
  await first.getByText("Sing loud.").first().waitFor();
  await settled(page);
  await shot(page, "assistant-asks");
  assert.deepEqual(await violations(page), []);
  assert.equal((await call("GET", "/v1/config/agents/bard?state=live")).system_prompt, "Sing.", "it was published before a person approved");
  await page.getByRole("button", { name: "Refuse", exact: true }).click();
  await page.getByText("refused", { exact: true }).waitFor();
  assert.equal((await call("GET", "/v1/config/agents/bard?state=live")).system_prompt, "Sing.");
  await page.reload();
  await page.getByText("Published:").waitFor(); // the tab keeps the conversation
});

test("the assistant's policy and model are saved", async (t) => {
  const page = await open(t, "/assistant");
  const form = page.getByRole("form", { name: "Settings" });
  await form.getByLabel("Policy prompt").fill("Agents answer in English.");
  await form.getByLabel("Model", { exact: true }).selectOption("default");
  await form.getByRole("button", { name: "Save", exact: true }).click();
  await form.getByText("Saved.").waitFor();
  const saved = await call("GET", "/v1/admin/assistant/config");
  assert.equal(saved.policy_prompt, "Agents answer in English.");
  assert.equal(saved.model_id, "default");
});

test("the palette opens the assistant", async (t) => {
  const page = await open(t, "/runs");
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("assist");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/assistant$/);
  await page.getByRole("log", { name: "Conversation with the assistant" }).waitFor();
});

test("T-6: one input is answered by the live agent, its draft and an older version, side by side", async (t) => {
  const page = await open(t, "/compare");
  const column = (n) => page.getByRole("region", { name: `Column ${n}`, exact: true });
  await column(1).getByLabel("Agent", { exact: true }).selectOption("poet");
  await column(2).getByLabel("Agent", { exact: true }).selectOption("poet");
  await column(2).getByLabel("Version", { exact: true }).selectOption("draft");
  await page.getByRole("button", { name: "Add a column" }).click();
  const [oldest] = (await call("GET", "/v1/registry/versions")).items.filter((v) => v.entries.some((e) => e.id === "poet")).map((v) => v.number).sort((a, b) => a - b);
  await column(3).getByLabel("Version", { exact: true }).selectOption(String(oldest));
  await page.waitForURL(/sides=poet/);
  await page.getByLabel("Message to all columns").fill("RUN_WEATHER_TOOL");
  await page.keyboard.press("Enter");
  const prompts = [];
  for (const n of [1, 2, 3]) {
    const figures = column(n).getByLabel(`Figures of column ${n}`);
    await figures.waitFor();
    await figures.getByText("1", { exact: true }).waitFor(); // one call
    await column(n).getByText("get_weather", { exact: true }).first().waitFor();
    const run = (await figures.getByRole("link", { name: "open" }).getAttribute("href")).split("/").at(-1);
    const seen = await call("GET", `/v1/runs/${run}/steps/0/request`);
    prompts.push(seen.system.map((b) => b.text).join(""));
  }
  for (const [i, word] of ["prose", "haiku", "verse"].entries()) assert.ok(prompts[i].includes(word), `column ${i + 1} ran with ${prompts[i]}`);
  await settled(page);
  await shot(page, "compare-answers");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Remove column 1" }).click();
  await column(3).waitFor({ state: "hidden" });
});
