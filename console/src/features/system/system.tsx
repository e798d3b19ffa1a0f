import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Download } from "lucide-react";
import type { ReactNode } from "react";
import { api, ask } from "../../api/client";
import { useSession } from "../../api/session";
import { settingsQuery } from "../../api/settings";
import { now } from "../../api/time";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Filter } from "../../ui/filter";
import { Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { save } from "../../ui/save";
import { Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";

const infoQuery = queryOptions({ queryKey: ["system", "info"], queryFn: ({ signal }) => ask(api.GET("/v1/system/info", { signal })), refetchInterval: 30_000 });
const modulesQuery = queryOptions({ queryKey: ["system", "modules"], queryFn: ({ signal }) => ask(api.GET("/v1/system/modules", { signal })) });
const replicasQuery = queryOptions({ queryKey: ["system", "replicas"], queryFn: ({ signal }) => ask(api.GET("/v1/system/replicas", { signal })), refetchInterval: 10_000 });
const diagnosticsQuery = queryOptions({ queryKey: ["config", "diagnostics"], queryFn: ({ signal }) => ask(api.GET("/v1/config/diagnostics", { signal })), refetchInterval: 30_000 });

export interface SystemSearch {
  q?: string;
  only?: string;
}

/** System shows what the server is made of: replicas, settings with where they come from, what is wrong with the configuration. */
export function System() {
  const { t } = useLanguage();
  return (
    <Page
      crumbs={[{ text: t("nav.system") }]}
      actions={
        <Needs ability="govern" silent>
          <Bundle />
        </Needs>
      }
    >
      <Needs ability="govern">
        <div className="min-h-0 flex-1 overflow-auto">
          <div className="flex max-w-6xl flex-col gap-6 p-4">
            <div className="grid items-start gap-6 lg:grid-cols-2">
              <Info />
              <Diagnostics />
            </div>
            <Replicas />
            <Settings />
          </div>
        </div>
      </Needs>
    </Page>
  );
}

/** Bundle downloads what those need who help with a problem. It has no secrets, no prompts and no texts of users. */
function Bundle() {
  const { t } = useLanguage();
  const session = useSession();
  const queries = { info: useQuery(infoQuery), modules: useQuery(modulesQuery), replicas: useQuery(replicasQuery), settings: useQuery(settingsQuery), diagnostics: useQuery(diagnosticsQuery) };
  const ready = Object.values(queries).every((q) => q.data !== undefined || q.isError);
  const download = () => {
    const parts: Record<string, unknown> = Object.fromEntries(Object.entries(queries).map(([name, q]) => [name, q.data ?? { error: q.error?.message }]));
    if (queries.settings.data) parts.settings = { items: queries.settings.data.items.map((s) => (s.secret ? { ...s, value: s.value === "" || s.value === '""' ? s.value : "***" } : s)) };
    const at = new Date(now()).toISOString();
    save(`awaken-support-${at.slice(0, 19).replaceAll(":", "")}.json`, JSON.stringify({ made_at: at, features: session?.features, browser: navigator.userAgent, ...parts }, null, 2), "application/json");
  };
  return (
    <Button disabled={!ready} title={t("system.bundleHint")} onClick={download}>
      <Download aria-hidden className="size-3.5" />
      {t("system.bundle")}
    </Button>
  );
}

function Panel({ title, badge, children }: { title: string; badge?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="panel overflow-hidden">
      <header className="flex min-h-10 flex-wrap items-center gap-3 border-b border-line px-4 py-1.5">
        <h2 className="font-semibold">{title}</h2>
        {badge}
      </header>
      {children}
    </section>
  );
}

function Info() {
  const { t, span, word } = useLanguage();
  const session = useSession();
  const info = useQuery(infoQuery);
  const modules = useQuery(modulesQuery);
  const features = Object.entries(session?.features ?? {});
  return (
    <Panel title={t("system.info")}>
      <Loaded query={info} rows={4}>
        {(i) => (
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1.5 p-4">
            <dt className="text-muted">{t("system.version")}</dt>
            <dd className="mono">{i.version}</dd>
            <dt className="text-muted">{t("system.uptime")}</dt>
            <dd>{span(i.uptime_seconds * 1000)}</dd>
            <dt className="text-muted">{t("system.modules")}</dt>
            <dd className="mono">{modules.data?.modules.join(", ") ?? "–"}</dd>
            <dt className="text-muted">{t("system.features")}</dt>
            <dd className="flex flex-wrap gap-x-3">
              {features.map(([name, on]) => (
                <span key={name} className={on ? "text-ok" : "text-muted"}>
                  {t(on ? "system.featureOn" : "system.featureOff", { name: word(`system.feature.${name}`) ?? name })}
                </span>
              ))}
            </dd>
          </dl>
        )}
      </Loaded>
    </Panel>
  );
}

const pages: Record<string, string> = { "model-pools": "pools" };

function Diagnostics() {
  const { t } = useLanguage();
  const query = useQuery(diagnosticsQuery);
  const n = query.data?.diagnostics.length ?? 0;
  return (
    <Panel title={t("system.diagnostics")} badge={query.data && n > 0 && <span className="text-wait">{t("edit.problems", { n })}</span>}>
      <Loaded query={query} rows={3}>
        {(d) =>
          d.diagnostics.length === 0 ? (
            <p className="px-4 py-3 text-ok">{t("system.healthy")}</p>
          ) : (
            <ul aria-label={t("system.diagnostics")} tabIndex={0} className="max-h-72 divide-y divide-line overflow-auto">
              {d.diagnostics.map((x) => {
                const to: string = `/${pages[x.resource.namespace] ?? x.resource.namespace}/${encodeURIComponent(x.resource.id)}`;
                return (
                  <li key={`${x.code} ${x.resource.namespace}/${x.resource.id} ${x.message}`} className="flex flex-col px-4 py-2">
                    <span className="flex flex-wrap items-baseline gap-x-2">
                      <Link to={to} className="link mono">
                        {x.resource.namespace}/{x.resource.id}
                      </Link>
                      <span className={`mono ${x.severity === "error" ? "text-fail" : "text-wait"}`}>{x.code}</span>
                    </span>
                    <span className="[overflow-wrap:anywhere]">{x.message}</span>
                  </li>
                );
              })}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Replicas() {
  const { t } = useLanguage();
  const query = useQuery(replicasQuery);
  return (
    <Panel title={t("system.replicas")} badge={query.data && <span className="text-muted">{t("system.live", { n: query.data.items.filter((r) => !r.lost).length, version: query.data.config_version })}</span>}>
      <Loaded query={query} rows={2}>
        {(d) => (
          <ul aria-label={t("system.replicas")} className="divide-y divide-line">
            {d.items.map((r) => (
              <li key={r.id} className="grid gap-x-4 px-4 py-2 md:grid-cols-[minmax(8rem,14rem)_8rem_12rem_minmax(0,1fr)_6rem]">
                <span className="truncate">
                  <span className="font-medium">{r.host}</span> <span className="mono text-muted">{r.id.slice(-6)}</span>
                </span>
                <span className="mono truncate" title={t("system.version")}>
                  {r.version}
                </span>
                <span>
                  {t("system.config", { n: r.config_version })} {r.lag > 0 && <span className="text-wait">· {t("system.lag", { n: r.lag })}</span>}
                </span>
                {r.lost ? (
                  <span className="text-fail">
                    {t("system.lost")} <Ago at={r.seen_ms} />
                  </span>
                ) : r.last_error ? (
                  <span className="text-fail [overflow-wrap:anywhere]">
                    {r.last_error} <Ago at={r.last_error_ms} />
                  </span>
                ) : (
                  <span className={r.lag > 0 ? "text-wait" : "text-ok"}>{t(r.lag > 0 ? "system.behind" : "system.upToDate")}</span>
                )}
                <span className="text-muted md:text-right" title={t("system.started")}>
                  <Ago at={r.started_ms} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Panel>
  );
}

const empty = (value: string) => value === "" || value === '""' || value === "[]";

function Settings() {
  const { t } = useLanguage();
  const search: SystemSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const query = useQuery(settingsQuery);
  const set = (change: SystemSearch) => void navigate({ to: "/system", search: (s: SystemSearch) => ({ ...s, ...change }), replace: true });
  const q = (search.q ?? "").toLowerCase();
  const all = query.data?.items ?? [];
  const shown = all.filter((s) => (!q || `${s.name} ${s.doc ?? ""}`.toLowerCase().includes(q)) && (!search.only || s.source !== "default"));
  return (
    <Panel title={t("system.settings")} badge={query.data && <span className="text-muted">{t("system.settingCount", { n: all.length, set: all.filter((s) => s.source !== "default").length })}</span>}>
      <div role="search" aria-label={t("runs.filters")} className="flex items-center gap-4 overflow-x-auto border-b border-line px-4 py-2">
        <Filter label={t("system.search")} value={search.q ?? ""} onChange={(v) => set({ q: v || undefined })} />
        <label className="touch flex min-h-8 items-center gap-2 whitespace-nowrap">
          <input type="checkbox" checked={search.only === "set"} onChange={(e) => set({ only: e.target.checked ? "set" : undefined })} />
          {t("system.onlySet")}
        </label>
      </div>
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <p className="px-4 py-6 text-muted">{t("runs.noMatch")}</p>
          ) : (
            <ul aria-label={t("system.settings")} className="divide-y divide-line">
              {shown.map((s) => (
                <li key={s.name} className="grid gap-x-4 px-4 py-2 md:grid-cols-[16rem_minmax(0,1fr)_12rem]">
                  <span className="mono font-semibold [overflow-wrap:anywhere] md:font-medium">{s.name}</span>
                  <div className="min-w-0">
                    <span className="mono [overflow-wrap:anywhere]">{s.secret ? t(empty(s.value) ? "doc.none" : "secret.stored") : empty(s.value) ? <span className="text-muted">{t("doc.none")}</span> : s.value}</span>
                    {s.doc && <p className="text-dense text-muted [overflow-wrap:anywhere]">{s.doc.replaceAll("`", "")}</p>}
                    {s.unused && <p className="text-dense text-wait">{s.unused}</p>}
                  </div>
                  <span className={`[overflow-wrap:anywhere] ${s.source === "default" ? "text-muted" : "mono text-run"}`}>{s.source === "default" ? t("system.default") : s.source}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}
