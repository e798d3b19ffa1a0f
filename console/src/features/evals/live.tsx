import { infiniteQueryOptions, keepPreviousData, queryOptions, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Ban, Check, CircleHelp, Clock, Gavel, LoaderCircle, SkipForward, Unplug, X } from "lucide-react";
import { useMemo, type ComponentProps, type ReactNode } from "react";
import { api, ask } from "../../api/client";
import { kindOf } from "../../api/errors";
import type { components } from "../../api/schema";
import { useGoverns, useSession } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Aside, Facts } from "../../ui/aside";
import { Button } from "../../ui/button";
import { CopyButton, short } from "../../ui/id";
import { Card, chosen, List, ListFilters, type By, type Column } from "../../ui/list";
import { AdminPage } from "../../ui/needs";
import { usePhone } from "../../ui/phone";
import { useTimes } from "../../ui/recent";
import { Fold } from "../../ui/request";
import { useRunFilters } from "../../ui/runfilter";
import { Empty, Loaded } from "../../ui/state";
import { Badge } from "../../ui/status";
import { Ago } from "../../ui/time";
import type { LiveSearch } from "./search";

type Judgement = components["schemas"]["Judgement"];
type Named = Omit<LiveSearch, "range" | "run">;

const judgementsQuery = (filter: Named) =>
  infiniteQueryOptions({
    queryKey: ["judgements", "list", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/eval/live", { params: { query: { ...filter, limit: 100, cursor: pageParam || undefined } as never }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor || undefined,
    refetchInterval: 10_000, // runs are judged some seconds after their end, which the feed does not tell
    retry: false,
  });

const judgementQuery = (id: string) => queryOptions({ queryKey: ["judgements", "one", id], queryFn: ({ signal }) => ask(api.GET("/v1/eval/live/{run_id}", { params: { path: { run_id: id } }, signal })), refetchInterval: 10_000, retry: false });

const budgetsQuery = queryOptions({ queryKey: ["judgements", "budgets"], queryFn: ({ signal }) => ask(api.GET("/v1/eval/live-budgets", { signal })), refetchInterval: 30_000, retry: false });

const statuses = ["done", "pending", "judging", "failed", "in_doubt", "skipped"] as const;
const limits = [0.3, 0.5, 0.7, 0.9];
const looks: Record<string, ComponentProps<typeof Badge>["look"]> = {
  passed: { icon: Check, tone: "ok", word: "live.status.passed" },
  refused: { icon: X, tone: "fail", word: "live.status.refused" },
  pending: { icon: Clock, tone: "idle", word: "live.status.pending" },
  judging: { icon: LoaderCircle, tone: "run", word: "live.status.judging", spins: true },
  failed: { icon: Ban, tone: "fail", word: "live.status.failed" },
  in_doubt: { icon: CircleHelp, tone: "doubt", word: "live.status.in_doubt" },
  skipped: { icon: SkipForward, tone: "idle", word: "live.status.skipped" },
};

/** LiveEvals lists what scorers and models say about the runs of users. */
export function LiveEvals() {
  const { t } = useLanguage();
  return (
    <AdminPage crumbs={[{ text: t("nav.evals"), to: "/evals" }, { text: t("live.title") }]} feature="evals" setting="admin.expose_eval_routes">
      <Found />
    </AdminPage>
  );
}

function Found() {
  const { t, number, money } = useLanguage();
  const phone = usePhone();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as LiveSearch;
  const { range: _, run: open, ...named } = search;
  const governs = useGoverns();
  const query = useInfiniteQuery({ ...judgementsQuery({ ...named, ...useTimes(search) }), placeholderData: keepPreviousData });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.judgements) ?? [], [query.data]);
  const show = (run?: string) => void navigate({ to: "/evals/live", search: { ...search, run }, replace: true });
  const { agent } = useRunFilters();
  const scores = (word: Key) => limits.map((n) => ({ value: String(n), text: t(word, { n: number(n) }) }));
  const by: (By<LiveSearch> | "times")[] = [
    agent,
    { name: "status", word: "runs.status", options: statuses.map((s) => ({ value: s, text: t(`live.status.${s}`) })) },
    { name: "max_score", word: "live.below", options: scores("traces.scoreBelow") },
    { name: "min_score", word: "live.atLeast", options: scores("live.scoreAtLeast") },
    "times",
    { name: "version", word: "runs.version", rare: true },
  ];
  const name = (j: Judgement) => (
    <Link to="/evals/live" search={{ ...search, run: j.run_id }} replace className="mono link truncate" title={j.run_id}>
      {short(j.run_id)}
    </Link>
  );
  const said = (j: Judgement) => j.judge?.reasoning || j.scores?.find((s) => !s.passed)?.reason || j.reason;
  const columns: Column<Judgement>[] = [
    { word: "traces.score", width: "3rem", cell: (j) => <Score of={j.score} /> },
    { word: "live.verdict", width: "8rem", look: "flex", cell: (j) => <Badge look={lookOf(j)} /> },
    { word: "runs.run", width: "7rem", look: "flex", cell: name },
    { word: "runs.agent", width: open ? "minmax(0,1fr)" : "minmax(0,8rem)", cell: (j) => j.agent_id },
  ];
  if (!open) {
    columns.push(
      { word: "runs.version", width: "4rem", look: "truncate text-muted", cell: (j) => j.version && `v${j.version}` },
      ...(items.some((j) => j.judge) ? [{ word: "evals.judge" as const, width: "minmax(0,8rem)", cell: (j: Judgement) => j.judge?.model_id }] : []),
      { word: "live.said", width: "minmax(0,1fr)", look: "truncate text-muted", cell: said },
      { word: "runs.cost", width: "5rem", right: true, look: "mono", cell: (j) => (j.cost_usd ? money(j.cost_usd) : "–") },
    );
  }
  columns.push({ word: "runs.age", width: "4rem", right: true, look: "text-muted", cell: (j) => <Ago at={j.created_at} /> });
  if (!query.data && kindOf(query.error) === "notThere") {
    return (
      <Empty title={t("state.notInThisServer")} icon={Unplug}>
        <p>{t("state.turnedOnBy")}</p>
        <code className="mono mt-2 inline-block rounded-sm bg-sunken px-2 py-1 text-text">server.Evals.Live</code>
      </Empty>
    );
  }
  return (
    <>
      <ListFilters to="/evals/live" search={search} by={by} besides={["run"]} />
      {governs && <Budgets />}
      <div className="flex min-h-0 flex-1">
        {!(phone && open) && (
          <div className="flex min-h-0 min-w-0 flex-1 flex-col">
            <List
              query={query}
              items={items}
              keyOf={(j) => j.run_id}
              label={t("live.title")}
              columns={columns}
              heights={[44, 68]}
              open={(j) => show(j.run_id)}
              filtered={chosen(search, ["run"]) > 0}
              empty={{ title: "live.empty", icon: Gavel, hint: <Nothing /> }}
              card={(j) => (
                <Card
                  at={j.created_at}
                  below={
                    <>
                      <span className="shrink-0">{j.agent_id}</span>
                      <span className="truncate">{said(j)}</span>
                    </>
                  }
                >
                  <Score of={j.score} />
                  <Badge look={lookOf(j)} />
                  {name(j)}
                </Card>
              )}
            />
          </div>
        )}
        {open && <Detail key={open} id={open} close={() => show()} />}
      </div>
    </>
  );
}

/** Nothing says how runs come to be judged. */
function Nothing() {
  const { t } = useLanguage();
  return (
    <>
      <p>{t("live.emptyHint")}</p>
      <p className="mt-2">
        <code className="mono rounded-sm bg-sunken px-2 py-1 text-text">{'"eval_live": {"share": 0.05, "judge": {"model_id": "…"}}'}</code>
      </p>
      <Link to="/agents" className="touch mt-3 inline-flex min-h-8 items-center rounded-md border border-border bg-panel px-3 font-medium text-text hover:bg-sunken">
        {t("live.chooseAgent")}
      </Link>
    </>
  );
}

/** Budgets shows what judging has taken on the latest days. */
function Budgets() {
  const { t, number, money } = useLanguage();
  const { data } = useQuery(budgetsQuery);
  if (!data?.days.length) return null;
  return (
    <div className="border-b border-line px-4 py-1">
      <Fold title={t("live.budgets")} count={data.days.length}>
        <ul aria-label={t("live.budgets")} className="max-h-48 overflow-auto">
          {data.days.map((d) => (
            <li key={`${d.day} ${d.agent_id}`} className="flex flex-wrap gap-x-4">
              <span className="mono text-muted">{d.day}</span>
              <Link to="/agents/$id/$tab" params={{ id: d.agent_id, tab: "plugins" }} className="link">
                {d.agent_id}
              </Link>
              <span>{t("live.judged", { n: d.judged })}</span>
              {d.skipped > 0 && <span className="text-wait">{t("live.skipped", { n: number(d.skipped) })}</span>}
              <span className="mono">{money(d.cost_usd)}</span>
            </li>
          ))}
        </ul>
      </Fold>
    </div>
  );
}

/** lookOf says what came of a judgement. */
const lookOf = (j: Judgement) => looks[j.status === "done" ? (j.passed === false ? "refused" : "passed") : j.status] ?? looks.pending!;

function Score({ of }: { of?: number }) {
  const { number } = useLanguage();
  return <span className={`mono tabular-nums ${of !== undefined && of < 0.5 ? "text-fail" : ""}`}>{of === undefined ? "–" : number(of, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}</span>;
}

function Detail({ id, close }: { id: string; close: () => void }) {
  const { t } = useLanguage();
  const query = useQuery(judgementQuery(id));
  return (
    <Aside label={t("run.detail")} title={<span className="mono">{short(id)}</span>} badge={<CopyButton text={id} label={t("action.copyId")} />} close={close}>
      <Loaded query={query}>{(j) => <Said j={j} />}</Loaded>
    </Aside>
  );
}

/** Said shows all that is said about a run, and judges it again if it has no score. */
function Said({ j }: { j: Judgement }) {
  const { t, number, money, date } = useLanguage();
  const client = useQueryClient();
  const traces = useSession()?.features.traces === true;
  const again = useMutation({ mutationFn: () => ask(api.POST("/v1/eval/live/{run_id}/retry", { params: { path: { run_id: j.run_id } } })), onSettled: () => void client.invalidateQueries({ queryKey: ["judgements"] }) });
  const facts: [Key, ReactNode][] = [
    [
      "runs.agent",
      <Link to="/agents/$id/$tab" params={{ id: j.agent_id, tab: "plugins" }} className="link">
        {j.agent_id}
      </Link>,
    ],
    [
      "live.run",
      <span className="flex flex-wrap gap-x-3">
        <Link to="/runs/$id" params={{ id: j.run_id }} className="link">
          {t("traces.timeline")}
        </Link>
        {traces && (
          <Link to="/traces/$id" params={{ id: j.run_id }} className="link">
            {t("live.trace")}
          </Link>
        )}
        <Link to="/threads/$id" params={{ id: j.thread_id }} className="link">
          {t("runs.thread")}
        </Link>
      </span>,
    ],
    ["runs.version", j.version || "–"],
    ["live.ran", date(j.created_at)],
  ];
  if (j.judged_at) facts.push(["live.judgedAt", date(j.judged_at)]);
  if (j.attempts) facts.push(["live.attempts", number(j.attempts)]);
  if (j.tokens) facts.push(["runs.tokens", number(j.tokens)]);
  if (j.cost_usd) facts.push(["runs.cost", money(j.cost_usd)]);
  return (
    <div className="flex flex-col gap-4 p-4">
      <div className="flex items-center gap-3 text-title">
        <Score of={j.score} />
        <Badge look={lookOf(j)} />
      </div>
      {j.reason && <p className="[overflow-wrap:anywhere]">{j.reason}</p>}
      {["in_doubt", "failed", "skipped"].includes(j.status) && (
        <div className="flex flex-col items-start gap-1">
          <Button disabled={again.isPending} onClick={() => again.mutate()}>
            {t("live.again")}
          </Button>
          {j.status === "in_doubt" && <p className="text-dense text-wait">{t("live.againHint")}</p>}
          {again.error && (
            <p role="alert" className="text-fail [overflow-wrap:anywhere]">
              {again.error.message}
            </p>
          )}
        </div>
      )}
      <Facts rows={facts.map(([name, value]) => [t(name), value])} />
      {j.judge && (
        <section className="flex flex-col gap-1">
          <h3 className="flex flex-wrap items-center gap-2 font-semibold">
            {t("evals.judge")} <span className="mono font-normal">{j.judge.model_id}</span> <Score of={j.judge.score} />
          </h3>
          {j.judge.reasoning && <p className="prose-model">{j.judge.reasoning}</p>}
          <p className="flex items-center gap-1 text-dense text-muted" title={t("live.revisionHint")}>
            {t("live.revision")} <code className="mono">{j.judge.revision.slice(0, 12)}</code>
            <CopyButton text={j.judge.revision} label={t("live.copyRevision")} />
          </p>
        </section>
      )}
      {j.scores && j.scores.length > 0 && (
        <section>
          <h3 className="mb-1 font-semibold">{t("live.scorers")}</h3>
          <ul className="divide-y divide-line border-y border-line">
            {j.scores.map((s, i) => (
              <li key={i} className="flex flex-wrap items-center gap-x-3 py-1.5">
                {s.passed ? <Check aria-hidden className="size-3.5 text-ok" /> : <X aria-hidden className="size-3.5 text-fail" />}
                <span className="sr-only">{t(s.passed ? "live.status.passed" : "live.status.refused")}</span>
                <span className="font-medium">{s.scorer}</span>
                <span className="ml-auto">
                  <Score of={s.score} />
                </span>
                {s.reason && <span className="w-full text-muted [overflow-wrap:anywhere]">{s.reason}</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
