import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { GitBranch, Rocket, Undo2 } from "lucide-react";
import { useState, type ReactNode } from "react";
import { api, ask } from "../../api/client";
import { call, draftsQuery } from "../../api/config";
import type { components } from "../../api/schema";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Gates, gatesOf, overriding, Refused } from "../../ui/gate";
import { Overlay } from "../../ui/overlay";
import { Page } from "../../ui/page";
import { useWhy } from "../../ui/savebar";
import { Empty, Failure, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { CanaryPanel } from "./canary";
import { DiffView } from "./diff";

export type Version = components["schemas"]["VersionView"];

const versionsQuery = infiniteQueryOptions({
  queryKey: ["versions", "list"],
  queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/registry/versions", { params: { query: { limit: 30, before: pageParam || undefined } as never }, signal })),
  initialPageParam: 0,
  getNextPageParam: (page) => page.next_before,
});

export const canaryQuery = queryOptions({ queryKey: ["versions", "canary"], queryFn: ({ signal }) => ask(api.GET("/v1/registry/canary", { signal })) });

/** Versions lists what was published, the canary, and what waits to be published. */
export function Versions() {
  const { t } = useLanguage();
  const config = useMay("config");
  const why = useWhy();
  const { n } = useParams({ strict: false }) as { n?: string };
  if (!config) {
    return (
      <Page crumbs={[{ text: t("nav.versions") }]}>
        <Empty title={t("state.noPermission")}>{why}</Empty>
      </Page>
    );
  }
  return n ? <One n={n} /> : <All />;
}

function All() {
  const { t } = useLanguage();
  const query = useInfiniteQuery(versionsQuery);
  const canary = useQuery({ ...canaryQuery, refetchInterval: (q) => (q.state.data?.canary ? 5000 : false) });
  const live = query.data?.pages[0]?.live;
  const items = query.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <Page crumbs={[{ text: t("nav.versions") }]} badge={live !== undefined && <span className="text-muted">{t("versions.live", { n: live })}</span>}>
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-4 p-4">
          {canary.data?.canary && <CanaryPanel report={canary.data} />}
          <Drafts />
          <section aria-label={t("versions.published")} className="panel overflow-hidden">
            <h2 className="border-b border-line px-4 py-2 font-semibold">{t("versions.published")}</h2>
            <Loaded query={query}>
              {() =>
                items.length === 0 ? (
                  <Empty title={t("versions.empty")} icon={GitBranch}>
                    {t("versions.emptyHint")}
                  </Empty>
                ) : (
                  <ul aria-label={t("versions.published")} className="divide-y divide-line">
                    {items.map((v) => (
                      <Row key={v.number} version={v} live={live ?? 0} canary={canary.data?.canary?.version} />
                    ))}
                    {query.hasNextPage && (
                      <li className="p-3 text-center">
                        <button type="button" className="link" onClick={() => void query.fetchNextPage()}>
                          {t("action.more")}
                        </button>
                      </li>
                    )}
                  </ul>
                )
              }
            </Loaded>
          </section>
        </div>
      </div>
    </Page>
  );
}

function Row({ version: v, live, canary }: { version: Version; live: number; canary?: number }) {
  const { t } = useLanguage();
  const names = v.entries.map((e) => `${e.namespace}/${e.id}`);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <Link to="/versions/$n" params={{ n: String(v.number) }} className="mono w-10 font-medium hover:underline">
        v{v.number}
      </Link>
      {v.number === live && <span className="rounded-sm border border-ok px-1 text-caption text-ok">{t("versions.isLive")}</span>}
      {v.number === canary && <span className="rounded-sm border border-run px-1 text-caption text-run">{t("versions.isCanary")}</span>}
      <span className="min-w-0 flex-1 basis-52">
        <span className="block truncate">{v.note || <span className="text-muted">{t("versions.documents", { n: names.length })}</span>}</span>
        <span className="mono block truncate text-muted" title={names.join(", ")}>
          {names.slice(0, 4).join(", ")}
          {names.length > 4 && " …"}
        </span>
      </span>
      <span className="max-w-48 truncate text-muted" title={v.actor}>
        {v.actor.split("/").at(-1)}
      </span>
      {v.open_runs > 0 && (
        <Link to="/runs" search={{ version: String(v.number) }} className="link">
          {t("versions.openRuns", { n: v.open_runs })}
        </Link>
      )}
      <span className="text-muted">
        <Ago at={v.at} />
      </span>
      {v.number < live && v.number !== canary && <Rollback to={v.number} live={live} />}
    </li>
  );
}

/** Rollback shows what would change before it publishes an old version again. */
function Rollback({ to, live }: { to: number; live: number }) {
  const { t } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const go = useMutation({
    mutationFn: () => call("POST", `/v1/registry/versions/${to}/rollback`),
    onSuccess: () => {
      setOpen(false);
      for (const queryKey of [["versions"], ["config"], ["agents"]]) void client.invalidateQueries({ queryKey });
    },
  });
  return (
    <>
      <Button kind="quiet" why={why} onClick={() => setOpen(true)} aria-label={t("versions.rollbackTo", { n: to })}>
        <Undo2 aria-hidden className="size-3.5" />
        {t("versions.rollback")}
      </Button>
      <Overlay open={open} onOpenChange={setOpen} title={t("versions.rollbackTo", { n: to })} className="w-[min(860px,calc(100vw-24px))]! p-4">
        <h2 className="mb-1 text-title font-semibold">{t("versions.rollbackTo", { n: to })}</h2>
        <p className="mb-3 text-muted">{t("versions.rollbackHint", { live, n: to })}</p>
        {open && <DiffView from="live" to={String(to)} />}
        {go.error && (
          <p role="alert" className="mt-2 text-fail [overflow-wrap:anywhere]">
            {go.error.message}
          </p>
        )}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>{t("action.cancel")}</Button>
          <Button kind="danger" disabled={go.isPending} onClick={() => go.mutate()}>
            {t("versions.rollbackGo", { n: to })}
          </Button>
        </div>
      </Overlay>
    </>
  );
}

const pageOf: Record<string, (id: string) => ReactNode> = {
  agents: (id) => (
    <Link to="/agents/$id/$tab" params={{ id, tab: "basics" }} className="mono hover:underline">
      agents/{id}
    </Link>
  ),
};

/** Drafts lists what is saved and not published. */
function Drafts() {
  const { t } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const drafts = useQuery(draftsQuery);
  const [open, setOpen] = useState(false);
  const [note, setNote] = useState("");
  const done = () => {
    for (const queryKey of [["versions"], ["config"], ["agents"]]) void client.invalidateQueries({ queryKey });
  };
  const publish = useMutation({
    mutationFn: (override?: string) => call("POST", "/v1/registry/publish", note.trim() ? { note: note.trim() } : {}, overriding(override)),
    onSuccess: () => {
      setOpen(false);
      setNote("");
      done();
    },
  });
  const discard = useMutation({ mutationFn: (d: { namespace: string; id: string }) => call("DELETE", `/v1/registry/drafts/${d.namespace}/${encodeURIComponent(d.id)}`), onSettled: done });
  const list = drafts.data?.items ?? [];
  const gates = gatesOf(publish.error);
  if (drafts.isError) return <Failure error={drafts.error} retry={() => void drafts.refetch()} />;
  if (list.length === 0) return null;
  return (
    <section aria-label={t("versions.drafts")} className="panel overflow-hidden">
      <header className="flex items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="font-semibold">
          {t("versions.drafts")} <span className="font-normal text-muted">{list.length}</span>
        </h2>
        <Button kind="primary" className="ml-auto" why={why} onClick={() => setOpen(true)}>
          <Rocket aria-hidden className="size-3.5" />
          {t("versions.publishAll", { n: list.length })}
        </Button>
      </header>
      <ul aria-label={t("versions.drafts")} className="divide-y divide-line">
        {list.map((d) => (
          <li key={`${d.namespace}/${d.id}`} className="flex min-h-10 items-center gap-3 px-4">
            <span className="min-w-0 flex-1 truncate">{pageOf[d.namespace]?.(d.id) ?? <span className="mono">{`${d.namespace}/${d.id}`}</span>}</span>
            <span className="truncate text-muted max-sm:hidden">{d.meta.updated_by?.split("/").at(-1)}</span>
            <Ago at={d.meta.updated_at} />
            <Button kind="quiet" why={why} disabled={discard.isPending} aria-label={t("versions.discard", { id: `${d.namespace}/${d.id}` })} onClick={() => discard.mutate(d)}>
              {t("edit.discardDraft")}
            </Button>
          </li>
        ))}
      </ul>
      <Gates key={list.map((d) => `${d.namespace}/${d.id} ${d.meta.updated_at}`).join()} version="draft" />
      <Overlay open={open} onOpenChange={setOpen} title={t("versions.publishAll", { n: list.length })} className="w-[min(860px,calc(100vw-24px))]! p-4">
        <h2 className="mb-3 text-title font-semibold">{t("versions.publishAll", { n: list.length })}</h2>
        {open && <DiffView from="live" to="draft" />}
        <label className="mt-3 flex flex-col gap-1 font-medium">
          {t("edit.note")}
          <input className="field font-normal" value={note} onChange={(e) => setNote(e.target.value)} placeholder={t("edit.noteHint")} />
        </label>
        {gates && (
          <div className="mt-3">
            <Refused gates={gates} pending={publish.isPending} override={(reason) => publish.mutate(reason)} />
          </div>
        )}
        {publish.error && !gates && (
          <p role="alert" className="mt-2 text-fail [overflow-wrap:anywhere]">
            {publish.error.message}
          </p>
        )}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>{t("action.cancel")}</Button>
          <Button kind="primary" disabled={publish.isPending} onClick={() => publish.mutate(undefined)}>
            {t("edit.publishNow")}
          </Button>
        </div>
      </Overlay>
    </section>
  );
}

/** One shows a version: what it changed, or how two differ (a...b). */
function One({ n }: { n: string }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const pair = /^(\w+)\.\.\.(\w+)$/.exec(n);
  const number = Number(n);
  const version = useQuery({ queryKey: ["versions", "one", n], queryFn: ({ signal }) => ask(api.GET("/v1/registry/versions/{version}", { params: { path: { version: number } as never }, signal })), enabled: !pair });
  const crumbs = [{ text: t("nav.versions"), to: "/versions" }, { text: pair ? `${pair[1]} … ${pair[2]}` : `v${n}` }];
  if (!pair && version.isError) {
    return (
      <Page crumbs={crumbs}>
        <Failure error={version.error} retry={() => void version.refetch()} />
      </Page>
    );
  }
  const v = version.data as Version | undefined;
  const from = pair ? pair[1]! : String(v?.base ?? number - 1);
  const to = pair ? pair[2]! : n;
  return (
    <Page crumbs={crumbs} badge={v?.note && <span className="text-muted">{v.note}</span>} actions={!pair && <Button onClick={() => void navigate({ to: "/versions/$n", params: { n: `${n}...live` } })}>{t("versions.compareLive")}</Button>}>
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-4 p-4">
          {v && (
            <p className="text-muted">
              {v.actor} · <Ago at={v.at} />
              {v.open_runs > 0 && (
                <>
                  {" · "}
                  <Link to="/runs" search={{ version: String(v.number) }} className="link">
                    {t("versions.openRuns", { n: v.open_runs })}
                  </Link>
                </>
              )}
            </p>
          )}
          {(pair || v) && (from !== "0" ? <DiffView from={from} to={to} /> : <Empty title={t("versions.first")}>{t("versions.documents", { n: v?.entries.length ?? 0 })}</Empty>)}
        </div>
      </div>
    </Page>
  );
}
