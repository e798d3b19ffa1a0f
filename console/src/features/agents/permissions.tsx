import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, X } from "lucide-react";
import { useEffect, useState } from "react";
import { api, ask } from "../../api/client";
import type { Doc } from "../../api/config";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Problems } from "../../ui/docform";
import type { Editing } from "../../ui/editing";
import { Failure, Skeleton } from "../../ui/state";
import { toneOf, type Tone } from "../../ui/status";
import { Ago } from "../../ui/time";
import { withSection } from "./panels";

interface Rule {
  tool: string;
  behavior: string;
  scope?: string;
  when?: string;
}

interface Section {
  default_behavior?: string;
  rules?: Rule[] | null;
  on_deny?: string;
  remember?: string[];
}

const behaviors = ["allow", "ask", "deny"];
const tones: Record<string, Tone> = { allow: "ok", ask: "wait", deny: "fail" };

/** Permissions edits the rules of an agent. The latest calls sort themselves by them while you type. */
export function Permissions({ editing, disabled, saved }: { editing: Editing; disabled: boolean; saved: boolean }) {
  const { t } = useLanguage();
  const section = ((editing.doc.sections as Record<string, unknown> | undefined)?.permission ?? {}) as Section;
  const plugins = (editing.doc.plugin_ids as string[] | undefined) ?? [];
  const on = plugins.includes("permission");
  const rules = section.rules ?? [];
  const set = (change: Section) => {
    const doc = withSection(editing.doc, "permission", { ...section, ...change } as Doc);
    editing.set(on ? doc : { ...doc, plugin_ids: [...plugins, "permission"] });
  };
  const put = (i: number, change: Partial<Rule>) => set({ rules: rules.map((r, j) => (j === i ? { ...r, ...change } : r)) });
  const problems = editing.problems.filter((p) => p.path.startsWith("/sections/permission"));
  const own = (i: number) => problems.filter((p) => p.path.startsWith(`/sections/permission/rules/${i}`));
  const other = problems.filter((p) => !p.path.startsWith("/sections/permission/rules/"));
  return (
    <>
      {!on && <p className="text-wait">{t("rules.off")}</p>}
      <section aria-label={t("rules.title")} className="flex flex-col gap-3">
        <h2 className="text-title font-semibold">{t("rules.title")}</h2>
        <p className="text-muted">{t("rules.hint")}</p>
        <ol className="flex flex-col gap-2">
          {rules.map((r, i) => (
            <li key={i} className="flex flex-col gap-1">
              <div className="flex flex-wrap items-center gap-2">
                <input className="field mono min-w-40 flex-1" aria-label={t("rules.pattern", { n: i + 1 })} placeholder="delete_*" disabled={disabled} aria-invalid={own(i).length > 0 || undefined} value={r.tool} onChange={(e) => put(i, { tool: e.target.value })} />
                <select className={`field font-medium ${toneOf(tones[r.behavior] ?? "idle")}`} aria-label={t("rules.behavior", { n: i + 1 })} disabled={disabled} value={r.behavior} onChange={(e) => put(i, { behavior: e.target.value })}>
                  {behaviors.map((b) => (
                    <option key={b} value={b}>
                      {t(`behavior.${b}` as Key)}
                    </option>
                  ))}
                </select>
                <label className="flex items-center gap-1.5 text-dense">
                  <input type="checkbox" disabled={disabled} checked={r.when === "tainted"} onChange={(e) => put(i, { when: e.target.checked ? "tainted" : undefined })} />
                  {t("rules.tainted")}
                </label>
                <Button kind="quiet" disabled={disabled} aria-label={t("rules.remove", { n: i + 1 })} onClick={() => set({ rules: rules.filter((_, j) => j !== i) })}>
                  <X aria-hidden className="size-3.5" />
                </Button>
              </div>
              <Problems list={own(i)} />
            </li>
          ))}
        </ol>
        <div className="flex flex-wrap items-center gap-3">
          <Button disabled={disabled} onClick={() => set({ rules: [...rules, { tool: "", behavior: "ask" }] })}>
            <Plus aria-hidden className="size-3.5" />
            {t("rules.add")}
          </Button>
          <label className="ml-auto flex items-center gap-2">
            {t("rules.otherwise")}
            <select className="field" disabled={disabled} value={section.default_behavior ?? ""} onChange={(e) => set({ default_behavior: e.target.value || undefined })}>
              <option value="">{t("doc.default", { value: t("behavior.ask") })}</option>
              {behaviors.map((b) => (
                <option key={b} value={b}>
                  {t(`behavior.${b}` as Key)}
                </option>
              ))}
            </select>
          </label>
        </div>
        <Problems list={other} />
      </section>
      {saved && <Trial doc={editing.doc} />}
    </>
  );
}

/** Trial shows what the rules would have done with the latest real calls. */
function Trial({ doc }: { doc: Doc }) {
  const { t, date } = useLanguage();
  const [agent, setAgent] = useState(doc);
  const [only, setOnly] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setAgent(doc), 400);
    return () => window.clearTimeout(timer);
  }, [doc]);
  const query = useQuery({
    queryKey: ["runs", "trial", JSON.stringify(agent)],
    queryFn: ({ signal }) => ask(api.POST("/v1/agents/permission-preview", { body: { agent, recent: { limit: 500 } }, signal })),
    placeholderData: (before) => before,
    retry: false,
  });
  const data = query.data;
  const items = (data?.items ?? []).filter((i) => !only || i.behavior === only);
  return (
    <section aria-label={t("rules.trial")} className="panel overflow-hidden">
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="font-semibold">{t("rules.trial")}</h2>
        <div role="group" aria-label={t("rules.filter")} className="ml-auto flex gap-1">
          {behaviors.map((b) => (
            <button key={b} type="button" aria-pressed={only === b} onClick={() => setOnly(only === b ? "" : b)} className={`touch min-h-7 rounded-md px-2 font-medium aria-pressed:bg-sunken ${toneOf(tones[b]!)}`}>
              {t(`behavior.${b}` as Key)} {data?.totals[b] ?? 0}
            </button>
          ))}
        </div>
      </header>
      {!data && query.isError && <Failure error={query.error} retry={() => void query.refetch()} />}
      {!data && query.isPending && <Skeleton rows={3} />}
      {data && query.isError && <p className="px-4 py-2 text-fail">{query.error.message}</p>}
      {data && data.items.length === 0 && <p className="px-4 py-6 text-muted">{t("rules.noCalls")}</p>}
      {data && items.length > 0 && (
        <ul aria-label={t("rules.trial")} tabIndex={0} className="max-h-96 divide-y divide-line overflow-auto">
          {items.slice(0, 500).map((c, i) => (
            <li key={(c.run_id ?? "") + (c.call_id ?? i)} className="grid min-h-9 grid-cols-[5rem_minmax(0,1fr)_auto] items-center gap-3 px-4 py-1 md:grid-cols-[5rem_10rem_minmax(0,1fr)_minmax(0,14rem)_3rem]">
              <span className={`font-medium ${toneOf(tones[c.behavior] ?? "idle")}`}>{t(`behavior.${c.behavior}` as Key)}</span>
              <span className="mono truncate">{c.run_id && c.call_id ? <Link to="/runs/$id/calls/$call" params={{ id: c.run_id, call: c.call_id }} className="hover:underline">{c.tool}</Link> : c.tool}</span>
              <span className="mono truncate text-muted max-md:hidden">{JSON.stringify(c.arguments)}</span>
              <span className="truncate text-muted max-md:hidden" title={c.others.map((o) => `${o.tool} → ${o.behavior}`).join(", ")}>
                {c.rule ? `${c.rule.tool} → ${t(`behavior.${c.rule.behavior}` as Key)}${c.rule.source === "agent" ? "" : ` · ${t(`ruleSource.${c.rule.source}` as Key)}`}` : t("rules.byDefault")}
              </span>
              <span className="text-right text-muted">
                <Ago at={c.at} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {data && data.items.length > 0 && (
        <p className="border-t border-line px-4 py-1.5 text-dense text-muted">
          {t("rules.span", { n: data.items.length, runs: new Set(data.items.map((c) => c.run_id)).size, from: date(data.items.at(-1)!.at!), to: date(data.items[0]!.at!) })} {t(data.complete ? "rules.all" : "rules.more")}
        </p>
      )}
    </section>
  );
}
