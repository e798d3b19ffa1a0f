import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { DoorClosed, DoorOpen } from "lucide-react";
import { useEffect, useState } from "react";
import { api, ask } from "../api/client";
import { ApiError } from "../api/errors";
import type { components } from "../api/schema";
import { useLanguage, type Language } from "../i18n/i18n";
import { Button } from "./button";
import { Labelled } from "./labelled";
import { Failure } from "./state";

export type Verdict = components["schemas"]["ConfigGateVerdict"];
type Check = Verdict["checks"][number];

/** gatesOf returns the gates that refused a change, if they did. */
export const gatesOf = (err: unknown): Verdict[] | undefined => (err instanceof ApiError && err.code === "gate_closed" ? ((err.body as { gates?: Verdict[] }).gates ?? []) : undefined);

/** overriding returns the header with the reason why gates do not count. */
export const overriding = (reason?: string): Record<string, string> => (reason ? { "X-Awaken-Gate-Override": encodeURIComponent(reason) } : {});

/** wants says in words what a requirement asks for. */
function wants({ t, number, money, span }: Language, r: Check["requirement"]): string {
  const percent = (x: number) => number(x, { style: "percent", maximumFractionDigits: 1 });
  return [
    t("gate.pass", { rate: percent(r.min_pass_rate ?? 1) }),
    r.min_cases ? t("gate.cases", { n: r.min_cases }) : "",
    r.min_samples ? t("gate.samples", { n: r.min_samples }) : "",
    r.min_judge_score ? t("gate.judge", { score: number(r.min_judge_score) }) : "",
    ...Object.entries(r.min_scores ?? {}).map(([name, score]) => t("gate.score", { name, score: number(score) })),
    r.max_cost_usd ? t("gate.cost", { usd: money(r.max_cost_usd) }) : "",
    r.max_age_secs ? t("gate.age", { span: span(r.max_age_secs * 1000) }) : "",
    r.baseline ? t(r.significance ? "gate.notWorse" : "gate.noRegression", { baseline: r.baseline, p: number(r.significance ?? 0) }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Verdicts lists what gates require of agents, and the evaluations that show it or are missing. */
export function Verdicts({ list, version }: { list: Verdict[]; version: string }) {
  const language = useLanguage();
  const { t, number } = language;
  const percent = (x: number) => number(x, { style: "percent", maximumFractionDigits: 0 });
  return (
    <ul className="flex flex-col gap-3">
      {list.map((v) => (
        <li key={v.agent_id} className="flex flex-col gap-2">
          <p className="flex flex-wrap items-center gap-2">
            {v.passed ? <DoorOpen aria-hidden className="size-4 text-ok" /> : <DoorClosed aria-hidden className="size-4 text-fail" />}
            <Link to="/agents/$id/$tab" params={{ id: v.agent_id, tab: "basics" }} className="font-medium hover:underline">
              {v.agent_id}
            </Link>
            <span className={v.passed ? "text-ok" : "text-fail"}>{t(!v.changed ? "gate.unchanged" : v.passed ? "gate.open" : "gate.closed")}</span>
          </p>
          {v.changed && (
            <ul className="flex flex-col gap-2 pl-6">
              {v.checks.map((c, i) => (
                <li key={i} className="border-l-2 border-line pl-3">
                  <p className="flex flex-wrap gap-x-3">
                    <Link to="/datasets/$id" params={{ id: c.requirement.dataset }} className="link font-medium">
                      {c.requirement.dataset}
                    </Link>
                    <span className="text-muted">{wants(language, c.requirement)}</span>
                  </p>
                  {c.figures && (
                    <p className="flex flex-wrap gap-x-3">
                      <span className={c.passed ? "text-ok" : "text-fail"}>{t("gate.figures", { n: c.figures.passed, of: c.figures.cells, low: percent(c.figures.pass_rate_low), high: percent(c.figures.pass_rate_high) })}</span>
                    </p>
                  )}
                  {c.problem && <p className="text-fail [overflow-wrap:anywhere]">{c.problem}</p>}
                  <p className="flex flex-wrap gap-x-3">
                    {c.eval_run_id && (
                      <Link to="/evals/$id" params={{ id: c.eval_run_id }} search={{ baseline: c.baseline_run_id }} className="link inline-flex min-h-6 items-center">
                        {t("gate.evidence")}
                      </Link>
                    )}
                    {!c.passed && (
                      <Link to="/evals/new" search={{ dataset: c.requirement.dataset, agent: v.agent_id, version }} className="link inline-flex min-h-6 items-center">
                        {t("gate.evaluate")}
                      </Link>
                    )}
                  </p>
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Gates says what the gates of agents require of a version, if they require something. */
export function Gates({ version }: { version: string }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const query = useQuery({ queryKey: ["versions", "gates", version], queryFn: ({ signal }) => ask(api.GET("/v1/registry/gates", { params: { query: { version } }, signal })) });
  const passed = query.data?.passed;
  useEffect(() => void client.invalidateQueries({ queryKey: ["versions", "gates"] }), []); // eslint-disable-line
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  const list = query.data?.items ?? [];
  if (list.length === 0) return null;
  return (
    <section aria-label={version === "draft" ? t("gate.ofDrafts") : t("gate.of", { version })} className="border-t border-line px-4 py-3">
      <h3 className="mb-2 font-semibold">
        {t("gate.title")} <span className={`font-normal ${passed ? "text-ok" : "text-fail"}`}>{t(passed ? "gate.allOpen" : "gate.someClosed")}</span>
      </h3>
      <Verdicts list={list} version={version} />
    </section>
  );
}

/** Refused says which gates refused a change, and lets an administrator publish it all the same, with a reason that the audit log keeps. */
export function Refused({ gates, pending, override, version = "draft" }: { gates: Verdict[]; pending: boolean; override: (reason: string) => void; version?: string }) {
  const { t } = useLanguage();
  const [reason, setReason] = useState("");
  return (
    <section aria-label={t("gate.refused")} className="flex flex-col gap-3 rounded-md border border-fail p-3">
      <div role="alert">
        <h3 className="font-semibold text-fail">{t("gate.refused")}</h3>
      </div>
      <Verdicts list={gates} version={version} />
      <div className="flex flex-wrap items-end gap-2">
        <Labelled label={t("gate.reason")} hint={t("gate.reasonHint")}>
          {(props) => <input {...props} className="field w-full" maxLength={500} value={reason} onChange={(e) => setReason(e.target.value)} />}
        </Labelled>
        <Button kind="danger" why={reason.trim() ? undefined : t("gate.noReason")} disabled={pending} onClick={() => override(reason.trim())}>
          {t("gate.override")}
        </Button>
      </div>
    </section>
  );
}
