import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Pin, Telescope } from "lucide-react";
import { useMemo } from "react";
import { toMs } from "../../api/time";
import { useLanguage } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { short } from "../../ui/id";
import { Card, chosen, List, ListFilters, type By, type Column } from "../../ui/list";
import { AdminPage } from "../../ui/needs";
import { useTimes } from "../../ui/recent";
import { useRunFilters } from "../../ui/runfilter";
import { Badge, lookOfRun } from "../../ui/status";
import { Ago } from "../../ui/time";
import { usePin } from "./pin";
import { tracesQuery, type Summary } from "./queries";
import type { TraceSearch } from "./search";

const durations = [1000, 5000, 30_000, 300_000];
const limits = [0.3, 0.5, 0.7, 0.9];

/** Traces lists what runs did, with what models and tools were told and said. */
export function Traces() {
  const { t } = useLanguage();
  return (
    <AdminPage crumbs={[{ text: t("nav.traces") }]} feature="traces" setting="admin.expose_trace_routes">
      <Found />
    </AdminPage>
  );
}

function Found() {
  const { t, span, number, money } = useLanguage();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as TraceSearch;
  const polling = usePolling();
  const { range: _, ...named } = search;
  const query = useInfiniteQuery({ ...tracesQuery({ ...named, ...useTimes(search) }), placeholderData: keepPreviousData, refetchInterval: polling });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.runs) ?? [], [query.data]);
  const toggled = usePin();
  const still = toggled.variables?.on === false && toggled.data && toggled.data.length > 0 ? toggled.variables.id : undefined;
  const filters = useRunFilters();
  const by: (By<TraceSearch> | "times")[] = [
    filters.agent,
    ...filters.states,
    "times",
    { name: "max_score", word: "traces.score", options: limits.map((n) => ({ value: String(n), text: t("traces.scoreBelow", { n: number(n) }) })) },
    { name: "pinned", word: "traces.pinned", options: [{ value: "true", text: t("traces.onlyPinned") }] },
    { name: "tool", word: "runs.tool", rare: true },
    { name: "version", word: "runs.version", rare: true },
    { name: "user_id", word: "runs.user", rare: true },
    { name: "thread_id", word: "runs.thread", rare: true },
    { name: "error_code", word: "traces.errorCode", rare: true },
    { name: "min_cost_usd", word: "traces.minCost", rare: true },
    { name: "min_duration_ms", word: "traces.minDuration", rare: true, options: durations.map((ms) => ({ value: String(ms), text: t("traces.tookAtLeast", { span: span(ms) }) })) },
    ...filters.origins,
  ];
  const state = (r: Summary) => <Badge look={lookOfRun({ status: r.status as never, outcome: r.final_status })} />;
  const name = (r: Summary) => (
    <>
      <Link to="/traces/$id" params={{ id: r.run_id }} className="mono link truncate" title={r.run_id}>
        {short(r.run_id)}
      </Link>
      {r.started_at && (
        <button type="button" aria-pressed={r.pinned === true} aria-label={t("traces.pinOne", { id: short(r.run_id) })} title={t(r.pinned ? "traces.unpin" : "traces.pin")} disabled={toggled.isPending} onClick={() => toggled.mutate({ id: r.run_id, on: !r.pinned })} className={`touch inline-flex size-6 shrink-0 items-center justify-center rounded-sm hover:bg-sunken ${r.pinned ? "text-accent" : "text-muted opacity-60 hover:opacity-100"}`}>
          <Pin aria-hidden className="size-3.5" />
        </button>
      )}
    </>
  );
  const score = (r: Summary) =>
    r.score !== undefined && (
      <span className={r.score < 0.5 ? "text-fail" : ""} title={t("traces.scoreTitle")}>
        {number(r.score, { maximumFractionDigits: 2 })}
      </span>
    );
  const took = (r: Summary) => (r.started_at && r.ended_at ? span(toMs(r.ended_at)! - toMs(r.started_at)!) : undefined);
  const columns: Column<Summary>[] = [
    { word: "runs.status", width: "9.5rem", look: "flex", cell: state },
    { word: "runs.run", width: "8rem", look: "flex items-center gap-1.5", cell: name },
    { word: "runs.agent", width: "minmax(0,1fr)", cell: (r) => r.agent_id },
    { word: "runs.version", width: "5rem", look: "truncate text-muted", cell: (r) => r.version && `v${r.version}` },
    { word: "traces.error", width: "minmax(0,1fr)", look: "mono truncate text-fail", cell: (r) => r.error_code },
    { word: "traces.score", width: "4rem", right: true, look: "mono", cell: (r) => score(r) || "–" },
    { word: "runs.steps", width: "4rem", right: true, look: "mono", cell: (r) => number(r.steps) },
    { word: "evals.time", width: "5rem", right: true, look: "mono", cell: (r) => took(r) ?? "–" },
    { word: "runs.cost", width: "5rem", right: true, look: "mono", cell: (r) => (r.cost_usd ? money(r.cost_usd) : "–") },
    { word: "runs.age", width: "4rem", right: true, look: "text-muted", cell: (r) => <Ago at={r.started_at ?? undefined} /> },
  ];
  return (
    <>
      <ListFilters to="/traces" search={search} find="runs.search" by={by} />
      {toggled.error && (
        <p role="alert" className="border-b border-line px-4 py-2 text-fail [overflow-wrap:anywhere]">
          {toggled.error.message}
        </p>
      )}
      {still && (
        <p role="status" className="border-b border-line px-4 py-2 text-wait">
          {t("traces.stillKept", { id: short(still) })}{" "}
          <Link to="/traces/$id" params={{ id: still }} className="link">
            {t("traces.why")}
          </Link>
        </p>
      )}
      <List
        query={query}
        items={items}
        keyOf={(r) => r.run_id}
        label={t("nav.traces")}
        columns={columns}
        heights={[33, 84]}
        open={(r) => void navigate({ to: "/traces/$id", params: { id: r.run_id } })}
        filtered={chosen(search) > 0}
        empty={{ title: "traces.empty", icon: Telescope, hint: t("traces.emptyHint") }}
        card={(r) => (
          <Card
            at={r.started_at ?? undefined}
            below={
              <>
                <span className="truncate">{r.agent_id}</span>
                <span className="mono ml-auto">{score(r)}</span>
                <span>{took(r)}</span>
              </>
            }
          >
            {state(r)}
            {name(r)}
          </Card>
        )}
      />
    </>
  );
}
