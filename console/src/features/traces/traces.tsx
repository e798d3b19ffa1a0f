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
import { TimeChoice, useTimes } from "../../ui/recent";
import { Rows } from "../../ui/rows";
import { OriginChoices, StateChoices } from "../../ui/runfilter";
import { Empty, Loaded } from "../../ui/state";
import { Badge, lookOfRun } from "../../ui/status";
import { Ago } from "../../ui/time";
import { usePin } from "./pin";
import { tracesQuery, type Summary } from "./queries";

const rare = ["waiting_reason", "tool", "version", "user_id", "thread_id", "origin", "in_doubt", "error_code", "min_cost_usd", "min_duration_ms"] as const;
const judged = ["agent_id", "version", "max_score", "range", "since", "until"]; // what judged runs are found by
const durations = [1000, 5000, 30_000, 300_000];
const columns = "grid-cols-[9.5rem_8rem_minmax(0,1fr)_5rem_minmax(0,1fr)_4rem_4rem_5rem_5rem_4rem]";
const limits = [0.3, 0.5, 0.7, 0.9];

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
  const { t, span, number } = useLanguage();
  const phone = usePhone();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as TraceSearch;
  const polling = usePolling();
  const agents = useQuery(agentsQuery);
  const { range: _, ...named } = search;
  const query = useInfiniteQuery({ ...tracesQuery({ ...named, ...useTimes(search) }), placeholderData: keepPreviousData, refetchInterval: polling });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.runs) ?? [], [query.data]);
  const set = (change: TraceSearch) => void navigate({ to: "/traces", search: (s: TraceSearch) => ({ ...s, ...change }), replace: true });
  const text = (name: "tool" | "version" | "user_id" | "thread_id" | "error_code" | "min_cost_usd", word: Key) => <Filter value={search[name] ?? ""} onChange={(v) => set({ [name]: v || undefined })} label={t(word)} />;
  const filtered = Object.keys(search).length > 0;
  const scored = search.max_score !== undefined;
  const toggled = usePin();
  const still = toggled.variables?.on === false && toggled.data && toggled.data.length > 0 ? toggled.variables.id : undefined;
  return (
    <>
      <Filters
        find={!scored && <Filter value={search.q ?? ""} onChange={(q) => set({ q: q || undefined })} label={t("runs.search")} />}
        active={Object.keys(search).filter((k) => k !== "q").length}
        activeMore={rare.filter((k) => search[k]).length}
        clear={() => void navigate({ to: "/traces", search: {}, replace: true })}
        more={
          scored ? (
            text("version", "runs.version")
          ) : (
            <>
              {text("tool", "runs.tool")}
              {text("version", "runs.version")}
              {text("user_id", "runs.user")}
              {text("thread_id", "runs.thread")}
              {text("error_code", "traces.errorCode")}
              {text("min_cost_usd", "traces.minCost")}
              <Choice label={t("traces.minDuration")} value={search.min_duration_ms ?? ""} onChange={(v) => set({ min_duration_ms: v || undefined })} options={durations.map((ms) => ({ value: String(ms), text: t("traces.tookAtLeast", { span: span(ms) }) }))} />
              <OriginChoices search={search} set={set} />
            </>
          )
        }
      >
        <Choice label={t("runs.agent")} value={search.agent_id ?? ""} onChange={(v) => set({ agent_id: v || undefined })} options={(agents.data ?? []).map((a) => ({ value: a.id, text: a.id }))} />
        {!scored && <StateChoices search={search} set={set} />}
        <TimeChoice times={search} set={set} />
        <Choice
          label={t("traces.score")}
          value={search.max_score ?? ""}
          onChange={(v) => void navigate({ to: "/traces", search: v ? { ...(Object.fromEntries(Object.entries(search).filter(([name]) => judged.includes(name))) as TraceSearch), max_score: v } : { ...search, max_score: undefined }, replace: true })}
          options={limits.map((n) => ({ value: String(n), text: t("traces.scoreBelow", { n: number(n) }) }))}
        />
        {!scored && <Choice label={t("traces.pinned")} value={search.pinned ?? ""} onChange={(v) => set({ pinned: v || undefined })} options={[{ value: "true", text: t("traces.onlyPinned") }]} />}
      </Filters>
      {scored && <p className="border-b border-line px-4 py-1 text-dense text-muted">{t("traces.scoreHint")}</p>}
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
                  <span className="text-right">{t("traces.score")}</span>
                  <span className="text-right">{t("runs.steps")}</span>
                  <span className="text-right">{t("evals.time")}</span>
                  <span className="text-right">{t("runs.cost")}</span>
                  <span className="text-right">{t("runs.age")}</span>
                </div>
              )}
              <Rows
                items={items}
                keyOf={(r) => r.run_id}
                height={phone ? 84 : 33}
                label={t("nav.traces")}
                more={query.hasNextPage && !query.isFetching ? () => void query.fetchNextPage() : undefined}
                open={(r) => void navigate({ to: "/traces/$id", params: { id: r.run_id } })}
                row={(r) => <One run={r} phone={phone} pin={() => toggled.mutate({ id: r.run_id, on: !r.pinned })} busy={toggled.isPending} />}
                foot={query.isFetchingNextPage ? <p className="p-3 text-center text-muted">{t("state.loading")}</p> : null}
              />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function One({ run: r, phone, pin: toggle, busy }: { run: Summary; phone: boolean; pin: () => void; busy: boolean }) {
  const { t, number, money, span } = useLanguage();
  const look = lookOfRun({ status: r.status as never, outcome: r.final_status });
  const took = r.started_at && r.ended_at ? toMs(r.ended_at)! - toMs(r.started_at)! : undefined;
  const link = (
    <Link to="/traces/$id" params={{ id: r.run_id }} className="mono link truncate" title={r.run_id}>
      {short(r.run_id)}
    </Link>
  );
  const pin = r.started_at && (
    <button type="button" aria-pressed={r.pinned === true} aria-label={t("traces.pinOne", { id: short(r.run_id) })} title={t(r.pinned ? "traces.unpin" : "traces.pin")} disabled={busy} onClick={toggle} className={`touch inline-flex size-6 shrink-0 items-center justify-center rounded-sm hover:bg-sunken ${r.pinned ? "text-accent" : "text-muted opacity-60 hover:opacity-100"}`}>
      <Pin aria-hidden className="size-3.5" />
    </button>
  );
  const score = r.score !== undefined && (
    <span className={r.score < 0.5 ? "text-fail" : ""} title={t("traces.scoreTitle")}>
      {number(r.score, { maximumFractionDigits: 2 })}
    </span>
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
          <span className="mono ml-auto">{score}</span>
          <span>{took === undefined ? "" : span(took)}</span>
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
      <span className="mono text-right">{score || "–"}</span>
      <span className="mono text-right">{number(r.steps)}</span>
      <span className="mono text-right">{took === undefined ? "–" : span(took)}</span>
      <span className="mono text-right">{r.cost_usd ? money(r.cost_usd) : "–"}</span>
      <span className="text-right text-muted">
        <Ago at={r.started_at ?? undefined} />
      </span>
    </div>
  );
}
