import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Ban, GitFork, Telescope } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import type { components } from "../../api/schema";
import { useGoverns, useMay, useSession } from "../../api/session";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../i18n/i18n";
import { useEvents } from "../../live/events";
import type { Fold } from "../../live/fold";
import { usePolling } from "../../live/live";
import { Button } from "../../ui/button";
import { CopyButton, short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Forks, Origin } from "../../ui/origin";
import { Page } from "../../ui/page";
import { release } from "../../ui/restored";
import { Rows } from "../../ui/rows";
import { Empty, Failure, Loaded, Skeleton } from "../../ui/state";
import { Badge, lookOfRun, stateOf } from "../../ui/status";
import { Ago } from "../../ui/time";
import { ToDataset } from "../../ui/todataset";
import { Detail } from "./detail";
import { explainQuery, forksQuery, liveVersionQuery, runQuery, timelineQuery, treeQuery, type Run } from "./queries";
import { TimelineView } from "./timeline";

const tabs = ["steps", "events", "tree", "raw"] as const;
type Tab = (typeof tabs)[number];

/** RunPage tells what happened to a run, why it is where it is, and what can be done. */
export function RunPage() {
  const { t, money } = useLanguage();
  const { id, step, call } = useParams({ strict: false }) as { id: string; step?: string; call?: string };
  const search = useSearch({ strict: false }) as { tab?: string };
  const tab: Tab = tabs.find((x) => x === search.tab) ?? "steps";
  const navigate = useNavigate();
  const polling = usePolling(2000);
  const run = useQuery({ ...runQuery(id), refetchInterval: polling });
  const forks = useQuery(forksQuery(id)).data;
  const cost = (run.data?.cost_usd ?? 0) + (run.data?.child_cost_usd ?? 0);
  return (
    <Page
      crumbs={[{ text: t("nav.runs"), to: "/runs" }, ...(run.data ? [{ text: short(run.data.thread_id), to: `/threads/${encodeURIComponent(run.data.thread_id)}` }] : []), { text: short(id) }]}
      title={t("run.title", { id: short(id) })}
      badge={
        run.data && (
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <CopyButton text={id} label={t("action.copyId")} />
            <Badge look={lookOfRun(stateOf(run.data))} />
            <span className="text-muted">{run.data.agent_id}</span>
            <StartedBy by={run.data.transport_request_id ?? ""} />
            {run.data.resolution_id && <Pinned version={run.data.resolution_id} />}
            {cost > 0 && <span className="mono">{money(cost)}</span>}
            <span className="text-muted">
              <Ago at={toMs(run.data.created_at)} />
            </span>
          </span>
        )
      }
      actions={run.data && <Actions run={run.data} />}
    >
      <Loaded query={run}>
        {(r) => (
          <>
            <Origin from={forks?.forked_from} />
            {forks && <Forks list={forks.forks} more={forks.has_more} />}
            <Why run={r} />
            <div role="tablist" aria-label={t("run.views")} className="flex gap-1 border-b border-line px-3">
              {tabs.map((x) => (
                <button
                  key={x}
                  type="button"
                  role="tab"
                  id={`tab-${x}`}
                  aria-selected={tab === x}
                  aria-controls="run-view"
                  onClick={() => void navigate({ to: "/runs/$id", params: { id }, search: { tab: x === "steps" ? undefined : x }, replace: true })}
                  className="touch -mb-px min-h-9 border-b-2 border-transparent px-2.5 text-muted hover:text-text aria-selected:border-accent aria-selected:font-medium aria-selected:text-text"
                >
                  {t(`run.tab.${x}` as Key)}
                </button>
              ))}
            </div>
            <div id="run-view" role="tabpanel" aria-labelledby={`tab-${tab}`} className="flex min-h-0 flex-1 flex-col">
              <View key={r.run_id} run={r} tab={tab} step={step} call={call} />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** StartedBy names the schedule or the trigger that has started a run. */
function StartedBy({ by }: { by: string }) {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const [, kind, id = ""] = /^(schedule|trigger) (\S+)$/.exec(by) ?? [];
  if (!kind) return null;
  const text = t(kind === "schedule" ? "run.bySchedule" : "run.byTrigger", { id });
  if (!admin) return <span className="text-muted">{text}</span>;
  return (
    <Link to={kind === "schedule" ? "/schedules/$id" : "/triggers/$id"} params={{ id }} className="link">
      {text}
    </Link>
  );
}

/** Pinned names the version that a run has, and how it differs from the one that new runs get. */
function Pinned({ version }: { version: string }) {
  const { t } = useLanguage();
  const config = useMay("config");
  const live = useQuery({ ...liveVersionQuery, enabled: config }).data;
  const look = "text-muted";
  if (!config || !/^\d+$/.test(version)) return <span className={look}>v{version}</span>;
  const old = live !== undefined && String(live) !== version;
  return (
    <Link to="/versions/$n" params={{ n: old ? `${version}...${live}` : version }} title={old ? t("run.pinned", { n: version, live }) : undefined} className={`link ${old ? "" : look}`}>
      {old ? t("run.versionLive", { n: version, live }) : `v${version}`}
    </Link>
  );
}

function View({ run, tab, step, call }: { run: Run; tab: Tab; step?: string; call?: string }) {
  const polling = usePolling(2000);
  const open = run.status !== "done";
  const events = useEvents(run.run_id, run.status);
  const timeline = useQuery({ ...timelineQuery(run.run_id), refetchInterval: open ? polling : false });
  switch (tab) {
    case "steps": {
      const selected = step !== undefined ? `s${step}` : call !== undefined ? `c${timeline.data?.calls.find((c) => c.call_id === call)?.step ?? ""}/${call}` : "";
      return (
        <Loaded query={timeline}>
          {(data) => (
            <div className="flex min-h-0 flex-1 max-lg:flex-col">
              <TimelineView timeline={data} selected={selected} />
              {selected && <Detail run={run} timeline={data} fold={events.fold} step={step} call={call} />}
            </div>
          )}
        </Loaded>
      );
    }
    case "events":
      return events.loaded ? <Events fold={events.fold} /> : events.error ? <Failure error={events.error} /> : <Skeleton />;
    case "tree":
      return <Tree id={run.run_id} />;
    case "raw":
      return <Raw run={run} />;
  }
}

/** Why says in a sentence why the run is in its state, and what would move it. */
function Why({ run }: { run: Run }) {
  const { t, word, locale } = useLanguage(); // the server's sentences are English
  const polling = usePolling(2000);
  const explanation = useQuery({ ...explainQuery(run.run_id), refetchInterval: run.status === "done" ? false : polling });
  const causes = explanation.data?.because ?? [];
  const err = run.error_payload;
  const warnings = run.diagnostics ?? [];
  if (causes.length === 0 && !err && warnings.length === 0) return null;
  const tone = run.status === "waiting" ? "border-l-wait" : run.termination_reason?.type === "error" ? "border-l-fail" : run.status === "running" ? "border-l-run" : "border-l-line";
  return (
    <section aria-label={t("run.why")} className={`m-3 rounded-md border border-l-4 border-line bg-panel px-3 py-2 ${tone}`}>
      {causes.map((c, i) => (
        <p key={i} className="flex flex-wrap items-baseline gap-x-2 [overflow-wrap:anywhere]">
          {locale !== "en" && <span className="font-medium">{word(`cause.${c.code}`)}</span>}
          <span>{c.detail}</span>
          {c.ticket_id && (
            <Link to="/approvals/$run/$ticket" params={{ run: run.run_id, ticket: c.ticket_id }} className="link font-medium">
              {t("approvals.decide")}
            </Link>
          )}
          {c.run_id && c.run_id !== run.run_id && (
            <Link to="/runs/$id" params={{ id: c.run_id }} className="link mono">
              {short(c.run_id)}
            </Link>
          )}
          {c.since && (
            <span className="text-muted">
              <Ago at={c.since} />
            </span>
          )}
        </p>
      ))}
      {err && !causes.some((c) => c.detail.includes(err.message)) && (
        <p className="text-fail [overflow-wrap:anywhere]">
          {err.message} {err.code && <span className="mono text-muted">{err.code}</span>}
        </p>
      )}
      {warnings.map((d, i) => (
        <p key={i} className={`[overflow-wrap:anywhere] ${d.severity === "error" ? "text-fail" : "text-wait"}`}>
          {d.message} <span className="mono text-muted">{d.code}</span>
        </p>
      ))}
      {run.transport_request_id && err && <p className="mono text-muted">{t("run.request", { id: run.transport_request_id })}</p>}
    </section>
  );
}

function Actions({ run }: { run: Run }) {
  const { t } = useLanguage();
  const may = useMay("run");
  const governs = useGoverns();
  const admin = useMay("admin");
  const traces = useSession()?.features.traces === true;
  const navigate = useNavigate();
  const client = useQueryClient();
  const params = { path: { run_id: run.run_id } };
  const done = () => client.invalidateQueries({ queryKey: ["run", run.run_id] });
  const cancel = useMutation({ mutationFn: () => api.POST("/v1/runs/{run_id}/cancel", { params }), onSettled: done });
  const resume = useMutation({ mutationFn: () => api.POST("/v1/runs/{run_id}/continue", { params }), onSettled: done });
  const letGo = useMutation({ mutationFn: () => release([run.run_id]), onSettled: done });
  const why = may ? undefined : t("may.run");
  const failed = cancel.error ?? resume.error ?? letGo.error;
  const waits = run.waiting?.reason;
  return (
    <>
      {failed && (
        <span role="alert" className="text-fail">
          {failed.message}
        </span>
      )}
      {run.status === "waiting" && (waits === "budget_exhausted" || waits === "pin_unavailable") && (
        <Button why={why} disabled={resume.isPending} onClick={() => resume.mutate()}>
          {t("run.continue")}
        </Button>
      )}
      {waits === "restored" && (
        <Button why={admin ? undefined : t("may.release")} disabled={letGo.isPending} onClick={() => letGo.mutate()}>
          {t("run.release")}
        </Button>
      )}
      {traces && admin && (
        <Link to="/traces/$id" params={{ id: run.run_id }} className="touch inline-flex min-h-8 items-center gap-1.5 rounded-md border border-border bg-panel px-3 font-medium hover:bg-sunken max-sm:hidden">
          <Telescope aria-hidden className="size-3.5" />
          {t("live.trace")}
        </Link>
      )}
      <Button why={!governs ? t("fork.may") : run.status === "running" || run.status === "created" ? t("fork.works") : undefined} onClick={() => void navigate({ to: "/runs/$id/fork", params: { id: run.run_id } })}>
        <GitFork aria-hidden className="size-3.5" />
        {t("fork.run")}
      </Button>
      {run.status === "done" && <ToDataset run={run.run_id} />}
      {run.status !== "done" && (
        <Button why={why} disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          <Ban aria-hidden className="size-3.5" />
          {cancel.isPending ? t("run.cancelling") : t("run.cancel")}
        </Button>
      )}
    </>
  );
}

function Events({ fold }: { fold: Fold }) {
  const { t, time } = useLanguage();
  const [open, setOpen] = useState("");
  if (fold.events.length === 0) return <Empty title={t("run.noEvents")} />;
  const shown = fold.events.find((e) => e.event_id === open);
  return (
    <div className="flex min-h-0 flex-1 max-lg:flex-col">
      <Rows
        items={fold.events}
        keyOf={(e) => e.event_id}
        height={28}
        label={t("run.tab.events")}
        row={(e) => (
          <button type="button" aria-pressed={e.event_id === open} onClick={() => setOpen(e.event_id === open ? "" : e.event_id)} className="flex h-7 w-full items-center gap-3 px-4 text-left aria-pressed:bg-sunken">
            <span className="mono w-20 shrink-0 text-muted">{time(e.created_at)}</span>
            <span className="mono w-48 shrink-0 truncate">{e.event_kind}</span>
            <span className="mono truncate text-muted">{JSON.stringify(e.payload).slice(0, 300)}</span>
          </button>
        )}
      />
      {shown && (
        <aside aria-label={shown.event_kind} className="w-full shrink-0 overflow-auto border-l border-line bg-panel p-4 max-lg:max-h-1/2 lg:w-[26rem]">
          <h2 className="mb-2 font-semibold">{shown.event_kind}</h2>
          <Json value={shown} label={shown.event_kind} />
        </aside>
      )}
    </div>
  );
}

type Node = components["schemas"]["TreeNode"];

function Tree({ id }: { id: string }) {
  const { t, money } = useLanguage();
  const tree = useQuery(treeQuery(id));
  return (
    <Loaded query={tree}>
      {(data) => (
        <div className="grid min-h-0 gap-4 overflow-auto p-4 lg:grid-cols-2">
          <section aria-label={t("run.children")}>
            <h2 className="mb-2 font-semibold">{t("run.children")}</h2>
            {data.run && <Branch node={data.run} />}
            {data.run && data.run.children.length === 0 && <p className="text-muted">{t("run.noChildren")}</p>}
            {data.truncated && <p className="text-wait">{t("run.treeTruncated")}</p>}
          </section>
          <section aria-label={t("run.budget")}>
            <h2 className="mb-2 font-semibold">{t("run.budget")}</h2>
            {!data.budget.enabled && <p className="text-muted">{t("run.noBudget")}</p>}
            {data.budget.balances.map((b) => (
              <div key={b.scope} className="mb-3">
                <div className="flex justify-between">
                  <span>{t(`scope.${b.scope}` as Key)}</span>
                  <span className="mono">
                    {money(b.spent_usd)} / {b.limit_usd === null ? "∞" : money(b.limit_usd)}
                  </span>
                </div>
                {b.limit_usd !== null && b.limit_usd > 0 && (
                  <div className="h-1.5 overflow-hidden rounded-full bg-sunken">
                    <div className="h-full bg-run" style={{ width: `${Math.min(100, (100 * b.spent_usd) / b.limit_usd)}%` }} />
                  </div>
                )}
                {(b.reserved_usd > 0 || b.in_doubt_usd > 0) && <p className="text-dense text-muted">{t("run.reserved", { reserved: money(b.reserved_usd), doubt: money(b.in_doubt_usd) })}</p>}
              </div>
            ))}
          </section>
        </div>
      )}
    </Loaded>
  );
}

function Branch({ node }: { node: Node }) {
  const { money } = useLanguage();
  return (
    <div>
      <div className="flex items-center gap-2 py-1">
        <Badge look={lookOfRun({ status: node.status, outcome: node.outcome, reason: node.waiting_reason })} iconOnly />
        <Link to="/runs/$id" params={{ id: node.run_id }} className="link mono">
          {short(node.run_id)}
        </Link>
        <span className="truncate">{node.agent_id}</span>
        <span className="mono ml-auto text-muted">{node.total_usd ? money(node.total_usd) : ""}</span>
      </div>
      {node.children.length > 0 && (
        <div className="ml-2 border-l border-line pl-4">
          {node.children.map((c) => (
            <Branch key={c.run_id} node={c} />
          ))}
        </div>
      )}
    </div>
  );
}

function Raw({ run }: { run: Run }) {
  const { t } = useLanguage();
  return (
    <div className="min-h-0 overflow-auto p-4">
      <Json value={run} label={t("run.tab.raw")} />
    </div>
  );
}
