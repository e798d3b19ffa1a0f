import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bot, CircleAlert, CircleHelp, Hand, Skull, type LucideIcon } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { agentsQuery } from "../../api/agents";
import { api, ask } from "../../api/client";
import { useMay, useSession } from "../../api/session";
import { now, toMs } from "../../api/time";
import { useLanguage } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { short } from "../../ui/id";
import { Page } from "../../ui/page";
import { Loaded, Skeleton } from "../../ui/state";
import { Badge, lookOfRun, stateOf } from "../../ui/status";
import { Ago } from "../../ui/time";
import { FirstSteps } from "./first";

const hour = 3_600_000;

/** Overview says what needs attention, what happens now, and how to begin. */
export function Overview() {
  const { t } = useLanguage();
  const session = useSession();
  const polling = usePolling();
  const counts = useQuery({ queryKey: ["counts"], queryFn: ({ signal }) => ask(api.GET("/v1/runs/summary", { signal })), refetchInterval: polling });
  const recent = useQuery({ queryKey: ["runs", "recent"], queryFn: ({ signal }) => ask(api.GET("/v1/runs", { params: { query: { limit: 10 } }, signal })), refetchInterval: polling });
  const failed = useQuery({
    queryKey: ["runs", "failed"],
    queryFn: ({ signal }) => ask(api.GET("/v1/runs", { params: { query: { outcome: "error", since: new Date(now() - hour).toISOString(), limit: 5 } }, signal })),
    refetchInterval: polling || 60_000,
  });
  const waiting = useQuery({ queryKey: ["approvals", "oldest"], queryFn: ({ signal }) => ask(api.GET("/v1/approvals", { params: { query: { limit: 5, order: "oldest" } }, signal })), refetchInterval: polling });
  const admin = useMay("admin");
  const queue = useQuery({ queryKey: ["queue", "state"], queryFn: ({ signal }) => ask(api.GET("/v1/queue", { signal })), enabled: admin, refetchInterval: polling || 30_000 });
  const doubt = useQuery({ queryKey: ["runs", "doubt"], queryFn: ({ signal }) => ask(api.GET("/v1/runs", { params: { query: { in_doubt: true, status: "waiting", limit: 1 } }, signal })), refetchInterval: polling });
  const dead = queue.data?.counts.DeadLetter ?? 0;
  const silent = queue.data?.workers.filter((w) => w.silent).length ?? 0;
  const doubts = doubt.data?.total ?? 0;
  const [first, setFirst] = useState<boolean>(); // what the page began with: the first answer does not take the steps away
  const empty = recent.data && recent.data.items.length === 0;
  useEffect(() => {
    if (empty !== undefined) setFirst((f) => f ?? empty);
  }, [empty]);
  const none = first ?? empty ?? false;
  return (
    <Page crumbs={[{ text: t("nav.overview") }]} badge={session && <span className="text-muted">{t("shell.version", { version: session.version })}</span>}>
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="mx-auto grid max-w-6xl gap-4 p-4 lg:grid-cols-2">
          <Box title={t("overview.attention")}>
            {waiting.data && failed.data ? (
              waiting.data.total === 0 && failed.data.total === 0 && dead === 0 && silent === 0 && doubts === 0 ? (
                <p className="px-4 py-6 text-muted">{t("overview.nothing")}</p>
              ) : (
                <ul>
                  {doubts > 0 && (
                    <Line icon={CircleHelp} tone="text-doubt" action={<Link to="/runs" search={{ in_doubt: "true", status: "waiting" }} className="link font-medium">{t("overview.settle")}</Link>}>
                      {t("overview.doubts", { n: doubts })}
                    </Line>
                  )}
                  {dead > 0 && (
                    <Line icon={Skull} tone="text-fail" action={<Link to="/queue" search={{ view: "dead" }} className="link font-medium">{t("overview.look")}</Link>}>
                      {t("overview.dead", { n: dead })}
                    </Line>
                  )}
                  {silent > 0 && (
                    <Line icon={CircleAlert} tone="text-fail" action={<Link to="/queue" className="link font-medium">{t("overview.look")}</Link>}>
                      {t("overview.silent", { n: silent })}
                    </Line>
                  )}
                  {waiting.data.total > 0 && (
                    <Line icon={Hand} tone="text-wait" action={<Link to="/approvals" className="link font-medium">{t("approvals.decide")}</Link>}>
                      {t("approvals.waiting", { n: waiting.data.total })}
                      {waiting.data.items[0] && (
                        <span className="text-muted">
                          {" · "}
                          {t("approvals.oldest")} <Ago at={waiting.data.items[0].requested_at} />
                        </span>
                      )}
                    </Line>
                  )}
                  {failed.data.total > 0 && (
                    <Line icon={CircleAlert} tone="text-fail" action={<Link to="/runs" search={{ outcome: "error" }} className="link font-medium">{t("overview.look")}</Link>}>
                      {t("overview.failed", { n: failed.data.total })}
                      <span className="block truncate text-muted">{failed.data.items[0]?.error_payload?.message}</span>
                    </Line>
                  )}
                </ul>
              )
            ) : (
              <Skeleton rows={2} />
            )}
          </Box>
          <Box title={t("overview.now")}>
            <Loaded query={counts} rows={2}>
              {(c) => (
                <dl className="grid grid-cols-3 gap-2 px-4 py-3">
                  <Figure n={c.running} word={t("status.running")} search={{ status: "running" }} />
                  <Figure n={c.created} word={t("status.queued")} search={{ status: "created" }} />
                  <Figure n={c.waiting} word={t("status.waiting")} search={{ status: "waiting" }} />
                </dl>
              )}
            </Loaded>
            <Today />
          </Box>
          {none && <FirstSteps />}
          {!none && (
            <Box title={t("overview.recent")} action={<Link to="/runs" className="link">{t("overview.all")}</Link>}>
              <Loaded query={recent}>
                {(list) => (
                  <ul>
                    {list.items.map((r) => (
                      <li key={r.run_id}>
                        <Link to="/runs/$id" params={{ id: r.run_id }} className="row-link touch grid min-h-8 grid-cols-[9rem_minmax(0,1fr)_auto] items-center gap-2 px-4">
                          <span className="flex min-w-0">
                            <Badge look={lookOfRun(stateOf(r))} />
                          </span>
                          <span className="truncate">
                            {r.agent_id} <span className="mono text-muted">{short(r.run_id)}</span>
                          </span>
                          <span className="text-muted">
                            <Ago at={toMs(r.created_at)} />
                          </span>
                        </Link>
                      </li>
                    ))}
                  </ul>
                )}
              </Loaded>
            </Box>
          )}
          {!none && <Agents />}
        </div>
      </div>
    </Page>
  );
}

/** Today has the figures of the last day, and leads to the page with more. */
function Today() {
  const { t, money, number, span } = useLanguage();
  const all = !useSession()?.user;
  const figure = (metric: "cost_usd" | "error_rate" | "latency_p95_ms") => ({
    queryKey: ["stats", "today", metric],
    queryFn: async ({ signal }: { signal: AbortSignal }) => (await ask(api.GET("/v1/stats/series", { params: { query: { metric, by: "total" as const } }, signal }))).series[0]?.total ?? null,
    enabled: all,
    refetchInterval: 60_000,
  });
  const cost = useQuery(figure("cost_usd"));
  const errors = useQuery(figure("error_rate"));
  const latency = useQuery(figure("latency_p95_ms"));
  if (!all) return null;
  const show = (v: number | null | undefined, f: (v: number) => string) => (v === null || v === undefined ? "–" : f(v));
  return (
    <Link to="/cost" search={{ range: "day" }} className="row-link touch flex min-h-9 flex-wrap items-center gap-x-4 border-t border-line px-4 py-1.5">
      <span className="text-muted">{t("range.day")}</span>
      <span>
        {t("metric.cost_usd")} <span className="mono font-semibold">{show(cost.data, money)}</span>
      </span>
      <span>
        {t("metric.error_rate")} <span className="mono font-semibold">{show(errors.data, (v) => number(v, { style: "percent", maximumFractionDigits: 1 }))}</span>
      </span>
      <span>
        {t("metric.latency_p95_ms")} <span className="mono font-semibold">{show(latency.data, (v) => span(v))}</span>
      </span>
    </Link>
  );
}

function Box({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="panel overflow-hidden">
      <header className="flex items-center justify-between border-b border-line px-4 py-2">
        <h2 className="font-semibold">{title}</h2>
        {action}
      </header>
      {children}
    </section>
  );
}

function Line({ icon: Icon, tone, children, action }: { icon: LucideIcon; tone: string; children: ReactNode; action: ReactNode }) {
  return (
    <li className="flex min-h-11 items-center gap-3 px-4 py-2">
      <Icon aria-hidden className={`size-4 shrink-0 ${tone}`} />
      <span className="min-w-0 flex-1">{children}</span>
      {action}
    </li>
  );
}

function Figure({ n, word, search }: { n: number; word: string; search: { status: string } }) {
  const { number } = useLanguage();
  return (
    <div>
      <dt className="text-muted">{word}</dt>
      <dd>
        <Link to="/runs" search={search} className="text-figure font-semibold tabular-nums hover:underline">
          {number(n)}
        </Link>
      </dd>
    </div>
  );
}

function Agents() {
  const { t } = useLanguage();
  const agents = useQuery(agentsQuery);
  return (
    <Box title={t("overview.agents")}>
      <Loaded query={agents}>
        {(list) => (
          <ul className="max-h-80 overflow-auto" tabIndex={0} aria-label={t("overview.agents")}>
            {list.map((a) => (
              <li key={a.id}>
                <Link to="/threads/-/new" search={{ agent_id: a.id }} className="row-link touch flex min-h-8 items-center gap-2 px-4">
                  <Bot aria-hidden className="size-3.5 shrink-0 text-muted" />
                  <span className="shrink-0 font-medium">{a.id}</span>
                  <span className="truncate text-muted">{a.description}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Box>
  );
}
