import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo } from "react";
import { agentsQuery } from "../../api/agents";
import { useLanguage, type Key } from "../../app/i18n/i18n";
import type { ThreadSearch } from "../../app/router";
import { usePolling } from "../../live/live";
import { Choice, Filter, Filters } from "../../ui/filter";
import { short } from "../../ui/id";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { Badge, lookOfRun } from "../../ui/status";
import { Ago } from "../../ui/time";
import { foundQuery, threadsQuery, type Summary } from "./queries";

const states: [string, Key][] = [
  ["running", "status.running"],
  ["waiting", "status.waiting"],
  ["done", "status.ended"],
];

const columns = "grid-cols-[minmax(0,2fr)_minmax(0,1fr)_9rem_5rem_4rem]";

/** Threads lists conversations, the most recently active first. */
export function Threads() {
  const { t } = useLanguage();
  const { user_id, q, root, agent_id, status } = useSearch({ from: "/threads" });
  const navigate = useNavigate();
  const polling = usePolling();
  const phone = usePhone();
  const query = useInfiniteQuery({ ...threadsQuery({ ...(user_id && { user_id }), ...(root && { root: true }), ...(agent_id && { agent_id }), ...(status && { status: status as "done" }) }), placeholderData: keepPreviousData, refetchInterval: polling });
  const found = useQuery({ ...foundQuery(q ?? ""), enabled: Boolean(q), placeholderData: keepPreviousData });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const total = query.data?.pages[0]?.total;
  const agents = useQuery(agentsQuery);
  const set = (change: ThreadSearch) => void navigate({ to: "/threads", search: (s: ThreadSearch) => ({ ...s, ...change }), replace: true });
  const filtered = Boolean(user_id || root || agent_id || status);
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
      <Filters find={<Filter value={q ?? ""} onChange={(v) => set({ q: v || undefined })} label={t("threads.search")} />} active={[user_id, root, agent_id, status].filter(Boolean).length} clear={() => set({ user_id: undefined, root: undefined, agent_id: undefined, status: undefined })}>
        {!q && (
          <>
            <Choice label={t("runs.agent")} value={agent_id ?? ""} onChange={(v) => set({ agent_id: v || undefined })} options={(agents.data ?? []).map((a) => ({ value: a.id, text: a.id }))} />
            <Choice label={t("threads.latest")} value={status ?? ""} onChange={(v) => set({ status: v || undefined })} options={states.map(([value, word]) => ({ value, text: t(word) }))} />
            <Filter value={user_id ?? ""} onChange={(v) => set({ user_id: v || undefined })} label={t("threads.user")} />
            <label className="touch inline-flex min-h-8 items-center gap-2 whitespace-nowrap">
              <input type="checkbox" checked={root !== undefined} onChange={(e) => set({ root: e.target.checked ? "true" : undefined })} />
              {t("threads.root")}
            </label>
          </>
        )}
      </Filters>
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
      <Loaded query={query} rows={12}>
        {() =>
          items.length === 0 ? (
            <Empty title={t(filtered ? "runs.noMatch" : "threads.empty")}>{t(filtered ? "runs.noMatchHint" : "threads.emptyHint")}</Empty>
          ) : (
            <>
              {!phone && (
                <div aria-hidden className={`grid ${columns} gap-3 border-b border-line px-4 py-1 text-caption text-muted`}>
                  <span>{t("threads.thread")}</span>
                  <span>{t("runs.agent")}</span>
                  <span>{t("threads.latest")}</span>
                  <span className="text-right">{t("threads.messages")}</span>
                  <span className="text-right">{t("runs.age")}</span>
                </div>
              )}
              <Rows
                items={items}
                keyOf={(s) => s.id}
                height={phone ? 68 : 33}
                label={t("nav.threads")}
                more={query.hasNextPage && !query.isFetching ? () => void query.fetchNextPage() : undefined}
                open={(s) => void navigate({ to: "/threads/$id", params: { id: s.id } })}
                row={(s) => <ThreadRow thread={s} phone={phone} />}
              />
            </>
          )
        }
      </Loaded>
      )}
    </Page>
  );
}

function ThreadRow({ thread, phone }: { thread: Summary; phone: boolean }) {
  const { number } = useLanguage();
  const run = thread.latest_run;
  const name = (
    <Link to="/threads/$id" params={{ id: thread.id }} className={`link truncate ${thread.title ? "" : "mono"}`} title={thread.id}>
      {thread.title || short(thread.id)}
    </Link>
  );
  const state = run && <Badge look={lookOfRun({ status: run.status as "done", outcome: run.outcome, reason: run.waiting_reason })} />;
  if (phone) {
    return (
      <div className="flex h-full flex-col justify-center gap-1 px-4">
        <div className="flex items-center gap-2">
          {name}
          <span className="ml-auto text-muted">
            <Ago at={thread.updated_at} />
          </span>
        </div>
        <div className="flex gap-2 text-muted">
          {state}
          <span className="truncate">{thread.agent_id}</span>
        </div>
      </div>
    );
  }
  return (
    <div className={`grid h-full ${columns} items-center gap-3 px-4`}>
      {name}
      <span className="truncate">{thread.agent_id}</span>
      <span className="flex min-w-0">{state}</span>
      <span className="mono text-right">{number(thread.message_count)}</span>
      <span className="text-right text-muted">
        <Ago at={thread.updated_at} />
      </span>
    </div>
  );
}
