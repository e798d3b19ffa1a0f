import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo } from "react";
import { useLanguage } from "../../app/i18n/i18n";
import { usePolling } from "../../live/live";
import { short } from "../../ui/id";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { Badge, lookOfRun } from "../../ui/status";
import { Ago } from "../../ui/time";
import { threadsQuery, type Summary } from "./queries";

const columns = "grid-cols-[minmax(0,2fr)_minmax(0,1fr)_9rem_5rem_4rem]";

/** Threads lists conversations, the most recently active first. */
export function Threads() {
  const { t } = useLanguage();
  const { user_id } = useSearch({ from: "/threads" });
  const navigate = useNavigate();
  const polling = usePolling();
  const phone = usePhone();
  const query = useInfiniteQuery({ ...threadsQuery(user_id ? { user_id } : {}), placeholderData: keepPreviousData, refetchInterval: polling });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const total = query.data?.pages[0]?.total;
  return (
    <Page
      crumbs={[{ text: t("nav.threads") }]}
      badge={total !== undefined && <span className="text-muted">{t("threads.count", { n: total })}</span>}
      actions={
        <Link to="/threads/new" className="touch inline-flex min-h-8 items-center gap-1.5 rounded-md bg-accent px-3 font-medium text-on-accent">
          <Plus aria-hidden className="size-4" />
          {t("threads.new")}
        </Link>
      }
    >
      <Loaded query={query} rows={12}>
        {() =>
          items.length === 0 ? (
            <Empty title={t("threads.empty")}>{t("threads.emptyHint")}</Empty>
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
