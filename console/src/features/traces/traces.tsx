import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Pin, Telescope } from "lucide-react";
import { useMemo } from "react";
import { agentsQuery } from "../../api/agents";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../app/i18n/i18n";
import type { TraceSearch } from "../../app/router";
import { usePolling } from "../../live/live";
import { Choice, Filter, Filters } from "../../ui/filter";
import { short } from "../../ui/id";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { Badge, lookOfRun } from "../../ui/status";
import { Ago } from "../../ui/time";
import { tracesQuery, type Summary } from "./queries";

const outcomes: [string, Key][] = [
  ["natural_end", "status.done"],
  ["stopped", "status.stopped"],
  ["cancelled", "status.cancelled"],
  ["blocked", "status.blocked"],
  ["error", "status.failed"],
];
const rare = ["version", "user_id", "thread_id", "error_code", "min_cost_usd"] as const;

/** Traces lists what runs did, with what models and tools were told and said. */
export function Traces() {
  const { t } = useLanguage();
  return (
    <Page crumbs={[{ text: t("nav.traces") }]}>
      <Needs ability="admin">
        <Has feature="traces" setting="admin.expose_trace_routes">
          <List />
        </Has>
      </Needs>
    </Page>
  );
}

function List() {
  const { t } = useLanguage();
  const phone = usePhone();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as TraceSearch;
  const polling = usePolling();
  const agents = useQuery(agentsQuery);
  const query = useInfiniteQuery({ ...tracesQuery(search), placeholderData: keepPreviousData, refetchInterval: polling });
  const items = useMemo(() => (query.data?.pages.flatMap((p) => p.runs) ?? []) as Summary[], [query.data]);
  const set = (change: TraceSearch) => void navigate({ to: "/traces", search: { ...search, ...change }, replace: true });
  const filtered = Object.keys(search).length > 0;
  const columns = "grid-cols-[9.5rem_7rem_minmax(0,1fr)_5rem_minmax(0,1fr)_4rem_5rem_5rem_4rem]";
  return (
    <>
      <Filters
        find={<Filter value={search.q ?? ""} onChange={(q) => set({ q: q || undefined })} label={t("runs.search")} />}
        active={Object.keys(search).filter((k) => k !== "q").length}
        activeMore={rare.filter((k) => search[k]).length}
        clear={() => void navigate({ to: "/traces", search: {}, replace: true })}
        more={
          <>
            <Filter value={search.version ?? ""} onChange={(v) => set({ version: v || undefined })} label={t("runs.version")} />
            <Filter value={search.user_id ?? ""} onChange={(v) => set({ user_id: v || undefined })} label={t("runs.user")} />
            <Filter value={search.thread_id ?? ""} onChange={(v) => set({ thread_id: v || undefined })} label={t("runs.thread")} />
            <Filter value={search.error_code ?? ""} onChange={(v) => set({ error_code: v || undefined })} label={t("traces.errorCode")} />
            <Filter value={search.min_cost_usd ?? ""} onChange={(v) => set({ min_cost_usd: v || undefined })} label={t("traces.minCost")} />
          </>
        }
      >
        <Choice label={t("runs.agent")} value={search.agent_id ?? ""} onChange={(v) => set({ agent_id: v || undefined })} options={(agents.data ?? []).map((a) => ({ value: a.id, text: a.id }))} />
        <Choice label={t("runs.outcome")} value={search.outcome ?? ""} onChange={(v) => set({ outcome: v || undefined })} options={outcomes.map(([value, word]) => ({ value, text: t(word) }))} />
        <Filter value={search.tool ?? ""} onChange={(v) => set({ tool: v || undefined })} label={t("runs.tool")} />
      </Filters>
      <Loaded query={query} rows={12}>
        {() =>
          items.length === 0 ? (
            <Empty title={filtered ? t("runs.noMatch") : t("traces.empty")} icon={Telescope}>
              {filtered ? t("runs.noMatchHint") : t("traces.emptyHint")}
            </Empty>
          ) : (
            <>
              {!phone && (
                <div aria-hidden className={`grid ${columns} gap-3 border-b border-line px-4 py-1 text-caption text-muted`}>
                  <span>{t("runs.status")}</span>
                  <span>{t("runs.run")}</span>
                  <span>{t("runs.agent")}</span>
                  <span>{t("runs.version")}</span>
                  <span>{t("traces.error")}</span>
                  <span className="text-right">{t("runs.steps")}</span>
                  <span className="text-right">{t("evals.time")}</span>
                  <span className="text-right">{t("runs.cost")}</span>
                  <span className="text-right">{t("runs.age")}</span>
                </div>
              )}
              <Rows
                items={items}
                keyOf={(r) => r.run_id}
                height={phone ? 68 : 33}
                label={t("nav.traces")}
                more={query.hasNextPage && !query.isFetching ? () => void query.fetchNextPage() : undefined}
                open={(r) => void navigate({ to: "/traces/$id", params: { id: r.run_id } })}
                row={(r) => <One run={r} phone={phone} columns={columns} />}
                foot={query.isFetchingNextPage ? <p className="p-3 text-center text-muted">{t("state.loading")}</p> : null}
              />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function One({ run: r, phone, columns }: { run: Summary; phone: boolean; columns: string }) {
  const { t, number, money, span } = useLanguage();
  const look = lookOfRun({ status: r.status as never, outcome: r.final_status });
  const took = r.started_at && r.ended_at ? toMs(r.ended_at)! - toMs(r.started_at)! : undefined;
  const link = (
    <Link to="/traces/$id" params={{ id: r.run_id }} className="mono link truncate" title={r.run_id}>
      {short(r.run_id)}
    </Link>
  );
  const pin = r.pinned && (
    <>
      <Pin aria-hidden className="size-3.5 shrink-0 text-accent" />
      <span className="sr-only">{t("traces.pinned")}</span>
    </>
  );
  if (phone) {
    return (
      <div className="flex h-full flex-col justify-center gap-1 px-4">
        <div className="flex items-center gap-2">
          <Badge look={look} />
          {link}
          {pin}
          <span className="ml-auto text-muted">
            <Ago at={r.started_at ?? undefined} />
          </span>
        </div>
        <div className="flex gap-2 text-muted">
          <span className="truncate">{r.agent_id}</span>
          <span className="ml-auto">{took === undefined ? "" : span(took)}</span>
        </div>
      </div>
    );
  }
  return (
    <div className={`grid h-full ${columns} items-center gap-3 px-4`}>
      <Badge look={look} />
      <span className="flex min-w-0 items-center gap-1.5">
        {link}
        {pin}
      </span>
      <span className="truncate">{r.agent_id}</span>
      <span className="truncate text-muted">{r.version ? `v${r.version}` : ""}</span>
      <span className="mono truncate text-fail">{r.error_code}</span>
      <span className="mono text-right">{number(r.steps)}</span>
      <span className="mono text-right">{took === undefined ? "–" : span(took)}</span>
      <span className="mono text-right">{r.cost_usd ? money(r.cost_usd) : "–"}</span>
      <span className="text-right text-muted">
        <Ago at={r.started_at ?? undefined} />
      </span>
    </div>
  );
}
