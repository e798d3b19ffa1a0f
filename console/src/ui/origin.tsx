import { Link } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import type { components } from "../api/schema";
import { useLanguage, type Key } from "../i18n/i18n";
import { short } from "./id";
import { Ago } from "./time";

type From = components["schemas"]["ForkedFrom"];
type Fork = components["schemas"]["RunForks"]["forks"][number];

/** useChanges says in a list what a fork has other than its original. */
function useChanges() {
  const { t, locale } = useLanguage();
  return (c: From["changed"]) => {
    if (!c) return "";
    const words = [
      c.agent_id && t("fork.was.agent", { id: c.agent_id }),
      c.version && t("fork.was.version", { id: c.version }),
      c.model_id && t("fork.was.model", { id: c.model_id }),
      c.system_prompt && t("fork.was.prompt"),
      ...Object.entries(c.overrides ?? {}).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : value}`),
      c.results?.length && t("fork.was.results", { n: c.results.length }),
      c.refused?.length && t("fork.was.refused", { n: c.refused.length }),
      c.fixtures && t("fork.was.fixtures", { n: c.fixtures }),
      c.tools !== "recorded" && t(`fork.was.tools.${c.tools}` as Key),
    ].filter((w) => typeof w === "string" && w !== "") as string[];
    return words.length ? t("fork.was", { list: new Intl.ListFormat(locale, { type: "unit", style: "short" }).format(words) }) : t("fork.was.nothing");
  };
}

/** Origin says what a thread or a run was forked from and what was changed, and leads to both runs side by side. */
export function Origin({ from }: { from?: From }) {
  const { t } = useLanguage();
  const changes = useChanges();
  if (!from) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-sunken px-4 py-1.5">
      <GitFork aria-hidden className="size-3.5 text-muted" />
      {from.run_id ? (
        <Link to="/runs/$id/steps/$step" params={{ id: from.run_id, step: String(from.step ?? 0) }} className="link">
          {t("fork.fromRun", { run: short(from.run_id), step: from.step ?? 0 })}
        </Link>
      ) : (
        <Link to="/threads/$id" params={{ id: from.thread_id }} className="link">
          {t("fork.fromThread", { thread: short(from.thread_id), n: from.seq })}
        </Link>
      )}
      <span className="[overflow-wrap:anywhere]">{changes(from.changed)}</span>
      {from.run_id && from.fork_run_id && (
        <Link to="/runs/$id/beside/$other" params={{ id: from.fork_run_id, other: from.run_id }} search={{ step: String(from.step ?? 0) }} className="link">
          {t("beside.title")}
        </Link>
      )}
    </p>
  );
}

/** Forks lists the forks of a run, the newest first, with what was changed. */
export function Forks({ list, more }: { list: Fork[]; more: boolean }) {
  const { t } = useLanguage();
  const changes = useChanges();
  if (list.length === 0) return null;
  return (
    <section className="border-b border-line bg-sunken px-4 py-1.5">
      <h2 className="flex items-center gap-3 font-medium">
        <GitFork aria-hidden className="size-3.5 text-muted" />
        {t("fork.forks", { n: list.length })}
        {more && <span className="font-normal text-muted">{t("fork.forksMore")}</span>}
      </h2>
      <ul className="max-h-24 overflow-auto pl-6.5">
        {list.map((f) => (
          <li key={f.run_id} className="flex flex-wrap items-center gap-x-3">
            <Link to="/runs/$id" params={{ id: f.run_id }} className="mono link">
              {short(f.run_id)}
            </Link>
            <span>{t("run.step", { n: f.step ?? 0 })}</span>
            <span className="text-muted [overflow-wrap:anywhere]">{changes(f.changed)}</span>
            <span className="text-muted">
              <Ago at={f.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
