import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { Equal, EqualNot } from "lucide-react";
import type { ReactNode } from "react";
import { useLanguage } from "../../i18n/i18n";
import { useEvents } from "../../live/events";
import type { Fold } from "../../live/fold";
import { usePolling } from "../../live/live";
import { short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Page } from "../../ui/page";
import { Loaded } from "../../ui/state";
import { Badge, lookOfRun, stateOf } from "../../ui/status";
import { runQuery, timelineQuery, type Run, type Timeline } from "./queries";

/** Beside shows two runs side by side, step by step: a fork and what it was forked from. Step 0 of the fork takes the place of the step that the address names. */
export function Beside() {
  const { t } = useLanguage();
  const { id, other } = useParams({ strict: false }) as { id: string; other: string };
  const { step } = useSearch({ strict: false }) as { step?: string };
  const polling = usePolling(2000);
  const fork = useQuery({ ...runQuery(id), refetchInterval: polling });
  const original = useQuery(runQuery(other));
  return (
    <Page crumbs={[{ text: t("nav.runs"), to: "/runs" }, { text: short(id), to: `/runs/${encodeURIComponent(id)}` }, { text: t("beside.title") }]}>
      <Loaded query={original}>{(before) => <Loaded query={fork}>{(after) => <Both before={before} after={after} from={Math.max(0, Math.trunc(Number(step ?? 0)) || 0)} />}</Loaded>}</Loaded>
    </Page>
  );
}

interface Told {
  n: number;
  model?: string;
  text: string;
  calls: { id: string; name: string; args: unknown; result: unknown }[];
  took?: number;
  tokens: number;
}

/** toldOf returns what a run did in each step. */
function toldOf(timeline: Timeline, fold: Fold): Told[] {
  return timeline.steps
    .toSorted((a, b) => a.step - b.step)
    .map((s) => ({
      n: s.step,
      model: s.model,
      text: fold.steps.findLast((f) => f.messageId === s.message_id)?.text ?? "",
      calls: timeline.calls
        .filter((c) => c.step === s.step)
        .map((c) => {
          const f = fold.calls.get(c.call_id);
          return { id: c.call_id, name: c.tool_name, args: f?.args, result: f?.result?.status === "error" ? (f.result.message ?? f.result.data) : f?.result?.data };
        }),
      took: s.answered_at ? s.answered_at - s.started_at : undefined,
      tokens: (s.usage?.prompt_tokens ?? 0) + (s.usage?.completion_tokens ?? 0),
    }));
}

const said = (s?: Told) => s && JSON.stringify([s.text, s.calls.map((c) => [c.name, c.args, c.result])]);

function Both({ before, after, from }: { before: Run; after: Run; from: number }) {
  const { t } = useLanguage();
  const polling = usePolling(2000);
  const lines = [useQuery(timelineQuery(before.run_id)), useQuery({ ...timelineQuery(after.run_id), refetchInterval: after.status === "done" ? false : polling })] as const;
  const events = [useEvents(before.run_id, before.status), useEvents(after.run_id, after.status)] as const;
  return (
    <Loaded query={lines[0]}>
      {(old) => (
        <Loaded query={lines[1]}>
          {(next) => {
            const left = toldOf(old, events[0].fold).filter((s) => s.n >= from);
            const right = toldOf(next, events[1].fold);
            return (
              <div className="min-h-0 flex-1 overflow-auto">
                <div className="mx-auto flex max-w-6xl flex-col gap-4 p-4">
                  <div className="grid gap-4 sm:grid-cols-2">
                    <Summary run={before} title={t("beside.original")} />
                    <Summary run={after} title={t("beside.fork")} />
                  </div>
                  {from > 0 && <p className="text-muted">{t("beside.shared", { n: from })}</p>}
                  <ol className="flex flex-col gap-4">
                    {Array.from({ length: Math.max(left.length, right.length) }, (_, i) => {
                      const same = said(left[i]) === said(right[i]);
                      return (
                        <li key={i} aria-label={t("run.step", { n: from + i })} className="panel flex flex-col gap-2 p-3">
                          <p className={`flex items-center gap-1.5 text-dense ${same ? "text-muted" : "font-medium text-wait"}`}>
                            {same ? <Equal aria-hidden className="size-3.5" /> : <EqualNot aria-hidden className="size-3.5" />}
                            {t(same ? "beside.same" : "beside.differs")}
                          </p>
                          <div className="grid gap-4 sm:grid-cols-2">
                            <Cell run={before} step={left[i]} />
                            <Cell run={after} step={right[i]} />
                          </div>
                        </li>
                      );
                    })}
                  </ol>
                </div>
              </div>
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

function Summary({ run, title }: { run: Run; title: string }) {
  const { t, number, money, span } = useLanguage();
  const took = run.finished_at_ms && run.started_at_ms ? run.finished_at_ms - run.started_at_ms : undefined;
  const facts: [string, ReactNode][] = [
    [t("runs.agent"), `${run.agent_id}${run.resolution_id ? ` v${run.resolution_id}` : ""}`],
    [t("runs.tokens"), number((run.input_tokens ?? 0) + (run.output_tokens ?? 0))],
    [t("runs.cost"), run.cost_usd ? money(run.cost_usd) : "–"],
    [t("run.took"), took === undefined ? "–" : span(took)],
  ];
  return (
    <section aria-label={title} className="flex min-w-0 flex-col gap-2">
      <h2 className="flex flex-wrap items-center gap-2 font-semibold">
        {title}
        <Link to="/runs/$id" params={{ id: run.run_id }} className="mono link font-normal">
          {short(run.run_id)}
        </Link>
        <Badge look={lookOfRun(stateOf(run))} />
      </h2>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="[overflow-wrap:anywhere]">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Cell({ run, step: s }: { run: Run; step?: Told }) {
  const { t, span } = useLanguage();
  if (!s) return <p className="text-muted">{t("beside.none")}</p>;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <p className="flex flex-wrap items-center gap-x-3 text-dense text-muted">
        <Link to="/runs/$id/steps/$step" params={{ id: run.run_id, step: String(s.n) }} className="link">
          {t("run.step", { n: s.n })}
        </Link>
        <span className="[overflow-wrap:anywhere]">{s.model}</span>
        <span>{t("run.tokens", { n: s.tokens })}</span>
        {s.took !== undefined && <span>{span(s.took)}</span>}
      </p>
      {s.text && <p className="prose-model">{s.text}</p>}
      {s.calls.map((c) => (
        <details key={c.id}>
          <summary className="min-h-6 cursor-pointer [overflow-wrap:anywhere]">
            <span className="mono">{c.name}</span> <span className="mono text-muted">{JSON.stringify(c.args)}</span>
          </summary>
          <Json value={c.result} label={t("call.result")} />
        </details>
      ))}
    </div>
  );
}
