import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "../../api/agents";
import { useLanguage } from "../../i18n/i18n";
import { JsonField, Labelled, Panel } from "../../ui/labelled";
import type { Template } from "./queries";

/** textOf returns the text of a template that has one message with a text, and undefined of others: their messages are edited as JSON. */
export function textOf(run: Template): string | undefined {
  const [only, ...more] = run.messages;
  return only && more.length === 0 && only.role === "user" && typeof only.content === "string" ? only.content : undefined;
}

/** useLacks says what a template lacks, or undefined. */
export function useLacks(run: Template): string | undefined {
  const { t } = useLanguage();
  if (!run.agent_id) return t("automate.noAgent");
  return textOf(run)?.trim() === "" || run.messages.length === 0 ? t("why.noMessage") : undefined;
}

/** The fields that TemplateFields has. */
export const templateFields = ["agent_id", "messages", "thread_id", "user_id", "priority", "overrides", "budget", "output_schema"];

/** TemplateFields edits the run that a schedule or a trigger starts. */
export function TemplateFields({ value, set, wrong, hint, threadHint, children }: { value: Template; set: (value: Template) => void; wrong: (field: string) => string | undefined; hint: string; threadHint: string; children?: React.ReactNode }) {
  const { t } = useLanguage();
  const agents = useQuery(agentsQuery);
  const put = (change: Partial<Template>) => set(Object.fromEntries(Object.entries({ ...value, ...change }).filter(([, v]) => v !== undefined && v !== "")) as unknown as Template);
  const text = textOf(value);
  return (
    <Panel title={t("automate.run")}>
      <Labelled label={t("automate.agent")} bad={wrong("agent_id")}>
        {(props) => (
          <select {...props} className="field w-full" value={value.agent_id ?? ""} onChange={(e) => set({ ...value, agent_id: e.target.value })}>
            <option value="">{t("automate.chooseAgent")}</option>
            {value.agent_id && !agents.data?.some((a) => a.id === value.agent_id) && <option>{value.agent_id}</option>}
            {agents.data?.map((a) => <option key={a.id}>{a.id}</option>)}
          </select>
        )}
      </Labelled>
      {text !== undefined ? (
        <Labelled label={t("automate.message")} bad={wrong("messages")} hint={hint}>
          {(props) => <textarea {...props} className="field w-full" rows={4} value={text} onChange={(e) => set({ ...value, messages: [{ role: "user", content: e.target.value }] })} />}
        </Labelled>
      ) : (
        <JsonField label={t("automate.messages")} bad={wrong("messages")} hint={hint} value={value.messages} onChange={(v) => set({ ...value, messages: Array.isArray(v) ? v : [] })} />
      )}
      {children}
      <div className="grid gap-3 sm:grid-cols-2">
        <Labelled label={t("automate.thread")} hint={threadHint} bad={wrong("thread_id")}>
          {(props) => <input {...props} className="field mono w-full" autoComplete="off" value={value.thread_id ?? ""} onChange={(e) => put({ thread_id: e.target.value.trim() })} />}
        </Labelled>
        <Labelled label={t("automate.user")} hint={t("automate.userHint")} bad={wrong("user_id")}>
          {(props) => <input {...props} className="field mono w-full" autoComplete="off" value={value.user_id ?? ""} onChange={(e) => put({ user_id: e.target.value.trim() })} />}
        </Labelled>
        <Labelled label={t("automate.priority")} bad={wrong("priority")}>
          {(props) => (
            <select {...props} className="field w-full" value={value.priority ?? "background"} onChange={(e) => put({ priority: e.target.value === "interactive" ? "interactive" : undefined })}>
              <option value="background">{t("automate.background")}</option>
              <option value="interactive">{t("automate.interactive")}</option>
            </select>
          )}
        </Labelled>
      </div>
      <details open={Boolean(wrong("overrides") || wrong("budget") || wrong("output_schema")) || undefined}>
        <summary className="touch cursor-pointer py-1 font-medium">{t("automate.advanced")}</summary>
        <div className="flex flex-col gap-3 pt-2">
          <JsonField label={t("automate.overrides")} hint={t("automate.overridesHint", { example: '{"temperature": 0}' })} bad={wrong("overrides")} value={value.overrides} onChange={(v) => put({ overrides: v as Template["overrides"] })} />
          <JsonField label={t("automate.budget")} hint={t("automate.budgetHint", { example: '{"run_usd": 0.5}' })} bad={wrong("budget")} value={value.budget} onChange={(v) => put({ budget: v as Template["budget"] })} />
          <JsonField label={t("automate.schema")} hint={t("automate.schemaHint")} bad={wrong("output_schema")} value={value.output_schema} onChange={(v) => put({ output_schema: v })} />
        </div>
      </details>
    </Panel>
  );
}

/** messageOf returns what a template says to the agent, to read. */
export function messageOf(run: Template): string {
  return textOf(run) ?? run.messages.map((m) => (typeof m.content === "string" ? m.content : JSON.stringify(m.content))).join("\n");
}
