import { Tabs } from "@base-ui/react/tabs";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { ArrowLeft, FlaskConical, MessageSquarePlus } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { api, ask } from "../../api/client";
import { capabilitiesQuery, documentsQuery, liveQuery, metaQuery, schemaQuery, type Doc } from "../../api/config";
import { useMay } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { DocForm, Problems, type Schema } from "../../ui/docform";
import { useEditing } from "../../ui/editing";
import { Json } from "../../ui/json";
import { Page } from "../../ui/page";
import { Raw } from "../../ui/raw";
import { Guard, RemoveButton, SaveBar, tell, useTold, useWhy } from "../../ui/savebar";
import { Empty, Failure, Loaded, Skeleton } from "../../ui/state";
import { Warnings } from "../../ui/warnings";
import { ContextPolicy, Patterns, Skills, StopConditions } from "./editors";
import { Endpoints, History, InUse, Offered, Sections, schemaOf, withSection, type Plugin } from "./panels";
import { Permissions } from "./permissions";
import { Sandbox } from "./sandbox";

const fields = {
  basics: ["id", "description", "model_id", "max_rounds", "max_continuation_retries", "reasoning_effort", "system_prompt"],
  tools: ["allowed_tools", "allowed_tool_patterns", "excluded_tools", "excluded_tool_patterns", "tool_execution_mode"],
  skills: [] as string[],
  plugins: ["plugin_ids", "active_hook_filter"],
  delegates: ["delegates"],
};
const tabs = ["basics", "tools", "skills", "plugins", "delegates", "advanced", "permissions", "history"] as const;
type Tab = (typeof tabs)[number];

/** tabOf returns the tab with the field of a problem. */
function tabOf(path: string): Tab {
  const name = path.split("/")[1] ?? "";
  if (path.startsWith("/sections/permission")) return "permissions";
  if (path.startsWith("/sections/skills")) return "skills";
  if (name === "sections") return "plugins";
  for (const [tab, names] of Object.entries(fields)) if (names.includes(name)) return tab as Tab;
  return "advanced";
}

/** AgentPage edits an agent: fields or JSON, what differs from the version that runs use, and a place to try it before it is saved. */
export function AgentPage() {
  const { t } = useLanguage();
  const { id = "", tab: at } = useParams({ strict: false }) as { id?: string; tab?: string };
  const config = useMay("config");
  if (!config) return <ReadOnly id={id} />;
  return <Editor key={id} id={id} tab={(tabs as readonly string[]).includes(at ?? "") ? (at as Tab) : "basics"} title={id || t("agents.new")} />;
}

const fresh: Doc = { id: "", model_id: "", system_prompt: "" };

function Editor({ id, tab, title }: { id: string; tab: Tab; title: string }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const capabilities = useQuery(capabilitiesQuery);
  const models = useQuery(documentsQuery("models"));
  const schema = useQuery(schemaQuery("agents"));
  const live = useQuery(liveQuery("agents", id));
  const meta = useQuery(metaQuery("agents", id));
  const { query, editing } = useEditing("agents", id, fresh);
  const [said, setSaid] = useTold(`agents/${id}`);
  const [sandbox, setSandbox] = useState(false);
  const why = useWhy();
  const caps = capabilities.data as unknown as { agents: string[]; tools: { id: string }[]; plugins: Plugin[]; model_pools: { id: string }[]; skills: { id: string; name?: string; description?: string }[] } | undefined;
  const choices = useMemo(() => {
    const tools = (caps?.tools ?? []).map((x) => x.id);
    const plugins = (caps?.plugins ?? []).map((p) => p.id);
    return {
      model_id: [...(models.data ?? []).map((m) => String(m.doc.id)), ...(caps?.model_pools ?? []).map((p) => p.id)],
      allowed_tools: tools,
      excluded_tools: tools,
      plugin_ids: plugins,
      active_hook_filter: plugins,
      delegates: (caps?.agents ?? []).filter((a) => a !== id),
      reasoning_effort: ["none", "low", "medium", "high", "max"],
    };
  }, [caps, models.data, id]);
  const crumbs = [{ text: t("nav.agents"), to: "/agents" }, { text: title }];
  const failed = (query.isError && !editing && query) || (schema.isError && schema);
  if (failed) {
    return (
      <Page crumbs={crumbs}>
        <Failure error={failed.error} retry={() => void failed.refetch()} />
      </Page>
    );
  }
  if (!editing || !schema.data) {
    return (
      <Page crumbs={crumbs}>
        <Skeleton />
      </Page>
    );
  }
  const doc = editing.doc;
  const s = schema.data as Schema;
  const known = new Set([...Object.values(fields).flat(), "sections", "registry"]);
  const own = new Set(["stop_conditions", "context_policy"]); // have editors of their own
  const rest = Object.keys(s.properties ?? {}).filter((n) => !known.has(n) && !own.has(n));
  const put = (name: string, value: unknown) => {
    const next = { ...doc };
    if (value === undefined) delete next[name];
    else next[name] = value;
    editing.set(next);
  };
  const common = { disabled: why !== undefined, problems: editing.problems };
  const skillSection = (caps?.plugins ?? []).flatMap((p) => p.config_schemas).find((c) => c.key === "skills");
  const liveSection = (key: string) => (id && live.data ? ((live.data.sections as Record<string, Doc> | undefined)?.[key] ?? {}) : undefined);
  const counts = new Map<Tab, number>();
  const failing = new Set(editing.problems.filter((p) => p.severity !== "warning").map((p) => tabOf(p.path)));
  for (const p of editing.problems) counts.set(tabOf(p.path), (counts.get(tabOf(p.path)) ?? 0) + 1);
  const form = (names: string[]) => <DocForm ns="agents" schema={s} fields={names} value={doc} onChange={editing.set} problems={editing.problems} live={id ? live.data : undefined} choices={choices} disabled={why !== undefined} labels={{ id: t("agents.id") }} />;
  const panels: Record<Tab, () => ReactNode> = {
    basics: () => (
      <>
        {form(id ? fields.basics.slice(1) : fields.basics)}
        {id && <Endpoints id={id} />}
      </>
    ),
    tools: () => (
      <>
        {form(["allowed_tools"])}
        <Patterns kind="allowed" value={doc.allowed_tool_patterns as string[] | undefined} onChange={(v) => put("allowed_tool_patterns", v)} tools={choices.allowed_tools} {...common} />
        {form(["excluded_tools"])}
        <Patterns kind="excluded" value={doc.excluded_tool_patterns as string[] | undefined} onChange={(v) => put("excluded_tool_patterns", v)} tools={choices.allowed_tools} {...common} />
        {form(["tool_execution_mode"])}
        {id && <Offered id={id} />}
      </>
    ),
    skills: () => <Skills doc={doc} set={editing.set} put={(v) => editing.set(withSection(doc, "skills", v))} skills={caps?.skills ?? []} schema={skillSection && schemaOf(skillSection)} live={liveSection("skills")} {...common} />,
    plugins: () => (
      <>
        <h2 className="sr-only">{t("agent.tab.plugins")}</h2>
        {form(fields.plugins)}
        <Sections editing={editing} plugins={caps?.plugins ?? []} disabled={why !== undefined} live={live.data} />
      </>
    ),
    delegates: () => form(fields.delegates),
    advanced: () => (
      <>
        {s.properties?.context_policy && <ContextPolicy schema={s.properties.context_policy} value={doc.context_policy as Doc | undefined} onChange={(v) => put("context_policy", v)} live={id && live.data ? ((live.data.context_policy as Doc | null | undefined) ?? {}) : undefined} {...common} />}
        <StopConditions value={doc.stop_conditions as Doc[] | undefined} onChange={(v) => put("stop_conditions", v)} tools={choices.allowed_tools} {...common} />
        {form(rest)}
        <Raw editing={editing} />
      </>
    ),
    permissions: () => <Permissions editing={editing} disabled={why !== undefined} saved={id !== ""} />,
    history: () => (id ? <History id={id} /> : <Empty title={t("agents.noHistory")} />),
  };
  const general = editing.problems.filter((p) => p.path === "" || p.resource !== undefined);
  return (
    <Page
      crumbs={crumbs}
      badge={
        <span className="flex items-center gap-2 text-muted">
          {meta.data?.source.kind === "builtin" && t(Object.keys(meta.data.user_overrides ?? {}).length ? "source.customized" : "source.builtin")}
          {doc.endpoint ? t("agents.remote") : ""}
          {id && meta.data?.live && <InUse id={id} />}
        </span>
      }
      actions={
        <>
          <Link to="/agents" aria-label={t("agents.back")} title={t("agents.back")} className="touch inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-text">
            <ArrowLeft aria-hidden className="size-4" />
          </Link>
          <Button className="xl:hidden" aria-pressed={sandbox} onClick={() => setSandbox(!sandbox)}>
            <FlaskConical aria-hidden className="size-3.5" />
            {t("sandbox.title")}
          </Button>
          {id && (
            <Link to="/threads/-/new" search={{ agent_id: id }} className="touch inline-flex min-h-8 items-center gap-1.5 rounded-md border border-border px-3 font-medium whitespace-nowrap hover:bg-sunken max-sm:hidden">
              <MessageSquarePlus aria-hidden className="size-3.5" />
              {t("threads.new")}
            </Link>
          )}
          {id && meta.data && meta.data.source.kind !== "builtin" && <RemoveButton ns="agents" id={id} done={() => navigate({ to: "/agents" })} />}
        </>
      }
    >
      <Guard dirty={editing.dirty} discard={editing.discard} stays={(path) => decodeURIComponent(path).includes(id ? `/agents/${id}/` : "/agents/-/new")} />
      <div className="flex min-h-0 flex-1">
        <div className={`min-w-0 flex-1 overflow-auto ${sandbox ? "max-xl:hidden" : ""}`}>
          <SaveBar
            ns="agents"
            id={id}
            editing={editing}
            done={(read, how) => {
              const text = t(how === "draft" ? "agents.drafted" : how === "canary" ? "agents.canaried" : id ? "agents.saved" : "agents.created", { id: String(read.doc.id) });
              if (id) setSaid(text);
              else tell(`agents/${String(read.doc.id)}`, text);
              if (!id) void navigate({ to: "/agents/$id/$tab", params: { id: String(read.doc.id), tab }, ignoreBlocker: true });
            }}
          />
          {said && !editing.dirty && (
            <p role="alert" className="border-b border-line bg-sunken px-4 py-1.5 text-ok">
              {said}
            </p>
          )}
          {id && !editing.dirty && <Warnings meta={meta.data} written={editing.base.warnings} />}
          <Tabs.Root value={tab} onValueChange={(v) => void navigate({ to: id ? "/agents/$id/$tab" : "/agents/-/new/$tab", params: { id, tab: String(v) }, replace: true })}>
            <Tabs.List aria-label={t("agent.sections")} className="flex overflow-x-auto border-b border-line px-2">
              {tabs.map((x) => (
                <Tabs.Tab key={x} value={x} className="touch min-h-9 shrink-0 border-b-2 border-transparent px-3 whitespace-nowrap text-muted hover:text-text data-active:border-accent data-active:font-medium data-active:text-text">
                  {t(`agent.tab.${x}` as Key)}
                  {(counts.get(x) ?? 0) > 0 && <span className={`mono ml-1.5 ${failing.has(x) ? "text-fail" : "text-wait"}`}>{counts.get(x)}</span>}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value={tab} className="flex max-w-4xl flex-col gap-6 p-4">
              <Problems list={general} />
              {panels[tab]()}
            </Tabs.Panel>
          </Tabs.Root>
        </div>
        <aside aria-label={t("sandbox.title")} className={`w-96 shrink-0 flex-col border-l border-line bg-panel xl:flex ${sandbox ? "flex max-xl:w-full" : "hidden"}`}>
          <Sandbox doc={doc} live={live.data ?? undefined} dirty={editing.dirty} />
        </aside>
      </div>
    </Page>
  );
}

/** ReadOnly shows an agent to those who may not change it. */
function ReadOnly({ id }: { id: string }) {
  const { t } = useLanguage();
  const why = useWhy();
  const list = useQuery({ queryKey: ["agents", "read"], queryFn: ({ signal }) => ask(api.GET("/v1/agents", { params: { query: { limit: 200 } }, signal })), enabled: id !== "" });
  return (
    <Page crumbs={[{ text: t("nav.agents"), to: "/agents" }, { text: id || t("agents.new") }]}>
      <div className="min-h-0 flex-1 overflow-auto p-4">
        <p className="mb-3 text-muted">{why}</p>
        {id && <Loaded query={list}>{(page) => <Json value={(page.items as { id: string }[]).find((a) => a.id === id) ?? {}} label={id} />}</Loaded>}
      </div>
    </Page>
  );
}
