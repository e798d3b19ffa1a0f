import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo } from "react";
import { useLanguage, type Key } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { short } from "../../ui/id";
import { Card, chosen, List, ListFilters, type By, type Column } from "../../ui/list";
import { Page } from "../../ui/page";
import { useRunFilters } from "../../ui/runfilter";
import { Empty, Loaded } from "../../ui/state";
import { Badge, lookOfRun } from "../../ui/status";
import { Ago } from "../../ui/time";
import { foundQuery, threadsQuery, type Summary } from "./queries";
import type { ThreadSearch } from "./search";

const states: [string, Key][] = [
  ["running", "status.running"],
  ["waiting", "status.waiting"],
  ["done", "status.ended"],
];

/** Threads lists conversations, the most recently active first. */
export function Threads() {
  const { t, number } = useLanguage();
  const search = useSearch({ from: "/threads" });
  const { user_id, q, root, agent_id, status } = search;
  const navigate = useNavigate();
  const polling = usePolling();
  const query = useInfiniteQuery({ ...threadsQuery({ ...(user_id && { user_id }), ...(root && { root: true }), ...(agent_id && { agent_id }), ...(status && { status: status as "done" }) }), placeholderData: keepPreviousData, refetchInterval: polling });
  const found = useQuery({ ...foundQuery(q ?? ""), enabled: Boolean(q), placeholderData: keepPreviousData });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const total = query.data?.pages[0]?.total;
  const { agent } = useRunFilters();
  const by: By<ThreadSearch>[] = [agent, { name: "status", word: "threads.latest", options: states.map(([value, word]) => ({ value, text: t(word) })) }, { name: "user_id", word: "threads.user" }, { name: "root", word: "threads.root", box: true }];
  const name = (s: Summary) => (
    <Link to="/threads/$id" params={{ id: s.id }} className={`link truncate ${s.title ? "" : "mono"}`} title={s.id}>
      {s.title || short(s.id)}
    </Link>
  );
  const state = ({ latest_run: run }: Summary) => run && <Badge look={lookOfRun({ status: run.status as "done", outcome: run.outcome, reason: run.waiting_reason })} />;
  const columns: Column<Summary>[] = [
    { word: "threads.thread", width: "minmax(0,2fr)", look: "flex", cell: name },
    { word: "runs.agent", width: "minmax(0,1fr)", cell: (s) => s.agent_id },
    { word: "threads.latest", width: "9rem", look: "flex", cell: state },
    { word: "threads.messages", width: "5rem", right: true, look: "mono", cell: (s) => number(s.message_count) },
    { word: "runs.age", width: "4rem", right: true, look: "text-muted", cell: (s) => <Ago at={s.updated_at} /> },
  ];
  return (
    <Page
      crumbs={[{ text: t("nav.threads") }]}
      badge={total !== undefined && <span className="text-muted">{t("threads.count", { n: total })}</span>}
      actions={
        <Link to="/threads/-/new" className="touch inline-flex min-h-8 items-center gap-1.5 rounded-md bg-accent px-3 font-medium text-on-accent">
          <Plus aria-hidden className="size-4" />
          {t("threads.new")}
        </Link>
      }
    >
      <ListFilters to="/threads" search={search} find="threads.search" by={q ? [] : by} />
      {q ? (
        <Loaded query={found} rows={6}>
          {(f) =>
            f.items.length === 0 ? (
              <Empty title={t("runs.noMatch")}>{t("threads.noMatchHint")}</Empty>
            ) : (
              <ul aria-label={t("threads.found")} className="min-h-0 flex-1 overflow-auto">
                {f.items.map((x) => (
                  <li key={x.id}>
                    <Link to="/threads/$id" params={{ id: x.id }} className="row-link touch flex min-h-9 items-center gap-3 border-b border-line px-4">
                      <span className="link truncate">{x.title || short(x.id)}</span>
                      <span className="mono truncate text-muted">{short(x.id)}</span>
                    </Link>
                  </li>
                ))}
                {f.partial && <li className="px-4 py-2 text-dense text-muted">{t("threads.partial")}</li>}
              </ul>
            )
          }
        </Loaded>
      ) : (
        <List
          query={query}
          items={items}
          keyOf={(s) => s.id}
          label={t("nav.threads")}
          columns={columns}
          heights={[33, 68]}
          open={(s) => void navigate({ to: "/threads/$id", params: { id: s.id } })}
          filtered={chosen(search) > 0}
          empty={{ title: "threads.empty", hint: t("threads.emptyHint") }}
          card={(s) => (
            <Card
              at={s.updated_at}
              below={
                <>
                  {state(s)}
                  <span className="truncate">{s.agent_id}</span>
                </>
              }
            >
              {name(s)}
            </Card>
          )}
        />
      )}
    </Page>
  );
}
