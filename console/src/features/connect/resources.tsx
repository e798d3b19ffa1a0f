import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Pencil, Plus } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { capabilitiesQuery, documentsQuery, liveQuery, metaQuery, schemaQuery, type Doc, type Meta, type Namespace } from "../../api/config";
import { useMay } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { DocForm, Problems, type Schema } from "../../ui/docform";
import { useEditing } from "../../ui/editing";
import { Filter } from "../../ui/filter";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Raw } from "../../ui/raw";
import { Rows } from "../../ui/rows";
import { Guard, RemoveButton, SaveBar, tell, useTold, useWhy } from "../../ui/savebar";
import { Empty, Failure, Loaded, Skeleton } from "../../ui/state";
import { Ago } from "../../ui/time";
import { UsedBy } from "../../ui/usedby";
import { Warnings } from "../../ui/warnings";
import { A2aPanel, A2aState } from "./a2a";
import { ProviderLimits } from "./limits";
import { McpPanel, McpState, withIssuer } from "./mcp";
import { Members } from "./members";
import { ModelHealth, ProviderTest } from "./models";

interface Kind {
  ns: Namespace;
  path: "/providers" | "/models" | "/pools" | "/mcp-servers" | "/a2a-servers" | "/skills";
  word: Key;
  /** The fields in the order of a form; others follow. */
  first: string[];
  fresh: Doc;
  says: (doc: Doc) => string;
}

const kinds: Record<string, Kind> = {
  providers: { ns: "providers", path: "/providers", word: "nav.providers", first: ["id", "adapter", "api_key", "base_url", "timeout_secs"], fresh: { id: "", adapter: "" }, says: (d) => String(d.adapter ?? "") },
  models: { ns: "models", path: "/models", word: "nav.models", first: ["id", "provider_id", "upstream_model", "context_window", "max_output_tokens", "input_token_price_per_million_usd", "output_token_price_per_million_usd"], fresh: { id: "", provider_id: "", upstream_model: "" }, says: (d) => `${String(d.provider_id)} · ${String(d.upstream_model)}` },
  pools: { ns: "model-pools", path: "/pools", word: "nav.pools", first: ["id", "members"], fresh: { id: "", members: [{ model_id: "", role: "member" }] }, says: (d) => ((d.members as { model_id: string }[] | null) ?? []).map((m) => m.model_id).join(", ") },
  mcp: { ns: "mcp-servers", path: "/mcp-servers", word: "nav.mcp", first: ["id", "transport", "url", "command", "args", "timeout_secs", "auth"], fresh: { id: "", transport: "http" }, says: (d) => String(d.url ?? [d.command, ...((d.args as string[] | undefined) ?? [])].filter(Boolean).join(" ")) },
  a2a: { ns: "a2a-servers", path: "/a2a-servers", word: "nav.a2a", first: ["id", "base_url", "target", "timeout_ms", "auth", "options"], fresh: { id: "", base_url: "" }, says: (d) => [d.base_url, d.target].filter(Boolean).join(" · ") },
  skills: { ns: "skills", path: "/skills", word: "nav.skills", first: ["id", "name", "description", "when_to_use", "instructions_md", "allowed_tools", "context"], fresh: { id: "", name: "", description: "", instructions_md: "" }, says: (d) => String(d.description ?? "") },
};

export const Providers = () => <List kind={kinds.providers!} />;
export const ProviderPage = () => <One kind={kinds.providers!} />;
export const Models = () => <List kind={kinds.models!} />;
export const ModelPage = () => <One kind={kinds.models!} />;
export const Pools = () => <List kind={kinds.pools!} />;
export const PoolPage = () => <One kind={kinds.pools!} />;
export const McpServers = () => <List kind={kinds.mcp!} />;
export const McpServerPage = () => <One kind={kinds.mcp!} />;
export const A2aServers = () => <List kind={kinds.a2a!} />;
export const A2aServerPage = () => <One kind={kinds.a2a!} />;
export const Skills = () => <List kind={kinds.skills!} />;
export const SkillPage = () => <One kind={kinds.skills!} />;

function Denied({ kind }: { kind: Kind }) {
  const { t } = useLanguage();
  const why = useWhy();
  return (
    <Page crumbs={[{ text: t(kind.word) }]}>
      <Empty title={t("state.noPermission")}>{why}</Empty>
    </Page>
  );
}

/** List lists the documents of a kind, with what matters of each. */
function List({ kind }: { kind: Kind }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const phone = usePhone();
  const config = useMay("config");
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const query = useQuery({ ...documentsQuery(kind.ns), enabled: config });
  if (!config) return <Denied kind={kind} />;
  const name = kind.path.slice(1) as "providers";
  const all: { doc: Doc; meta?: Meta }[] = query.data ?? [];
  const shown = all.filter(({ doc }) => `${String(doc.id)} ${kind.says(doc)}`.toLowerCase().includes(q.toLowerCase()));
  return (
    <Page
      crumbs={[{ text: t(kind.word) }]}
      badge={query.data && <span className="mono text-muted">{shown.length}</span>}
      actions={
        <Link to={`${kind.path}/-/new`} className="touch inline-flex min-h-8 items-center gap-1.5 rounded-md border border-accent bg-accent px-3 font-medium whitespace-nowrap text-on-accent hover:opacity-90">
          <Plus aria-hidden className="size-3.5" />
          {t(`${name}.new` as Key)}
        </Link>
      }
    >
      {(all.length > 8 || q) && (
        <div role="search" aria-label={t("runs.filters")} className="border-b border-line px-4 py-2">
          <Filter label={t("connect.search")} value={q} onChange={(v) => void navigate({ to: kind.path, search: { q: v || undefined }, replace: true })} />
        </div>
      )}
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length ? t("runs.noMatch") : t(`${name}.empty` as Key)}>{all.length ? t("runs.noMatchHint") : t(`${name}.emptyHint` as Key)}</Empty>
          ) : (
            <Rows
              items={shown}
              keyOf={(i) => String(i.doc.id)}
              height={phone ? 64 : 44}
              label={t(kind.word)}
              open={(i) => void navigate({ to: `${kind.path}/$id`, params: { id: String(i.doc.id) } })}
              row={({ doc, meta }) => (
                <div className={phone ? "flex h-full flex-col justify-center px-4" : "grid h-full grid-cols-[minmax(8rem,14rem)_minmax(0,1fr)_12rem_3rem_2rem] items-center gap-3 px-4"}>
                  <span className="flex min-w-0 items-center gap-2">
                    <Link to={`${kind.path}/$id`} params={{ id: String(doc.id) }} className="truncate font-medium hover:underline">
                      {String(doc.id)}
                    </Link>
                    {meta?.draft && <span className="shrink-0 rounded-sm border border-run px-1 text-caption text-run">{t("source.draft")}</span>}
                  </span>
                  <span className="truncate text-muted">{kind.says(doc)}</span>
                  {!phone && (
                    <>
                      <span className="truncate">{extra(kind, doc, t)}</span>
                      <span className="text-right text-muted">
                        <Ago at={meta?.updated_at} />
                      </span>
                      <Link to={`${kind.path}/$id`} params={{ id: String(doc.id) }} aria-label={t("connect.edit", { id: String(doc.id) })} title={t("connect.edit", { id: String(doc.id) })} className="inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-panel hover:text-text">
                        <Pencil aria-hidden className="size-3.5" />
                      </Link>
                    </>
                  )}
                </div>
              )}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

function extra(kind: Kind, doc: Doc, t: (key: Key) => string): ReactNode {
  const id = String(doc.id);
  switch (kind.ns) {
    case "providers":
      return <span className="text-muted">{t(doc.has_api_key ? "secret.keyStored" : "secret.noKey")}</span>;
    case "models":
      return <ModelHealth id={id} />;
    case "mcp-servers":
      return <McpState id={id} />;
    case "a2a-servers":
      return <A2aState id={id} />;
    default:
      return null;
  }
}

/** One edits a document of a kind. */
function One({ kind }: { kind: Kind }) {
  const config = useMay("config");
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  if (!config) return <Denied kind={kind} />;
  return <Editor key={id} kind={kind} id={id} />;
}

function Editor({ kind, id }: { kind: Kind; id: string }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const why = useWhy();
  const ns = kind.ns;
  const name = kind.path.slice(1);
  const schema = useQuery(schemaQuery(ns));
  const live = useQuery(liveQuery(ns, id));
  const meta = useQuery(metaQuery(ns, id));
  const capabilities = useQuery(capabilitiesQuery);
  const { query, editing: edited } = useEditing(ns, id, kind.fresh);
  const { schema: s, editing } = ns === "mcp-servers" ? withIssuer(schema.data as Schema | undefined, edited, t("mcp.issuerNeeded")) : { schema: schema.data as Schema | undefined, editing: edited };
  const [raw, setRaw] = useState(false);
  const [said, setSaid] = useTold(`${ns}/${id}`);
  const caps = capabilities.data as unknown as { tools: { id: string }[]; models: { id: string }[]; providers: { id: string }[]; supported_adapters: string[] } | undefined;
  const choices = useMemo(() => ({ adapter: caps?.supported_adapters ?? [], provider_id: (caps?.providers ?? []).map((p) => p.id), allowed_tools: (caps?.tools ?? []).map((x) => x.id), model_override: (caps?.models ?? []).map((m) => m.id) }), [caps]);
  const crumbs = [{ text: t(kind.word), to: kind.path }, { text: id || t(`${name}.new` as Key) }];
  const failed = (query.isError && !editing && query) || (schema.isError && schema);
  if (failed || !editing || !s) {
    return <Page crumbs={crumbs}>{failed ? <Failure error={failed.error} retry={() => void failed.refetch()} /> : <Skeleton />}</Page>;
  }
  const names = [...kind.first, ...Object.keys(s.properties ?? {}).filter((n) => !kind.first.includes(n))].filter((n) => !(id && n === "id"));
  const labels: Record<string, string> = ns === "providers" ? { id: t("providers.id") } : {};
  const hints: Record<string, string> = ns === "a2a-servers" ? { id: t("a2a.idHint", { id: String(editing.doc.id || "id") }), base_url: t("a2a.urlHint"), target: t("a2a.targetHint"), timeout_ms: t("a2a.timeoutHint"), options: t("a2a.optionsHint") } : {};
  const shown = names.filter((n) => ns !== "mcp-servers" || !(n === "url" || n === "auth" ? editing.doc.transport === "stdio" : n === "command" || n === "args" || n === "env" ? editing.doc.transport !== "stdio" : false)).filter((n) => n !== "env_keys" && n !== "paths");
  const form = (fields: string[]) => <DocForm ns={ns} schema={s} fields={fields} value={editing.doc} onChange={editing.set} problems={editing.problems} live={id ? live.data : undefined} choices={choices} labels={labels} hints={hints} disabled={why !== undefined} />;
  return (
    <Page
      crumbs={crumbs}
      badge={meta.data?.source.kind === "builtin" && <span className="text-muted">{t("source.builtin")}</span>}
      actions={
        <>
          <Button aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {t(raw ? "connect.form" : "agent.raw")}
          </Button>
          {id && meta.data && meta.data.source.kind !== "builtin" && <RemoveButton ns={ns} id={id} done={() => navigate({ to: kind.path })} />}
        </>
      }
    >
      <Guard dirty={editing.dirty} discard={editing.discard} stays={(path) => decodeURIComponent(path).endsWith(`${kind.path}/${id || "-/new"}`)} />
      <div className="min-h-0 flex-1 overflow-auto">
        <SaveBar
          ns={ns}
          id={id}
          editing={editing}
          done={(read, how) => {
            const text = t(how === "draft" ? "connect.drafted" : ns === "providers" ? "providers.saved" : "connect.saved", { id: String(read.doc.id) });
            if (id) setSaid(text);
            else tell(`${ns}/${String(read.doc.id)}`, text);
            if (!id) void navigate({ to: `${kind.path}/$id`, params: { id: String(read.doc.id) }, ignoreBlocker: true });
          }}
        />
        {said && !editing.dirty && (
          <p role="alert" className="border-b border-line bg-sunken px-4 py-1.5 text-ok">
            {said}
          </p>
        )}
        {id && !editing.dirty && <Warnings meta={meta.data} written={editing.base.warnings} />}
        <div className="flex max-w-4xl flex-col gap-6 p-4">
          {id && ns === "providers" && (
            <>
              <ProviderTest id={id} />
              <ProviderLimits id={id} />
            </>
          )}
          {id && ns === "mcp-servers" && <McpPanel id={id} trusted={(live.data?.config as Doc | undefined)?.trust_hints === true} />}
          {id && ns === "a2a-servers" && <A2aPanel id={id} />}
          <Problems list={editing.problems.filter((p) => p.path === "" || p.resource !== undefined)} />
          {raw && <Raw editing={editing} />}
          {!raw && ns === "model-pools" && (
            <>
              {!id && form(["id"])}
              <Members value={(editing.doc.members as { model_id: string }[] | null) ?? []} onChange={(members) => editing.set({ ...editing.doc, members })} models={(caps?.models ?? []).map((m) => m.id)} problems={editing.problems} disabled={why !== undefined} />
            </>
          )}
          {!raw && form(ns === "model-pools" ? shown.filter((n) => n !== "id" && n !== "members") : shown)}
          {id && meta.data?.live && <UsedBy ns={ns} id={id} />}
        </div>
      </div>
    </Page>
  );
}
