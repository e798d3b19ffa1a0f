import en from "../app/i18n/en.json";
import { useLanguage, type Key } from "../app/i18n/i18n";
import { Choice } from "./filter";

/** What lists of runs and of traces may be filtered by. */
interface Search {
  status?: string;
  outcome?: string;
  waiting_reason?: string;
  origin?: string;
  in_doubt?: string;
}

interface Props {
  search: Search;
  set: (change: Search) => void;
}

const choices: { name: keyof Search; word: Key; values: [string, Key][] }[] = [
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
    ],
  },
];

const origins = (Object.keys(en) as Key[]).filter((k) => k.startsWith("origin.")); // each origin has a word

/** StateChoices choose runs by their state, how they ended and what they wait for. */
export function StateChoices({ search, set }: Props) {
  const { t } = useLanguage();
  return choices.map((c) => <Choice key={c.name} label={t(c.word)} value={search[c.name] ?? ""} onChange={(v) => set({ [c.name]: v || undefined })} options={c.values.map(([value, word]) => ({ value, text: t(word) }))} />);
}

/** OriginChoices choose runs by who started them, and those with a call of which it is not known whether it took effect. */
export function OriginChoices({ search, set }: Props) {
  const { t } = useLanguage();
  return (
    <>
      <Choice label={t("runs.origin")} value={search.origin ?? ""} onChange={(v) => set({ origin: v || undefined })} options={origins.map((word) => ({ value: word.slice("origin.".length), text: t(word) }))} />
      <Choice label={t("runs.inDoubt")} value={search.in_doubt ?? ""} onChange={(v) => set({ in_doubt: v || undefined })} options={[{ value: "true", text: t("runs.onlyInDoubt") }]} />
    </>
  );
}
