// The editors that are made by hand, and the names that people and tests of the original know.
import assert from "node:assert/strict";
import { test } from "node:test";
import { run, stage } from "./rig.mjs";

const { server, call, open, looks } = stage({ env: {} }, {
  async prepare() {
    await call("POST", "/v1/config/models", { id: "second", provider_id: "default", upstream_model: "other" });
    await call("POST", "/v1/config/agents", {
      id: "poet",
      model_id: "default",
      system_prompt: "Answer in verse.",
      plugin_ids: ["demo", "permission", "reminder", "ext-deferred-tools", "skills-discovery"],
      sections: { permission: { rules: [{ tool: "*", behavior: "ask" }] }, reminder: { rules: [{ name: "careful", tool: "get_weather", message: { target: "conversation", content: "Check twice." } }] }, deferred_tools: { rules: [{ tool: "emit_*", mode: "deferred" }] } },
      stop_conditions: [{ type: "timeout", seconds: 60 }],
      context_policy: { max_context_tokens: 50000 },
    });
  },
});

const pages = { editTools: "/agents/poet/tools", editSkills: "/agents/poet/skills", editPlugins: "/agents/poet/plugins", editAdvanced: "/agents/poet/advanced", editPool: "/pools/-/new" };

looks("editors", pages);

const publish = async (page) => {
  await page.getByText("no problems").waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Publish now" }).click();
};

test("stop conditions, reminders, deferred tools, skills and patterns are edited without JSON", async (t) => {
  const page = await open(t, "/agents/poet/advanced", { allow: [/400/] });
  const tab = (name) => page.getByRole("tab", { name, exact: true }).click();
  await page.getByRole("button", { name: "Add a condition" }).click();
  const condition = page.getByRole("group", { name: "Condition 2" });
  await condition.getByLabel("Stop on").selectOption("stop_on_tool");
  await condition.getByLabel("Tool", { exact: true }).fill("finish");
  await page.getByLabel("Max context tokens", { exact: true }).fill("40000");

  await tab("Plugins");
  await page.getByRole("button", { name: "Add a reminder" }).click();
  const reminder = page.getByRole("group", { name: "Reminder 2" });
  await reminder.getByLabel("After calls of (pattern)").fill("append_note");
  await reminder.getByLabel("After a result with status").selectOption("error");
  await reminder.getByLabel("Message to the model").fill("Try another name.");
  await page.getByLabel("Beta overhead tokens").fill("900");

  await tab("Skills");
  await page.getByLabel("Only these").check();
  await page.getByRole("checkbox", { name: "greeting" }).check();

  await tab("Tools");
  const allowed = page.getByTestId("tool-selector-allowed");
  await allowed.getByLabel("New pattern").fill("emit_*");
  await allowed.getByText(/^4 tools: emit_activity/).waitFor();
  await allowed.getByRole("button", { name: "Add pattern" }).click();

  await publish(page);
  await page.getByRole("alert").getByText('Agent "poet" saved').waitFor();
  const saved = await call("GET", "/v1/config/agents/poet?state=live");
  assert.deepEqual(saved.stop_conditions, [{ type: "timeout", seconds: 60 }, { type: "stop_on_tool", tool_name: "finish" }]);
  assert.equal(saved.context_policy.max_context_tokens, 40000);
  assert.deepEqual(saved.sections.reminder.rules[1], { tool: "append_note", output: { status: "error" }, message: { target: "conversation", content: "Try another name." } });
  assert.equal(saved.sections.deferred_tools.beta_overhead, 900);
  assert.deepEqual(saved.sections.deferred_tools.rules, [{ tool: "emit_*", mode: "deferred" }]);
  assert.deepEqual(saved.sections.skills.allowlist, ["greeting"]);
  assert.ok(saved.allowed_tool_patterns.includes("emit_*"));
});

test("a pool is made of models with roles and weights", async (t) => {
  const page = await open(t, "/pools/-/new", { allow: [/400/] });
  await page.getByLabel("ID", { exact: true }).fill("both");
  await page.getByLabel("Model 1", { exact: true }).selectOption("default");
  await page.getByLabel("Weight of model 1").fill("3");
  await page.getByRole("button", { name: "Add a model" }).click();
  await page.getByLabel("Model 2", { exact: true }).selectOption("second");
  await page.getByText("75%", { exact: true }).waitFor();
  await page.getByLabel("Role of model 2").selectOption("failover_only");
  await publish(page);
  await page.waitForURL(/\/pools\/both$/);
  await page.getByText("both saved.").waitFor();
  const { members } = await call("GET", "/v1/config/model-pools/both?state=live");
  assert.deepEqual(members.map((m) => [m.model_id, m.role, m.weight]), [["default", "member", 3], ["second", "failover_only", undefined]]);
});

test("an agent's page says which version is live, and which one waiting runs still have", async (t) => {
  await call("POST", "/v1/config/agents", { id: "pinned", model_id: "default", plugin_ids: ["demo", "permission"], sections: { permission: { rules: [{ tool: "*", behavior: "ask" }] } } });
  const { live } = await call("GET", "/v1/registry/versions");
  await run(server.url, "pinned", 'RUN_TOOL append_note {"text":"x"}');
  await call("PUT", "/v1/config/agents/pinned", { id: "pinned", model_id: "default", system_prompt: "newer" });
  const page = await open(t, "/agents/pinned/basics");
  await page.getByRole("link", { name: `live v${(await call("GET", "/v1/registry/versions")).live}` }).waitFor();
  await page.getByRole("link", { name: `1 run on v${live}` }).click();
  await page.waitForURL(new RegExp(`/runs\\?agent_id=pinned&version=${live}$`));
});

test("names that the original has are kept", async (t) => {
  const page = await open(t, "/agents/-/new/basics", { theme: "dark", allow: [/400/] });
  const tabs = page.getByRole("tablist", { name: "Editor sections" });
  for (const name of ["Basics", "Tools", "Skills", "Plugins", "Delegates", "Advanced", "History"]) await tabs.getByRole("tab", { name, exact: true }).waitFor();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.equal(await page.evaluate(() => localStorage.getItem("awaken.admin.theme")), "dark");
  await page.getByLabel("Agent ID").fill("named");
  await page.getByLabel("Model", { exact: true }).selectOption("default");
  await page.getByLabel("Max rounds", { exact: true }).fill("3");
  await page.getByLabel("System prompt", { exact: true }).fill("Be brief.");
  await page.getByText("Unsaved changes").waitFor();
  const sandbox = page.locator("aside").filter({ has: page.getByRole("heading", { name: "Sandbox" }) });
  await sandbox.getByPlaceholder("Type a message…").fill("hello");
  await sandbox.getByRole("button", { name: "Send" }).click();
  await sandbox.getByText("Scripted response to: hello").waitFor();
  await tabs.getByRole("tab", { name: "Tools", exact: true }).click();
  await page.getByTestId("tool-selector-allowed").getByLabel("New pattern").waitFor();
  await page.getByTestId("tool-selector-allowed").getByRole("button", { name: "Add pattern" }).waitFor();
  await tabs.getByRole("tab", { name: "Plugins", exact: true }).click();
  await page.getByRole("heading", { name: "Plugins" }).waitFor({ state: "attached" });
  await tabs.getByRole("tab", { name: "Advanced", exact: true }).click();
  await page.getByRole("heading", { name: "Context window policy" }).waitFor();
  await page.getByLabel("Apply custom policy").check();
  await page.getByLabel("Max context tokens", { exact: true }).fill("1000");
  await page.getByRole("heading", { name: "Raw JSON" }).waitFor();
  await page.getByRole("textbox", { name: "Raw JSON" }).waitFor();
  await page.getByRole("link", { name: "Back to agents" }).click();
  const ask = page.getByRole("dialog", { name: "Discard unsaved changes" });
  await ask.getByRole("button", { name: "Discard changes" }).waitFor();
  await ask.getByRole("button", { name: "Keep editing" }).click();
  await page.getByLabel("Apply custom policy").uncheck();
  await publish(page);
  await page.getByRole("alert").getByText('Agent "named" created').waitFor();
  await tabs.getByRole("tab", { name: "Basics", exact: true }).click();
  await page.getByLabel("Max rounds", { exact: true }).fill("4");
  await publish(page);
  await page.getByRole("alert").getByText('Agent "named" saved').waitFor();
  await page.getByLabel("Max rounds", { exact: true }).fill("5");
  await page.getByRole("link", { name: "Back to agents" }).click();
  await ask.getByRole("button", { name: "Discard changes" }).click();
  await page.waitForURL(/\/agents$/);
  await page.goto(`${server.url}/agents/named/basics`);
  await page.getByText("Live", { exact: true }).first().waitFor();
  assert.equal(await page.getByLabel("Max rounds", { exact: true }).inputValue(), "4", "what was discarded came back");

  await page.goto(`${server.url}/providers`);
  await page.getByRole("link", { name: "Edit default" }).waitFor(); // a link here, so that it opens in another tab, too
  await page.getByRole("link", { name: "New Provider" }).click();
  await page.getByLabel("Provider ID").fill("named");
  await page.getByLabel("Adapter", { exact: true }).selectOption("openai");
  await page.getByLabel("Base URL", { exact: true }).fill("https://models.example.com/v1");
  await page.getByLabel("Timeout (seconds)").fill("30");
  await page.getByLabel("API key", { exact: true }).fill("sk-planted-secret");
  await publish(page);
  await page.getByRole("alert").getByText('Provider "named" saved').waitFor();
  await page.getByText("Stored", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Replace" }).click();
  await page.getByPlaceholder("Existing credential is preserved.").waitFor();
  await page.goto(`${server.url}/tools/get_weather`);
  await page.getByRole("button", { name: "Save", exact: true }).waitFor();
});
