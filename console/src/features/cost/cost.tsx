import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Coins, Download, Lock } from "lucide-react";
import type { ReactNode } from "react";
import { useMay, useSession } from "../../api/session";
import { now, toMs } from "../../api/time";
import { useLanguage, type Key, type Language } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Chart, Spark } from "../../ui/chart";
import { short } from "../../ui/id";
import { Page } from "../../ui/page";
import { save } from "../../ui/save";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { TenantBudget } from "./budget";
import { dearestQuery, groupings, metrics, seriesQuery, type Grouping, type Metric } from "./queries";
import { rangeOf, ranges, timesOf, type Range } from "./range";

export interface CostSearch {
  metric?: string;
  by?: string;
  range?: string;
  from?: string;
  to?: string;
  key?: string;
}

/** dayOf returns the day of a time as fields for dates write it. */
const dayOf = (ms: number) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 10);

/** lines are metrics that cannot be added up. */
const lines = new Set<Metric>(["error_rate", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms"]);

function formatOf(metric: Metric, { number, money, span }: Language): (v: number) => string {
  if (metric === "cost_usd") return money;
  if (metric === "error_rate") return (v) => number(v, { style: "percent", maximumFractionDigits: 1 });
  return metric.startsWith("latency") ? (v) => span(v) : (v) => number(v, { maximumFractionDigits: 0 });
}

/** Cost shows what runs cost, how many there were, how long they took and how they failed: over time, and by what. */
export function Cost() {
  const { t, date } = useLanguage();
  const search: CostSearch = useSearch({ strict: false });
  const session = useSession();
  const metric = metrics.find((m) => m === search.metric) ?? "cost_usd";
  const by = groupings.find((g) => g === search.by) ?? "agent";
  const range = rangeOf(search.range, search.from, search.to);
  const navigate = useNavigate();
  const set = (change: CostSearch) => void navigate({ to: "/cost", search: (s: CostSearch) => ({ ...s, ...change }), replace: true });
  if (session?.user) {
    return (
      <Page crumbs={[{ text: t("nav.cost") }]}>
        <Empty title={t("state.noPermission")} icon={Lock}>
          {t("cost.needsAll")}
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      crumbs={[{ text: t("nav.cost") }]}
      actions={
        <select
          className="field"
          aria-label={t("cost.range")}
          value={range.name}
          onChange={(e) => set(e.target.value === "custom" ? { range: "custom", from: dayOf(range.since), to: dayOf((range.until ?? now()) - 1) } : { range: e.target.value, from: undefined, to: undefined })}
        >
          {ranges.map((r) => (
            <option key={r} value={r}>
              {t(`range.${r}`)}
            </option>
          ))}
        </select>
      }
    >
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="mx-auto flex max-w-6xl flex-col gap-4 p-4">
          {range.name === "custom" && (
            <div className="flex flex-wrap gap-3">
              {(["from", "to"] as const).map((name) => (
                <label key={name} className="flex flex-col gap-1 font-medium">
                  {t(`cost.${name}`)}
                  <input type="date" className="field font-normal" value={search[name] ?? ""} max={dayOf(now())} onChange={(e) => set({ [name]: e.target.value || undefined })} />
                </label>
              ))}
            </div>
          )}
          <p className="text-dense text-muted">{range.until === undefined ? t("cost.since", { since: date(range.since) }) : t("cost.span", { since: date(range.since), until: date(range.until) })}</p>
          <Figures range={range} metric={metric} choose={(m) => set({ metric: m === "cost_usd" ? undefined : m })} />
          <div className="grid grid-cols-1 gap-4 lg:grid-cols-3">
            <div className="flex min-w-0 flex-col gap-4 lg:col-span-2">
              <Over metric={metric} by={by} range={range} chosen={search.key} />
              <By metric={metric} by={by} range={range} chosen={search.key} set={set} />
            </div>
            <div className="flex flex-col gap-4">
              <Dearest range={range} agent={by === "agent" ? search.key : undefined} />
              <TenantBudget />
            </div>
          </div>
        </div>
      </div>
    </Page>
  );
}

const shown: Metric[] = ["cost_usd", "runs", "tokens", "error_rate", "latency_p95_ms"];

function Figures({ range, metric, choose }: { range: Range; metric: Metric; choose: (m: Metric) => void }) {
  return (
    <div className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-5">
      {shown.map((m) => (
        <Figure key={m} metric={m} range={range} on={m === metric} choose={() => choose(m)} />
      ))}
    </div>
  );
}

function Figure({ metric, range, on, choose }: { metric: Metric; range: Range; on: boolean; choose: () => void }) {
  const language = useLanguage();
  const query = useQuery({ ...seriesQuery(metric, "total", range), placeholderData: keepPreviousData });
  const total = query.data?.series[0]?.total;
  return (
    <button type="button" aria-pressed={on} onClick={choose} className="panel flex flex-col items-start px-4 py-3 text-left hover:bg-sunken aria-pressed:border-accent aria-pressed:shadow-[inset_0_-3px_0_var(--accent)]">
      <span className="text-muted">{language.t(`metric.${metric}` as Key)}</span>
      <span className="text-page font-semibold tabular-nums">{query.isPending ? "…" : total === null || total === undefined ? "–" : formatOf(metric, language)(total)}</span>
    </button>
  );
}

function Box({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="panel overflow-hidden">
      <header className="flex min-h-10 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5">
        <h2 className="font-semibold">{title}</h2>
        {action}
      </header>
      {children}
    </section>
  );
}

function Over({ metric, by, range, chosen }: { metric: Metric; by: Grouping; range: Range; chosen?: string }) {
  const language = useLanguage();
  const { t } = language;
  const query = useQuery({ ...seriesQuery(metric, chosen ? by : "total", range), placeholderData: keepPreviousData });
  const title = chosen ? `${t(`metric.${metric}` as Key)} · ${chosen}` : t(`metric.${metric}` as Key);
  return (
    <Box title={title}>
      <Loaded query={query} rows={4}>
        {(data) => {
          const one = chosen ? data.series.find((s) => s.key === chosen) : data.series[0];
          return (
            <div className="p-4">
              {one && one.total !== null && one.values.some((v) => v !== null && v !== 0) ? (
                <Chart times={data.times} step={data.step_ms} values={one.values as (number | null)[]} format={formatOf(metric, language)} label={title} line={lines.has(metric)} />
              ) : (
                <Empty title={t("cost.empty")} icon={Coins}>
                  {t(metric === "cost_usd" ? "cost.emptyPrices" : "cost.emptyHint")}
                </Empty>
              )}
            </div>
          );
        }}
      </Loaded>
    </Box>
  );
}

/** linkOf returns the runs behind a row. */
function linkOf(by: Grouping, key: string, range: Range) {
  const times = timesOf(range);
  switch (by) {
    case "agent":
      return { agent_id: key, ...times };
    case "tool":
      return { tool: key, ...times };
    case "user":
      return { user_id: key, ...times };
    case "version":
      return { version: key, ...times };
    default:
      return undefined;
  }
}

function By({ metric, by, range, chosen, set }: { metric: Metric; by: Grouping; range: Range; chosen?: string; set: (c: CostSearch) => void }) {
  const language = useLanguage();
  const { t, number } = language;
  const query = useQuery({ ...seriesQuery(metric, by, range), placeholderData: keepPreviousData });
  const format = formatOf(metric, language);
  const adds = !lines.has(metric);
  const csv = () => {
    const data = query.data;
    if (!data) return;
    const cell = (v: unknown) => `"${String(v ?? "").replaceAll('"', '""').replace(/^([=+\-@])/, "'$1")}"`;
    const rows = [[by, "total", ...data.times.map((x) => new Date(x).toISOString())], ...data.series.map((s) => [s.other ? "other" : s.key, s.total, ...s.values])];
    save(`${metric}-by-${by}.csv`, rows.map((r) => r.map(cell).join(",")).join("\n") + "\n", "text/csv");
  };
  return (
    <Box
      title={t("cost.by")}
      action={
        <div className="flex flex-wrap items-center gap-2">
          <select className="field" aria-label={t("cost.metric")} value={metric} onChange={(e) => set({ metric: e.target.value })}>
            {metrics.map((m) => (
              <option key={m} value={m}>
                {t(`metric.${m}` as Key)}
              </option>
            ))}
          </select>
          <select className="field" aria-label={t("cost.by")} value={by} onChange={(e) => set({ by: e.target.value, key: undefined })}>
            {groupings.map((g) => (
              <option key={g} value={g}>
                {t(`by.${g}` as Key)}
              </option>
            ))}
          </select>
          <Button onClick={csv}>
            <Download aria-hidden className="size-3.5" />
            CSV
          </Button>
        </div>
      }
    >
      <Loaded query={query} rows={5}>
        {(data) => {
          const sum = data.series.reduce((n, s) => n + (s.total ?? 0), 0);
          return data.series.length === 0 ? (
            <p className="px-4 py-6 text-muted">{t("cost.none")}</p>
          ) : (
            <div className="overflow-x-auto">
              <table className="w-full min-w-96">
                <caption className="sr-only">{`${t(`metric.${metric}` as Key)} · ${t(`by.${by}` as Key)}`}</caption>
                <thead className="text-left text-caption text-muted">
                  <tr className="border-b border-line">
                    <th scope="col" className="px-4 py-1 font-normal">
                      {t(`by.${by}` as Key)}
                    </th>
                    <th scope="col" className="w-40 py-1 font-normal">
                      {t("cost.overTime")}
                    </th>
                    <th scope="col" className="px-3 py-1 text-right font-normal">
                      {t(`metric.${metric}` as Key)}
                    </th>
                    {adds && (
                      <th scope="col" className="py-1 pr-4 text-right font-normal">
                        {t("cost.share")}
                      </th>
                    )}
                    <th scope="col" className="py-1 pr-4">
                      <span className="sr-only">{t("nav.runs")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.series.map((s) => {
                    const link = s.other ? undefined : linkOf(by, s.key, range);
                    return (
                      <tr key={s.other ? "" : s.key} className="row-link border-b border-line last:border-0" data-selected={!s.other && s.key === chosen}>
                        <th scope="row" className="max-w-56 px-4 py-1.5 text-left font-normal">
                          {s.other ? (
                            <span className="text-muted">{t("cost.other")}</span>
                          ) : (
                            <button type="button" aria-pressed={s.key === chosen} title={s.key} className="touch block min-h-6 max-w-full truncate text-left hover:underline aria-pressed:font-semibold" onClick={() => set({ key: s.key === chosen ? undefined : s.key })}>
                              {s.key || t("cost.unnamed")}
                            </button>
                          )}
                        </th>
                        <td className="w-40">
                          <Spark values={s.values as (number | null)[]} line={!adds} />
                        </td>
                        <td className="mono px-3 text-right whitespace-nowrap">{s.total === null ? "–" : format(s.total)}</td>
                        {adds && <td className="mono pr-4 text-right text-muted">{sum > 0 ? number((s.total ?? 0) / sum, { style: "percent" }) : ""}</td>}
                        <td className="pr-4 text-right">
                          {link && s.key !== "" && (
                            <Link to="/runs" search={link} className="link inline-flex min-h-6 items-center" aria-label={t("cost.runsOf", { key: s.key })}>
                              {t("nav.runs")}
                            </Link>
                          )}
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          );
        }}
      </Loaded>
    </Box>
  );
}

function Dearest({ range, agent }: { range: Range; agent?: string }) {
  const { t, money } = useLanguage();
  const may = useMay("read");
  const query = useQuery({ ...dearestQuery(range, agent), enabled: may });
  return (
    <Box title={agent ? t("cost.dearestOf", { agent }) : t("cost.dearest")}>
      <Loaded query={query} rows={4}>
        {({ items, partial }) =>
          items.length === 0 ? (
            <p className="px-4 py-6 text-muted">{t("cost.noneDear")}</p>
          ) : (
            <ol>
              {items.map((r) => (
                <li key={r.run_id}>
                  <Link to="/runs/$id" params={{ id: r.run_id }} className="row-link touch flex min-h-8 items-center gap-2 px-4">
                    <span className="mono w-16 shrink-0 text-right">{money(r.cost_usd ?? 0)}</span>
                    <span className="truncate">{r.agent_id}</span>
                    <span className="mono text-muted">{short(r.run_id)}</span>
                    <span className="ml-auto text-muted">
                      <Ago at={toMs(r.created_at)} />
                    </span>
                  </Link>
                </li>
              ))}
              {partial && <li className="px-4 py-2 text-dense text-muted">{t("cost.partial")}</li>}
            </ol>
          )
        }
      </Loaded>
    </Box>
  );
}
