import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, base } from "../../api/client";
import { call, present, removalPreview, type Doc, type Problem } from "../../api/config";
import { useFieldTexts } from "../../i18n/fields";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Code } from "../../ui/code";
import { DocForm, type Schema } from "../../ui/docform";
import type { Editing } from "../../ui/editing";
import { CopyButton } from "../../ui/id";
import { Json } from "../../ui/json";
import { pretty, useWhy } from "../../ui/savebar";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { Deferred, Reminders } from "./editors";

export interface Plugin {
  id: string;
  config_schemas: { key: string; schema: Schema; display_name?: string; description?: string; default_value?: Doc | null }[];
}

/** schemaOf returns the schema of a section, which says what its fields are if they are left out. */
export function schemaOf({ schema, default_value }: Plugin["config_schemas"][number]): Schema {
  const plain = (v: unknown) => typeof v === "string" || typeof v === "number" || typeof v === "boolean";
  const properties = Object.entries(schema.properties ?? {}).map(([name, p]) => [name, p.default === undefined && plain(default_value?.[name]) ? { ...p, default: default_value![name] } : p]);
  return { ...schema, properties: Object.fromEntries(properties) as Record<string, Schema> };
}

/** Sections edits the configuration of the plugins that the agent has. */
export function Sections({ editing, plugins, disabled, live }: { editing: Editing; plugins: Plugin[]; disabled: boolean; live?: Doc | null }) {
  const { t } = useLanguage();
  const texts = useFieldTexts();
  const own = new Set((editing.doc.plugin_ids as string[] | undefined) ?? []);
  const sections = (editing.doc.sections as Record<string, Doc> | undefined) ?? {};
  const shown = plugins.flatMap((p) => p.config_schemas.filter((s) => s.key !== "permission" && s.key !== "skills" && (own.has(p.id) || sections[s.key] !== undefined)));
  if (shown.length === 0) return <p className="text-muted">{t("agent.noSections")}</p>;
  return (
    <>
      {shown.map((s) => (
        <section key={s.key} aria-label={texts(`sections/${s.key}`).title ?? s.display_name ?? s.key} className="panel flex flex-col gap-3 p-4">
          <h3 className="font-semibold">
            {texts(`sections/${s.key}`).title ?? s.display_name ?? s.key} <span className="mono font-normal text-muted">{s.key}</span>
          </h3>
          <p className="text-muted">{texts(`sections/${s.key}`).hint ?? s.description}</p>
          <Section schema={schemaOf(s)} name={s.key} value={sections[s.key] ?? {}} onChange={(v) => editing.set(withSection(editing.doc, s.key, v))} problems={editing.problems} disabled={disabled} live={live ? ((live.sections as Record<string, Doc> | undefined)?.[s.key] ?? {}) : undefined} />
        </section>
      ))}
    </>
  );
}

/** Section edits a section: with an editor of its own, or by its schema. */
function Section({ name, ...props }: { name: string; schema: Schema; value: Doc; onChange: (value: Doc) => void; problems: Problem[]; disabled: boolean; live?: Doc }) {
  if (name === "reminder") return <Reminders {...props} />;
  if (name === "deferred_tools") return <Deferred {...props} />;
  return <DocForm {...props} path={`/sections/${name}`} choices={name === "generative-ui" ? drawing : undefined} />;
}

/** What the section of the plugin that draws accepts beyond its schema. */
const drawing = { formats: ["a2ui", "json-render", "openui-lang"], answer: ["json-render", "openui-lang"] };

/** InUse says which version new runs have, and which ones unfinished runs still have. */
export function InUse({ id }: { id: string }) {
  const { t } = useLanguage();
  const live = useQuery({ queryKey: ["versions", "live"], queryFn: ({ signal }) => ask(api.GET("/v1/registry/versions", { params: { query: { limit: 1 } }, signal })), select: (v) => v.live });
  const pins = useQuery({ queryKey: ["config", "agents", "usedBy", id], queryFn: () => removalPreview("agents", id), enabled: present("agents", id), select: (p) => p.runs, retry: false });
  const old = (pins.data ?? []).filter((p) => p.version !== live.data && p.agent_id === id);
  return (
    <>
      {live.data !== undefined && (
        <Link to="/versions/$n" params={{ n: String(live.data) }} className="hover:underline">
          {t("agents.liveVersion", { n: live.data })}
        </Link>
      )}
      {old.map((p) => (
        <Link key={p.version} to="/runs" search={{ agent_id: id, version: String(p.version) }} className="text-wait hover:underline">
          {t("agents.pinned", { n: p.runs, version: p.version })}
        </Link>
      ))}
    </>
  );
}

/** withSection returns a document with another section. An empty one is left out. */
export function withSection(doc: Doc, key: string, value: Doc): Doc {
  const sections = { ...(doc.sections as Record<string, Doc> | undefined) };
  if (Object.keys(value).length === 0) delete sections[key];
  else sections[key] = value;
  const next = { ...doc, sections };
  if (Object.keys(sections).length === 0) delete (next as Doc).sections;
  return next;
}

/** Offered lists the tools that the published agent offers its model. */
export function Offered({ id }: { id: string }) {
  const { t } = useLanguage();
  const preview = useQuery({ queryKey: ["config", "agents", "preview", id], queryFn: ({ signal }) => ask(api.GET("/v1/agents/{agent_id}/permission-preview", { params: { path: { agent_id: id } }, signal })) });
  return (
    <section aria-label={t("agent.offered")} className="panel overflow-hidden">
      <h2 className="border-b border-line px-4 py-2 font-semibold">{t("agent.offered")}</h2>
      <Loaded query={preview} rows={3}>
        {(p) => (
          <div className="flex flex-col gap-2 p-4">
            {p.effective_tools.length === 0 && <p className="text-muted">{t("agent.noTools")}</p>}
            <ul className="mono flex flex-wrap gap-1.5">
              {p.effective_tools.map((x) => (
                <li key={x} className="rounded-sm bg-sunken px-2">
                  {x}
                </li>
              ))}
            </ul>
            {p.unconditionally_denied.length > 0 && <p className="text-dense text-fail">{t("agent.denied", { tools: p.unconditionally_denied.join(", ") })}</p>}
          </div>
        )}
      </Loaded>
    </section>
  );
}

/** Endpoints are the addresses at which programs reach the agent. */
export function Endpoints({ id }: { id: string }) {
  const { t } = useLanguage();
  const list = [
    { name: "AI SDK", url: `${base}/v1/ai-sdk/agents/${id}/runs` },
    { name: "AG-UI", url: `${base}/v1/ag-ui/agents/${id}/runs` },
  ];
  return (
    <section aria-label={t("agent.endpoints")} className="panel p-4">
      <h2 className="mb-2 font-semibold">{t("agent.endpoints")}</h2>
      <ul className="flex flex-col gap-1">
        {list.map((e) => (
          <li key={e.name} className="flex items-center gap-3">
            <span className="w-14 shrink-0 text-muted">{e.name}</span>
            <span className="mono min-w-0 flex-1 truncate">{e.url}</span>
            <CopyButton text={e.url} label={t("agent.copyEndpoint", { name: e.name })} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** History lists who changed the agent, and restores what it was as a draft. */
export function History({ id }: { id: string }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const why = useWhy();
  const [open, setOpen] = useState("");
  const query = useQuery({ queryKey: ["config", "agents", "history", id], queryFn: ({ signal }) => ask(api.GET("/v1/audit-log", { params: { query: { resource: `agents/${id}`, limit: 50 } as never }, signal })) });
  const restore = useMutation({
    mutationFn: (version: string) => call("POST", `/v1/config/agents/${encodeURIComponent(id)}/restore`, { version }),
    onSettled: () => client.invalidateQueries({ queryKey: ["config"] }),
  });
  return (
    <Loaded query={query}>
      {(list) =>
        list.items.length === 0 ? (
          <Empty title={t("agents.noHistory")}>{t("agents.noHistoryHint")}</Empty>
        ) : (
          <>
            {restore.isSuccess && (
              <p role="status" className="text-ok">
                {t("agents.restored")}
              </p>
            )}
            {restore.error && (
              <p role="alert" className="text-fail">
                {restore.error.message}
              </p>
            )}
            <ul aria-label={t("agent.tab.history")} className="panel divide-y divide-line overflow-hidden">
              {list.items.map((e) => (
                <li key={e.id} className="flex flex-col gap-2 px-4 py-2">
                  <div className="flex flex-wrap items-center gap-x-3">
                    <span className="font-medium">{e.action}</span>
                    <span className="min-w-0 flex-1 truncate text-muted">{e.actor}</span>
                    {e.version !== undefined && <span className="mono text-muted">v{e.version}</span>}
                    <Ago at={e.ts} />
                    <Button kind="quiet" aria-expanded={open === e.id} onClick={() => setOpen(open === e.id ? "" : e.id)}>
                      {t("action.show")}
                    </Button>
                    {e.after !== undefined && e.after !== null && !e.error && (
                      <Button kind="quiet" why={why} disabled={restore.isPending} onClick={() => restore.mutate(e.id)}>
                        {t("action.restore")}
                      </Button>
                    )}
                  </div>
                  {e.error && <p className="text-fail [overflow-wrap:anywhere]">{e.error}</p>}
                  {open === e.id && (e.before ? <Code label={t("edit.diffTitle")} value={pretty(e.after ?? {})} original={pretty(e.before)} /> : <Json value={e.after} label={t("agent.tab.history")} />)}
                </li>
              ))}
            </ul>
          </>
        )
      }
    </Loaded>
  );
}
