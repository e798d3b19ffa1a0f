import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Download, ScrollText, X } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import { useMay, useSession } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Choice, Filter } from "../../ui/filter";
import { CopyButton, short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { TimeChoice, useTimes } from "../../ui/recent";
import { Rows } from "../../ui/rows";
import { save } from "../../ui/save";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { changesOf } from "./diff";

type Event = components["schemas"]["ConfigAuditEvent"];

export interface AuditSearch {
  actor?: string;
  resource?: string;
  action?: string;
  range?: string;
  since?: string;
  until?: string;
}

const actions = ["create", "update", "delete", "publish", "rollback", "restore", "approve", "reject", "settle", "act", "read", "forget", "seed_apply"];

/** Audit lists who changed what, the newest first, with what was before and after. */
export function Audit() {
  const { t } = useLanguage();
  const features = useSession()?.features;
  return (
    <Page crumbs={[{ text: t("nav.audit") }]}>
      <Needs ability="govern">
        {features?.audit === false ? (
          <Empty title={t("state.notInThisServer")} icon={ScrollText}>
            {t("audit.absent")}
          </Empty>
        ) : (
          <Contents />
        )}
      </Needs>
    </Page>
  );
}

function Contents() {
  const { t } = useLanguage();
  const search: AuditSearch = useSearch({ strict: false });
  const { event: id } = useParams({ strict: false }) as { event?: string };
  const navigate = useNavigate();
  const phone = usePhone();
  const polling = usePolling();
  const { range: _, ...named } = search;
  const filter = { ...named, ...useTimes(search) };
  const query = useInfiniteQuery({
    queryKey: ["config", "audit", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/audit-log", { params: { query: { ...filter, limit: 100, cursor: pageParam || undefined } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: polling || 30_000,
  });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const open = items.find((e) => e.id === id);
  const { hasNextPage, isFetching, fetchNextPage } = query;
  useEffect(() => {
    if (id && !open && hasNextPage && !isFetching) void fetchNextPage(); // an address names an event of a later page
  }, [id, open, hasNextPage, isFetching, fetchNextPage]);
  const set = (change: AuditSearch) => void navigate({ to: "/audit", search: (s: AuditSearch) => ({ ...s, ...change }), replace: true });
  const filtered = Object.keys(search).length > 0;
  const csv = () => {
    const cell = (v: unknown) => `"${(typeof v === "string" ? v : (JSON.stringify(v) ?? "")).replaceAll('"', '""').replace(/^([=+\-@])/, "'$1")}"`;
    const rows = items.map((e) => [e.ts, e.actor, e.action, e.resource, e.version ?? "", e.request_id ?? "", e.error ?? "", e.before ?? "", e.after ?? ""]);
    save("audit.csv", [["ts", "actor", "action", "resource", "version", "request_id", "error", "before", "after"], ...rows].map((r) => r.map(cell).join(",")).join("\n") + "\n", "text/csv");
  };
  return (
    <>
      <div role="search" aria-label={t("runs.filters")} className="flex flex-wrap gap-2 border-b border-line px-4 py-2">
        <Filter value={search.resource ?? ""} onChange={(v) => set({ resource: v || undefined })} label={t("audit.resource")} />
        <Filter value={search.actor ?? ""} onChange={(v) => set({ actor: v || undefined })} label={t("audit.actor")} />
        <Choice label={t("audit.action")} value={search.action ?? ""} onChange={(v) => set({ action: v || undefined })} options={[...new Set([...actions, ...items.map((e) => e.action)])].map((a) => ({ value: a, text: a }))} />
        <TimeChoice times={search} set={set} />
        {filtered && (
          <button type="button" className="touch inline-flex min-h-8 items-center gap-1 px-2 text-muted hover:text-text" onClick={() => void navigate({ to: "/audit", search: {}, replace: true })}>
            <X aria-hidden className="size-3.5" />
            {t("filter.clear")}
          </button>
        )}
        <Button className="ml-auto" why={items.length === 0 ? t("why.emptyList") : undefined} onClick={csv}>
          <Download aria-hidden className="size-3.5" />
          CSV
        </Button>
      </div>
      <Loaded query={query} rows={12}>
        {() =>
          items.length === 0 ? (
            <Empty title={t(filtered ? "runs.noMatch" : "audit.empty")} icon={ScrollText}>
              {t(filtered ? "runs.noMatchHint" : "audit.emptyHint")}
            </Empty>
          ) : (
            <div className="flex min-h-0 flex-1 max-lg:flex-col">
              <Rows
                items={items}
                keyOf={(e) => e.id}
                height={phone ? 68 : 36}
                label={t("nav.audit")}
                more={hasNextPage && !isFetching ? () => void fetchNextPage() : undefined}
                open={(e) => void navigate({ to: "/audit/$event", params: { event: e.id }, search, replace: true })}
                row={(e) => <Line event={e} search={search} phone={phone} selected={e.id === id} />}
              />
              {id && (
                <aside aria-label={t("run.detail")} className="w-full shrink-0 overflow-auto border-l border-line bg-panel max-lg:max-h-[60%] max-lg:border-t max-lg:border-l-0 lg:w-[28rem]">
                  {open ? <Detail key={open.id} event={open} /> : !hasNextPage && <Empty title={t("state.notThere")} />}
                </aside>
              )}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

/** who returns the name in an actor such as key_1/ann or system:seed. */
const who = (actor: string) => actor.replace(/^[a-z]+:/, "").replace(/^key_[^/]*\/(?=.)/, "");

/** named shortens the ids in the name of a resource. */
const named = (resource: string) => resource.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => short(id));

function Line({ event: e, search, phone, selected }: { event: Event; search: AuditSearch; phone: boolean; selected: boolean }) {
  const name = (
    <Link to="/audit/$event" params={{ event: e.id }} search={search} replace className="link truncate" title={e.resource}>
      {named(e.resource)}
    </Link>
  );
  if (phone) {
    return (
      <div className="flex h-full flex-col justify-center gap-0.5 px-4">
        <div className="flex items-center gap-2">
          <span className="font-medium">{e.action}</span>
          {name}
          <span className="ml-auto text-muted">
            <Ago at={e.ts} />
          </span>
        </div>
        <span className={`truncate ${e.error ? "text-fail" : "text-muted"}`}>{e.error ?? who(e.actor)}</span>
      </div>
    );
  }
  return (
    <div className={`grid h-full grid-cols-[7rem_minmax(0,2fr)_minmax(0,1.4fr)_4rem] items-center gap-3 px-4 ${selected ? "bg-sunken" : ""}`}>
      <span className={`truncate font-medium ${e.error ? "text-fail" : ""}`}>{e.action}</span>
      {name}
      <span className="truncate text-muted" title={e.actor}>
        {who(e.actor)}
      </span>
      <span className="text-right text-muted">
        <Ago at={e.ts} />
      </span>
    </div>
  );
}

function Detail({ event: e }: { event: Event }) {
  const { t, date } = useLanguage();
  const navigate = useNavigate();
  const changes = useMemo(() => (e.before !== undefined && e.after !== undefined ? changesOf(e.before, e.after) : undefined), [e]);
  const facts: [string, string | undefined][] = [
    [t("audit.actor"), e.actor],
    [t("audit.time"), date(Date.parse(e.ts))],
    [t("audit.version"), e.version?.toString()],
    [t("audit.ip"), e.ip],
    [t("audit.request"), e.request_id],
    [t("audit.restoredFrom"), e.restored_from],
  ];
  const run = /^runs\/([^/]+)/.exec(e.resource)?.[1];
  return (
    <>
      <div className="sticky top-0 flex items-center gap-2 border-b border-line bg-panel px-4 py-2">
        <h2 className="min-w-0 truncate font-semibold" title={e.resource}>
          {e.action} {named(e.resource)}
        </h2>
        <CopyButton text={e.id} label={t("action.copyId")} />
        <button type="button" aria-label={t("action.close")} className="touch ml-auto inline-flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:bg-sunken" onClick={() => void navigate({ to: "/audit", search: (s: AuditSearch) => s, replace: true })}>
          <X aria-hidden className="size-4" />
        </button>
      </div>
      <div className="flex flex-col gap-4 p-4">
        {e.error && <p className="text-fail [overflow-wrap:anywhere]">{e.error}</p>}
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
          {facts.map(
            ([k, v]) =>
              v && (
                <div key={k} className="contents">
                  <dt className="text-muted">{k}</dt>
                  <dd className="[overflow-wrap:anywhere]">{v}</dd>
                </div>
              ),
          )}
        </dl>
        {run && (
          <Link to="/runs/$id" params={{ id: run }} className="link">
            {t("approvals.toRun")} <span className="mono">{short(run)}</span>
          </Link>
        )}
        {changes && (
          <section aria-label={t("audit.changes")}>
            <h3 className="mb-1 text-dense font-semibold text-muted">{t("audit.changes")}</h3>
            {changes.length === 0 && <p className="text-muted">{t("audit.same")}</p>}
            <ul className="flex flex-col gap-2">
              {changes.map((c) => (
                <li key={c.path}>
                  <p className="mono font-semibold">{c.path || "·"}</p>
                  {c.before !== undefined && <p className="mono border-l-2 border-fail pl-2 [overflow-wrap:anywhere] whitespace-pre-wrap">− {textOf(c.before)}</p>}
                  {c.after !== undefined && <p className="mono border-l-2 border-ok pl-2 [overflow-wrap:anywhere] whitespace-pre-wrap">+ {textOf(c.after)}</p>}
                </li>
              ))}
            </ul>
          </section>
        )}
        {!changes && e.after !== undefined && <Json value={e.after} label={t("audit.after")} />}
        {!changes && e.after === undefined && e.before !== undefined && <Json value={e.before} label={t("audit.before")} />}
        <Restore event={e} />
      </div>
    </>
  );
}

const textOf = (v: unknown) => (typeof v === "string" ? v : (JSON.stringify(v, null, 1) ?? ""));

const documents = /^(agents|models|providers|mcp-servers|a2a-servers|model-pools|skills|tools)\/([^/]+)$/;

/** Restore makes a document again what it was after an event. */
function Restore({ event: e }: { event: Event }) {
  const { t } = useLanguage();
  const may = useMay("config");
  const client = useQueryClient();
  const [asks, setAsks] = useState(false);
  const found = documents.exec(e.resource);
  const restore = useMutation({
    mutationFn: () => api.POST("/v1/config/{namespace}/{id}/restore", { params: { path: { namespace: found![1]!, id: found![2]! } }, body: { version: e.id } } as never),
    onSettled: () => client.invalidateQueries({ queryKey: ["config"] }),
  });
  if (!found || e.error || e.after === undefined) return null;
  return (
    <div className="flex flex-col gap-1">
      <div>
        <Button why={may ? undefined : t("needs.govern")} disabled={restore.isPending} onClick={() => setAsks(true)}>
          {t("audit.restore")}
        </Button>
      </div>
      <p role="status" className="[overflow-wrap:anywhere]">
        {restore.isSuccess && <span className="text-ok">{t("audit.restored")}</span>}
        {restore.error && <span className="text-fail">{restore.error.message}</span>}
      </p>
      <Confirm open={asks} onOpenChange={setAsks} title={t("audit.restoreTitle", { resource: e.resource })} action={t("audit.restore")} onConfirm={() => restore.mutate()}>
        <p>{t("audit.restoreHint")}</p>
      </Confirm>
    </div>
  );
}
