import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { CircleDashed, LoaderCircle, RotateCw, Skull, type LucideIcon } from "lucide-react";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { limitsQuery, type Limit } from "../../api/limits";
import { useGoverns, useMay } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { Choice } from "../../ui/filter";
import { short } from "../../ui/id";
import { LimitMeters } from "../../ui/limit";
import { Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { toneOf, type Tone } from "../../ui/status";
import { Ago, useNow } from "../../ui/time";
import { DeadBar } from "./dead";
import { Panel } from "./panel";
import { dispatchesQuery, queueQuery, replicasQuery, type Dispatch, type Queue, type Worker } from "./queries";

/** plain shortens the ids in a sentence of the server, as they are elsewhere on the page. */
const plain = (detail: string) => detail.replace(/[\w-]*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => short(id));

const views = ["live", "dead", "settled"] as const;
type View = (typeof views)[number];
const statusOf: Record<View, string> = { live: "live", dead: "DeadLetter", settled: "Acked" };

export interface QueueSearch {
  view?: string;
  agent_id?: string;
  worker?: string;
  id?: string;
}

/** QueuePage shows what the queue has, why each of it is where it is, and what it gave up. */
export function QueuePage() {
  const { t } = useLanguage();
  return (
    <Page crumbs={[{ text: t("nav.queue") }]}>
      <Needs ability="admin">
        <Contents />
      </Needs>
    </Page>
  );
}

function Contents() {
  const { t } = useLanguage();
  const { dispatch } = useParams({ strict: false }) as { dispatch?: string };
  const search = useSearch({ strict: false }) as QueueSearch;
  const view: View = dispatch ? "dead" : (views.find((v) => v === search.view) ?? "live");
  const navigate = useNavigate();
  const polling = usePolling();
  const state = useQuery({ ...queueQuery, refetchInterval: polling || 15_000 });
  const query = useInfiniteQuery({ ...dispatchesQuery({ status: statusOf[view], ...(search.agent_id && { agent_id: search.agent_id }), ...(search.worker && view === "live" && { worker: search.worker }) }), placeholderData: keepPreviousData, refetchInterval: polling || (view === "live" ? 15_000 : false) });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const id = dispatch ?? search.id;
  const open = items.find((d) => d.dispatch_id === id);
  const { fetchNextPage, hasNextPage, isFetching } = query;
  useEffect(() => {
    if (dispatch && !open && hasNextPage && !isFetching) void fetchNextPage(); // an address names a dead letter on a later page
  }, [dispatch, open, hasNextPage, isFetching, fetchNextPage]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const set = (change: QueueSearch) => void navigate({ to: "/queue", search: (s: QueueSearch) => ({ view: view === "live" ? undefined : view, ...s, id: undefined, ...change }), replace: true });
  const agents = [...new Set(items.map((d) => d.agent_id ?? "").filter(Boolean))].sort();
  return (
    <Loaded query={state} rows={10}>
      {(q) => (
        <div className="flex min-h-0 flex-1 max-lg:flex-col max-lg:overflow-auto">
          <div className="flex min-h-0 min-w-0 flex-1 flex-col max-lg:min-h-[32rem] max-lg:shrink-0">
            <Figures queue={q} />
            <div role="search" aria-label={t("runs.filters")} className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
              <div role="group" aria-label={t("queue.view")} className="mr-2 inline-flex rounded-md border border-border">
                {views.map((v) => (
                  <button
                    key={v}
                    type="button"
                    aria-pressed={v === view}
                    onClick={() => {
                      setChosen(new Set());
                      void navigate({ to: "/queue", search: { view: v === "live" ? undefined : v } });
                    }}
                    className="touch min-h-8 px-3 first:rounded-l-md last:rounded-r-md aria-pressed:bg-accent aria-pressed:font-medium aria-pressed:text-on-accent"
                  >
                    {t(`queue.${v}` as Key)}
                  </button>
                ))}
              </div>
              <Choice label={t("runs.agent")} value={search.agent_id ?? ""} onChange={(v) => set({ agent_id: v || undefined })} options={agents.map((a) => ({ value: a, text: a }))} />
              {view === "live" && <Choice label={t("queue.worker")} value={search.worker ?? ""} onChange={(v) => set({ worker: v || undefined })} options={q.workers.map((w) => ({ value: w.worker, text: w.replica || w.worker }))} />}
            </div>
            {view === "dead" && <DeadBar items={items} chosen={chosen} setChosen={setChosen} more={hasNextPage ? fetchNextPage : undefined} total={q.counts.DeadLetter ?? 0} />}
            <Loaded query={query} rows={8}>
              {() =>
                items.length === 0 ? (
                  <Empty title={t(search.agent_id || search.worker ? "runs.noMatch" : (`queue.${view}Empty` as Key))} icon={view === "dead" ? Skull : CircleDashed}>
                    {t(`queue.${view}Hint` as Key)}
                  </Empty>
                ) : (
                  <List
                    items={items}
                    view={view}
                    selected={id}
                    chosen={chosen}
                    choose={(d, on) => {
                      const next = new Set(chosen);
                      if (on) next.add(d.dispatch_id);
                      else next.delete(d.dispatch_id);
                      setChosen(next);
                    }}
                    more={hasNextPage && !isFetching ? () => void fetchNextPage() : undefined}
                  />
                )
              }
            </Loaded>
          </div>
          <aside aria-label={id ? t("run.detail") : t("queue.explained")} className="w-full shrink-0 border-l border-line bg-panel max-lg:border-t max-lg:border-l-0 lg:w-[25rem] lg:overflow-auto">
            {id ? (
              <Loaded query={query}>{() => (open ? <Panel key={open.dispatch_id} dispatch={open} /> : <Gone />)}</Loaded>
            ) : (
              <>
                <Waits queue={q} />
                <Workers workers={q.workers} />
                <Limits />
              </>
            )}
          </aside>
        </div>
      )}
    </Loaded>
  );
}

function Gone() {
  const { t } = useLanguage();
  return (
    <Empty title={t("state.notThere")}>
      <p>{t("queue.gone")}</p>
      <Link to="/queue" search={{ view: "dead" }} className="link">
        {t("queue.dead")}
      </Link>
    </Empty>
  );
}

function Figures({ queue }: { queue: Queue }) {
  const { t, number } = useLanguage();
  const count = (code: string) => queue.waits.filter((w) => w.code === code).reduce((n, w) => n + w.count, 0);
  const retrying = count("queued.retry");
  const dead = queue.counts.DeadLetter ?? 0;
  const figures: [Key, number, LucideIcon, Tone, View][] = [
    ["queue.queued", queue.counts.Queued ?? 0, CircleDashed, "idle", "live"],
    ["queue.claimed", queue.counts.Claimed ?? 0, LoaderCircle, "run", "live"],
    ["queue.retrying", retrying, RotateCw, retrying ? "wait" : "idle", "live"],
    ["queue.dead", dead, Skull, dead ? "fail" : "idle", "dead"],
  ];
  return (
    <dl className="grid grid-cols-2 gap-px border-b border-line bg-line sm:grid-cols-4">
      {figures.map(([word, n, Icon, tone, view]) => (
        <div key={word} className="bg-bg px-4 py-3">
          <dt className="flex items-center gap-1.5 text-muted">
            <Icon aria-hidden className={`size-3.5 ${toneOf(tone)}`} />
            {t(word)}
          </dt>
          <dd>
            <Link to="/queue" search={{ view: view === "live" ? undefined : view }} className="text-figure font-semibold tabular-nums hover:underline">
              {number(n)}
            </Link>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const looks: Record<Dispatch["status"], { icon: LucideIcon; tone: Tone }> = {
  Queued: { icon: CircleDashed, tone: "idle" },
  Claimed: { icon: LoaderCircle, tone: "run" },
  Acked: { icon: CircleDashed, tone: "ok" },
  Cancelled: { icon: CircleDashed, tone: "idle" },
  Superseded: { icon: CircleDashed, tone: "idle" },
  DeadLetter: { icon: Skull, tone: "fail" },
};

function Status({ dispatch: d }: { dispatch: Dispatch }) {
  const { t } = useLanguage();
  const { icon: Icon, tone } = looks[d.status];
  const retries = d.because.code === "queued.retry";
  const Shown = retries ? RotateCw : Icon;
  return (
    <span className={`inline-flex items-center gap-1 font-medium whitespace-nowrap ${toneOf(retries ? "wait" : tone)}`}>
      <Shown aria-hidden className="size-3.5 shrink-0" />
      {t(d.cancel_requested && d.status === "Queued" ? "dispatch.Cancelled" : retries ? "queue.retrying" : (`dispatch.${d.status}` as Key))}
    </span>
  );
}

const columns = "grid-cols-[7rem_5rem_minmax(0,0.6fr)_2.5rem_5.5rem_minmax(0,2fr)]";

function List({ items, view, selected, chosen, choose, more }: { items: Dispatch[]; view: View; selected?: string; chosen: ReadonlySet<string>; choose: (d: Dispatch, on: boolean) => void; more?: () => void }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const phone = usePhone();
  const open = (d: Dispatch) => void (view === "dead" ? navigate({ to: "/dead-letters/$dispatch", params: { dispatch: d.dispatch_id } }) : navigate({ to: "/queue", search: (s: QueueSearch) => ({ ...s, id: d.dispatch_id }), replace: true }));
  return (
    <>
      {!phone && (
        <div aria-hidden className={`grid ${columns} gap-3 border-b border-line py-1 pr-4 text-caption text-muted ${view === "dead" ? "pl-11" : "pl-4"}`}>
          <span>{t("runs.status")}</span>
          <span>{t("runs.run")}</span>
          <span>{t("runs.agent")}</span>
          <span className="text-right">{t("queue.tries")}</span>
          <span>{t(view === "live" ? "queue.leaseOrNext" : "queue.since")}</span>
          <span>{t("run.why")}</span>
        </div>
      )}
      <Rows
        items={items}
        keyOf={(d) => d.dispatch_id}
        height={phone ? 84 : 48}
        label={t(`queue.${view}` as Key)}
        more={more}
        open={open}
        row={(d) => (
          <div className={`flex h-full items-center ${d.dispatch_id === selected ? "bg-sunken" : ""}`}>
            {view === "dead" && (
              <label className="touch flex h-full w-7 shrink-0 items-center justify-end">
                <input type="checkbox" checked={chosen.has(d.dispatch_id)} onChange={(e) => choose(d, e.target.checked)} aria-label={t("queue.select", { id: short(d.run_id) })} />
              </label>
            )}
            {phone ? <Card dispatch={d} open={open} /> : <Line dispatch={d} view={view} open={open} />}
          </div>
        )}
      />
    </>
  );
}

function Line({ dispatch: d, view, open }: { dispatch: Dispatch; view: View; open: (d: Dispatch) => void }) {
  const { t, number } = useLanguage();
  return (
    <div className={`grid h-full min-w-0 flex-1 ${columns} items-center gap-3 px-4`}>
      <Status dispatch={d} />
      <Link to="/runs/$id" params={{ id: d.run_id }} className="mono link truncate" title={d.run_id}>
        {short(d.run_id)}
      </Link>
      <span className="truncate" title={d.agent_id}>
        {d.agent_id || "–"}
      </span>
      <span className="mono text-right">
        {number(d.attempt_count)}/{number(d.max_attempts)}
      </span>
      <span className="truncate text-muted">{view === "live" ? <Next dispatch={d} /> : <Ago at={d.completed_at || d.updated_at} />}</span>
      <button type="button" className="group/why flex min-w-0 flex-col text-left" onClick={() => open(d)} title={d.because.detail}>
        <span className="max-w-full truncate font-medium group-hover/why:underline">{t(`cause.${d.because.code}` as Key)}</span>
        <span className="max-w-full truncate text-dense text-muted">{plain(d.because.detail)}</span>
      </button>
    </div>
  );
}

function Card({ dispatch: d, open }: { dispatch: Dispatch; open: (d: Dispatch) => void }) {
  return (
    <div className="flex min-w-0 flex-1 flex-col justify-center gap-0.5 px-4">
      <div className="flex items-center gap-2">
        <Status dispatch={d} />
        <Link to="/runs/$id" params={{ id: d.run_id }} className="mono link truncate">
          {short(d.run_id)}
        </Link>
        <span className="ml-auto text-muted">
          <Ago at={d.because.since} />
        </span>
      </div>
      <button type="button" className="line-clamp-2 text-left" onClick={() => open(d)}>
        {plain(d.because.detail)}
      </button>
    </div>
  );
}

/** Next says how long the lease of what is claimed lasts, or when what is queued is tried. */
function Next({ dispatch: d }: { dispatch: Dispatch }) {
  const { t, span } = useLanguage();
  const now = useNow(1000);
  if (d.status === "Claimed" && d.lease_until) {
    const left = d.lease_until - now;
    return left > 0 ? t("queue.lease", { time: span(left) }) : t("queue.leaseEnded");
  }
  if (d.status === "Queued" && d.available_at > now) return t("queue.in", { time: span(d.available_at - now) });
  return <Ago at={d.because.since} />;
}

function Box({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="border-b border-line px-4 py-3">
      <h2 className="mb-2 font-semibold">{title}</h2>
      {children}
    </section>
  );
}

/** Waits says for each reason how many it holds, and in a sentence what holds the oldest. */
function Waits({ queue }: { queue: Queue }) {
  const { t, number } = useLanguage();
  return (
    <Box title={t("queue.explained")}>
      {queue.waits.length === 0 && <p className="text-muted">{t("queue.liveEmpty")}</p>}
      <ul className="flex flex-col gap-3">
        {queue.waits.map((w) => (
          <li key={w.code} className="grid grid-cols-[2.5rem_minmax(0,1fr)] gap-x-2">
            <span className="mono pt-0.5 text-right text-title font-semibold">{number(w.count)}</span>
            <div>
              <p className="font-medium">{t(`cause.${w.code}` as Key)}</p>
              <p className="text-muted [overflow-wrap:anywhere]">{plain(w.oldest.because.detail)}</p>
              <p className="text-dense text-muted">
                {t("queue.oldest")}{" "}
                <Link to="/runs/$id" params={{ id: w.oldest.run_id }} className="link mono">
                  {short(w.oldest.run_id)}
                </Link>{" "}
                · <Ago at={w.oldest.because.since} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      {queue.partial && <p className="mt-2 text-wait">{t("queue.partial")}</p>}
    </Box>
  );
}

function Workers({ workers }: { workers: Worker[] }) {
  const { t, span } = useLanguage();
  const governs = useGoverns();
  const replicas = useQuery({ ...replicasQuery, enabled: governs, refetchInterval: 30_000 });
  const now = useNow(5000);
  const all = replicas.data?.items ?? [];
  const lost = all.filter((r) => r.lost).length;
  const behind = all.filter((r) => !r.lost && r.lag > 0).length;
  return (
    <Box title={t("queue.workers")}>
      {workers.length === 0 && <p className="text-muted">{t("queue.noWorkers")}</p>}
      <ul className="flex flex-col gap-2">
        {workers.map((w) => (
          <li key={w.worker} className="flex flex-wrap items-baseline gap-x-2">
            <Link to="/queue" search={{ worker: w.worker }} className="link mono [overflow-wrap:anywhere]">
              {w.replica || w.worker}
            </Link>
            <span className="ml-auto whitespace-nowrap">{t("queue.has", { n: w.claimed })}</span>
            <span className={`w-full text-dense ${w.silent ? "text-fail" : "text-muted"}`}>{w.silent ? t("queue.silent") : t("queue.leaseOf", { time: span(Math.max(0, w.lease_until - now)) })}</span>
          </li>
        ))}
      </ul>
      {all.length > 0 && (
        <p className="mt-2 text-dense text-muted">
          {t("queue.replicas", { n: all.length - lost })}
          {behind > 0 && <span className="text-wait"> {t("queue.lag", { n: behind })}</span>}
          {lost > 0 && <span> {t("queue.lost", { n: lost })}</span>}
        </p>
      )}
    </Box>
  );
}

function Limits() {
  const { t } = useLanguage();
  const governs = useGoverns();
  const limits = useQuery({ ...limitsQuery, enabled: governs, refetchInterval: 15_000 });
  if (!governs) return null;
  return (
    <Box title={t("queue.limits")}>
      <Loaded query={limits} rows={2}>
        {(list) => (
          <>
            {list.items.length === 0 && <p className="text-muted">{t("queue.noLimits")}</p>}
            <ul className="flex flex-col gap-3">
              {list.items.map((l) => (
                <li key={`${l.provider_id}/${l.model ?? ""}/${l.tenant ?? ""}`}>
                  <LimitView limit={l} />
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </Box>
  );
}

function LimitView({ limit: l }: { limit: Limit }) {
  const { t } = useLanguage();
  const config = useMay("config");
  return (
    <>
      <p className="flex flex-wrap gap-x-2">
        {config ? (
          <Link to="/providers/$id" params={{ id: l.provider_id }} className="link font-medium">
            {l.provider_id}
          </Link>
        ) : (
          <span className="font-medium">{l.provider_id}</span>
        )}
        {l.model && <span className="mono text-muted">{l.model}</span>}
        {l.tenant && <span className="text-muted">{l.tenant}</span>}
        {l.waiting > 0 && <span className="ml-auto text-wait">{t("queue.limitWaits", { n: l.waiting })}</span>}
      </p>
      <LimitMeters limit={l} />
    </>
  );
}
