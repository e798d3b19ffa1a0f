import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, X } from "lucide-react";
import { useState } from "react";
import { call } from "../../api/config";
import type { components } from "../../api/schema";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Gates, gatesOf, overriding, Refused } from "../../ui/gate";
import { useWhy } from "../../ui/savebar";
import { Ago } from "../../ui/time";

type Report = components["schemas"]["ConfigCanaryReport"];

interface Limit {
  text: string;
  value: number;
  limit: number;
  shown: string;
  known: boolean;
}

/** CanaryPanel draws a canary's rule: what it measures, how far it is, and the runs behind each number. */
export function CanaryPanel({ report }: { report: Report }) {
  const { t, number, money, span } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const c = report.canary!;
  const [share, setShare] = useState(Math.round(c.share * 100));
  const act = useMutation({
    mutationFn: ({ what, override }: { what: "promote" | "end" | "share"; override?: string }) =>
      what === "promote" ? call("POST", "/v1/registry/canary/promote", undefined, overriding(override)) : what === "end" ? call("DELETE", "/v1/registry/canary") : call("PUT", "/v1/registry/canary", { version: c.version, share: share / 100, ...(c.rule ? { rule: c.rule } : {}) }, overriding(override)),
    onSettled: () => {
      for (const queryKey of [["versions"], ["config"], ["agents"]]) void client.invalidateQueries({ queryKey });
    },
  });
  const refused = gatesOf(act.error);
  const mine = report.tally;
  const theirs = report.live_tally;
  const rule = c.rule;
  const rate = (x: typeof mine) => (x.runs ? x.errors / x.runs : 0);
  const per = (x: typeof mine) => (x.runs ? x.cost_usd / x.runs : 0);
  const took = (x: typeof mine) => (x.runs ? x.latency_ms / x.runs : 0);
  const percent = (n: number) => number(n, { style: "percent", maximumFractionDigits: 1 });
  const times = (n: number) => `${number(n, { maximumFractionDigits: 2 })}×`;
  const ratio = (a: number, b: number) => (b > 0 ? a / b : 0);
  const limits: Limit[] = [];
  if (rule?.max_error_rate) limits.push({ text: t("canary.errors"), value: rate(mine), limit: rule.max_error_rate, shown: `${percent(rate(mine))} ≤ ${percent(rule.max_error_rate)}`, known: mine.runs > 0 });
  if (rule?.max_error_increase) limits.push({ text: t("canary.moreErrors"), value: rate(mine) - rate(theirs), limit: rule.max_error_increase, shown: `${percent(rate(mine) - rate(theirs))} ≤ ${percent(rule.max_error_increase)}`, known: mine.runs > 0 && theirs.runs > 0 });
  if (rule?.max_cost_usd) limits.push({ text: t("canary.cost"), value: per(mine), limit: rule.max_cost_usd, shown: `${money(per(mine))} ≤ ${money(rule.max_cost_usd)}`, known: mine.runs > 0 });
  if (rule?.max_cost_ratio) limits.push({ text: t("canary.costRatio"), value: ratio(per(mine), per(theirs)), limit: rule.max_cost_ratio, shown: `${times(ratio(per(mine), per(theirs)))} ≤ ${times(rule.max_cost_ratio)}`, known: per(theirs) > 0 });
  if (rule?.max_latency_ms) limits.push({ text: t("canary.latency"), value: took(mine), limit: rule.max_latency_ms, shown: `${span(took(mine))} ≤ ${span(rule.max_latency_ms)}`, known: mine.runs > 0 });
  if (rule?.max_latency_ratio) limits.push({ text: t("canary.latencyRatio"), value: ratio(took(mine), took(theirs)), limit: rule.max_latency_ratio, shown: `${times(ratio(took(mine), took(theirs)))} ≤ ${times(rule.max_latency_ratio)}`, known: took(theirs) > 0 });
  const rows = [
    { name: t("versions.isCanary"), version: c.version, x: mine },
    { name: t("versions.isLive"), version: report.live, x: theirs },
  ];
  return (
    <section aria-label={t("canary.title")} className="panel overflow-hidden border-run">
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="font-semibold">
          {t("canary.title")}{" "}
          <Link to="/versions/$n" params={{ n: String(c.version) }} className="mono link">
            v{c.version}
          </Link>
        </h2>
        <span className="text-muted">
          {t("canary.of", { share: percent(c.share) })} · <Ago at={c.started_at} />
        </span>
        <div className="ml-auto flex flex-wrap items-center gap-2">
          <label className="flex items-center gap-2">
            <span className="sr-only">{t("canary.share")}</span>
            <input type="number" className="field w-20" min={1} max={100} value={share} onChange={(e) => setShare(Number(e.target.value))} /> %
          </label>
          {share !== Math.round(c.share * 100) && (
            <Button why={why} disabled={act.isPending || share < 1 || share > 100} onClick={() => act.mutate({ what: "share" })}>
              {t("canary.setShare")}
            </Button>
          )}
          <Button why={why} disabled={act.isPending} kind="danger" onClick={() => act.mutate({ what: "end" })}>
            <X aria-hidden className="size-3.5" />
            {t("canary.end")}
          </Button>
          <Button why={why} disabled={act.isPending} kind="primary" onClick={() => act.mutate({ what: "promote" })}>
            <Check aria-hidden className="size-3.5" />
            {t("canary.promote")}
          </Button>
        </div>
      </header>
      {refused && (
        <div className="border-b border-line p-4">
          <Refused gates={refused} pending={act.isPending} version={String(c.version)} override={(override) => act.variables && act.mutate({ ...act.variables, override })} />
        </div>
      )}
      {act.error && !refused && (
        <p role="alert" className="px-4 pt-2 text-fail [overflow-wrap:anywhere]">
          {act.error.message}
        </p>
      )}
      <div className="grid gap-4 p-4 md:grid-cols-2">
        <table className="w-full text-right tabular-nums">
          <caption className="sr-only">{t("canary.figures")}</caption>
          <thead>
            <tr className="text-muted">
              <th scope="col" className="text-left font-normal">
                {t("canary.version")}
              </th>
              <th scope="col" className="font-normal">
                {t("nav.runs")}
              </th>
              <th scope="col" className="font-normal">
                {t("canary.errors")}
              </th>
              <th scope="col" className="font-normal">
                {t("canary.cost")}
              </th>
              <th scope="col" className="font-normal">
                {t("canary.latency")}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.name}>
                <th scope="row" className="text-left font-medium">
                  v{r.version} <span className="font-normal text-muted">{r.name}</span>
                </th>
                <td>
                  <Link to="/runs" search={{ version: String(r.version) }} className="link inline-flex min-h-6 min-w-6 items-center justify-end">
                    {number(r.x.runs)}
                  </Link>
                </td>
                <td>
                  {number(r.x.errors)} {r.x.runs > 0 && <span className="text-muted">({percent(rate(r.x))})</span>}
                </td>
                <td>{money(per(r.x))}</td>
                <td>{r.x.runs ? span(took(r.x)) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {rule ? (
          <div className="flex flex-col gap-2">
            <Bar text={t("canary.runsOf", { n: mine.runs, of: rule.min_runs })} part={mine.runs / Math.max(1, rule.min_runs)} tone="bg-run" shown="" />
            {limits.map((l) => (
              <Bar key={l.text} text={l.text} part={l.limit > 0 ? l.value / l.limit : l.value > 0 ? 1 : 0} tone={!l.known ? "bg-idle" : l.value <= l.limit ? "bg-ok" : "bg-fail"} shown={l.known ? l.shown : t("canary.unknown")} />
            ))}
            <p className="text-dense text-muted">{rule.promote_after_runs ? t("canary.promotes", { n: rule.promote_after_runs }) : t("canary.ends")}</p>
          </div>
        ) : (
          <p className="text-muted">{t("canary.noRule")}</p>
        )}
      </div>
      <Gates version={String(c.version)} />
    </section>
  );
}

function Bar({ text, part, tone, shown }: { text: string; part: number; tone: string; shown: string }) {
  return (
    <div>
      <div className="flex justify-between gap-2">
        <span>{text}</span>
        <span className="mono text-muted">{shown}</span>
      </div>
      <div className="h-1.5 overflow-hidden rounded-full bg-sunken">
        <div className={`h-full ${tone}`} style={{ width: `${Math.min(100, Math.max(0, part * 100))}%` }} />
      </div>
    </div>
  );
}
