import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { agentsQuery } from "../../api/agents";
import { toMs } from "../../api/time";
import { useLanguage } from "../../app/i18n/i18n";
import type { RunSearch } from "../../app/router";
import { usePolling } from "../../live/live";
import { Choice, Filter, Filters } from "../../ui/filter";
import { short } from "../../ui/id";
import { Page } from "../../ui/page";
import { Rows } from "../../ui/rows";
import { OriginChoices, StateChoices } from "../../ui/runfilter";
import { Empty, Loaded } from "../../ui/state";
import { Badge, lookOfRun, stateOf } from "../../ui/status";
import { Ago } from "../../ui/time";
import { usePhone } from "../../ui/phone";
import { runsQuery, type Run } from "./queries";
import { Several } from "./several";

const rare = ["version", "user_id", "tool", "origin", "in_doubt"] as const;

/** Runs lists runs, the newest first, with the filters of the address. */
export function Runs() {
  const { t } = useLanguage();
  const search = useSearch({ from: "/runs" });
  const navigate = useNavigate();
  const polling = usePolling();
  const phone = usePhone();
  const query = useInfiniteQuery({ ...runsQuery(search), placeholderData: keepPreviousData, refetchInterval: polling });
  const agents = useQuery(agentsQuery);
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const first = query.data?.pages[0];
  const set = (change: RunSearch) => void navigate({ to: "/runs", search: (s: RunSearch) => ({ ...s, ...change }), replace: true });
  const [selecting, setSelecting] = useState(false);
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const chosen = items.filter((r) => keys.has(r.run_id));
  const pick = useCallback((r: Run) => {
    setSelecting(true);
    setKeys((k) => (k.has(r.run_id) ? new Set([...k].filter((id) => id !== r.run_id)) : new Set([...k, r.run_id])));
  }, []);
  const filtered = Object.keys(search).length > 0;
  return (
    <Page crumbs={[{ text: t("nav.runs") }]} badge={first && <span className="text-muted">{t(first.total_at_least ? "runs.countAtLeast" : "runs.count", { n: first.total })}</span>}>
      <Filters
        find={<Filter value={search.q ?? ""} onChange={(q) => set({ q: q || undefined })} label={t("runs.search")} />}
        active={Object.keys(search).filter((k) => k !== "q").length}
        activeMore={rare.filter((k) => search[k]).length}
        clear={() => void navigate({ to: "/runs", search: {}, replace: true })}
        more={
          <>
            <Filter value={search.version ?? ""} onChange={(v) => set({ version: v || undefined })} label={t("runs.version")} />
            <Filter value={search.user_id ?? ""} onChange={(v) => set({ user_id: v || undefined })} label={t("runs.user")} />
            <Filter value={search.tool ?? ""} onChange={(v) => set({ tool: v || undefined })} label={t("runs.tool")} />
            <OriginChoices search={search} set={set} />
          </>
        }
        end={
          items.length > 0 && (
            <label className="touch inline-flex min-h-8 items-center gap-2 whitespace-nowrap">
              <input
                type="checkbox"
                checked={selecting}
                onChange={(e) => {
                  setSelecting(e.target.checked);
                  setKeys(new Set());
                }}
              />
              {t("approvals.several")}
            </label>
          )
        }
      >
        <StateChoices search={search} set={set} />
        <Choice label={t("runs.agent")} value={search.agent_id ?? ""} onChange={(v) => set({ agent_id: v || undefined })} options={(agents.data ?? []).map((a) => ({ value: a.id, text: a.id }))} />
      </Filters>
      <Several chosen={chosen} clear={() => setKeys(new Set())} />
      <Loaded query={query} rows={12}>
        {() =>
          items.length === 0 ? (
            <Empty title={filtered ? t("runs.noMatch") : t("runs.empty")}>
              {filtered ? t("runs.noMatchHint") : t("runs.emptyHint")}{" "}
              {!filtered && (
                <Link to="/threads/-/new" className="link">
                  {t("threads.new")}
                </Link>
              )}
            </Empty>
          ) : (
            <>
              {!phone && (
                <div aria-hidden className={`${selecting ? "ml-10 " : ""}grid grid-cols-[9rem_8rem_minmax(0,1fr)_minmax(0,1.2fr)_4rem_5rem_5rem_4rem] gap-3 border-b border-line px-4 py-1 text-caption text-muted`}>
                  <span>{t("runs.status")}</span>
                  <span>{t("runs.run")}</span>
                  <span>{t("runs.agent")}</span>
                  <span>{t("runs.thread")}</span>
                  <span className="text-right">{t("runs.steps")}</span>
                  <span className="text-right">{t("runs.tokens")}</span>
                  <span className="text-right">{t("runs.cost")}</span>
                  <span className="text-right">{t("runs.age")}</span>
                </div>
              )}
              <Rows
                items={items}
                keyOf={(r) => r.run_id}
                height={phone ? 68 : 33}
                label={t("nav.runs")}
                more={query.hasNextPage && !query.isFetching ? () => void query.fetchNextPage() : undefined}
                open={(r) => void navigate({ to: "/runs/$id", params: { id: r.run_id } })}
                pick={pick}
                row={(r) => (
                  <div className="flex h-full">
                    {selecting && (
                      <label className="flex w-10 shrink-0 items-center justify-center">
                        <input type="checkbox" checked={keys.has(r.run_id)} onChange={() => pick(r)} aria-label={t("queue.select", { id: short(r.run_id) })} />
                      </label>
                    )}
                    <div className="min-w-0 flex-1">{phone ? <RunCard run={r} /> : <RunRow run={r} />}</div>
                  </div>
                )}
                foot={query.isFetchingNextPage ? <p className="p-3 text-center text-muted">{t("state.loading")}</p> : null}
              />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function RunRow({ run }: { run: Run }) {
  const { number, money } = useLanguage();
  return (
    <div className="grid h-full grid-cols-[9rem_8rem_minmax(0,1fr)_minmax(0,1.2fr)_4rem_5rem_5rem_4rem] items-center gap-3 px-4">
      <span className="flex min-w-0">
        <Badge look={lookOfRun(stateOf(run))} />
      </span>
      <Link to="/runs/$id" params={{ id: run.run_id }} className="mono link truncate" title={run.run_id}>
        {short(run.run_id)}
      </Link>
      <span className="truncate">{run.agent_id}</span>
      <Link to="/threads/$id" params={{ id: run.thread_id }} className="mono truncate text-muted hover:underline" title={run.thread_id}>
        {short(run.thread_id)}
      </Link>
      <span className="mono text-right">{number(run.steps)}</span>
      <span className="mono text-right">{number(run.input_tokens + run.output_tokens)}</span>
      <span className="mono text-right">{run.cost_usd ? money(run.cost_usd) : "–"}</span>
      <span className="text-right text-muted">
        <Ago at={toMs(run.created_at)} />
      </span>
    </div>
  );
}

function RunCard({ run }: { run: Run }) {
  const { money } = useLanguage();
  return (
    <div className="flex h-full flex-col justify-center gap-1 px-4">
      <div className="flex items-center gap-2">
        <Badge look={lookOfRun(stateOf(run))} />
        <Link to="/runs/$id" params={{ id: run.run_id }} className="mono link truncate">
          {short(run.run_id)}
        </Link>
        <span className="ml-auto text-muted">
          <Ago at={toMs(run.created_at)} />
        </span>
      </div>
      <div className="flex gap-2 text-muted">
        <span className="truncate">{run.agent_id}</span>
        <span className="mono truncate">{short(run.thread_id)}</span>
        <span className="mono ml-auto">{run.cost_usd ? money(run.cost_usd) : ""}</span>
      </div>
    </div>
  );
}
