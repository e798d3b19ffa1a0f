import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "../api/agents";
import en from "../i18n/en.json";
import { useLanguage, type Key } from "../i18n/i18n";

const states: { name: "status" | "outcome" | "waiting_reason"; word: Key; values: [string, Key][] }[] = [
  {
    name: "status",
    word: "runs.status",
    values: [
      ["created", "status.queued"],
      ["running", "status.running"],
      ["waiting", "status.waiting"],
      ["done", "status.ended"],
    ],
  },
  {
    name: "outcome",
    word: "runs.outcome",
    values: [
      ["natural_end", "status.done"],
      ["stopped", "status.stopped"],
      ["cancelled", "status.cancelled"],
      ["blocked", "status.blocked"],
      ["error", "status.failed"],
    ],
  },
  {
    name: "waiting_reason",
    word: "runs.waitsFor",
    values: [
      ["tool_permission", "reason.tool_permission"],
      ["user_input", "reason.user_input"],
      ["background_tasks", "reason.background_tasks"],
      ["budget_exhausted", "reason.budget_exhausted"],
      ["pin_unavailable", "reason.pin_unavailable"],
      ["restored", "reason.restored"],
    ],
  },
];

const origins = (Object.keys(en) as Key[]).filter((k) => k.startsWith("origin.")); // each origin has a word

/** useRunFilters returns what lists are filtered by: the agent of runs, their states, and who started them or what is not known about them. */
export function useRunFilters() {
  const { t } = useLanguage();
  const agents = useQuery(agentsQuery).data ?? [];
  return {
    agent: { name: "agent_id" as const, word: "runs.agent" as const, options: agents.map((a) => ({ value: a.id, text: a.id })) },
    states: states.map(({ name, word, values }) => ({ name, word, options: values.map(([value, text]) => ({ value, text: t(text) })) })),
    origins: [
      { name: "origin" as const, word: "runs.origin" as const, rare: true, options: origins.map((word) => ({ value: word.slice("origin.".length), text: t(word) })) },
      { name: "in_doubt" as const, word: "runs.inDoubt" as const, rare: true, options: [{ value: "true", text: t("runs.onlyInDoubt") }] },
    ],
  };
}
