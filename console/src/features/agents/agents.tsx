import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Bot, Plus } from "lucide-react";
import { agentsQuery } from "../../api/agents";
import { api, ask } from "../../api/client";
import { documentsQuery, type Doc, type Meta } from "../../api/config";
import { useMay } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Choice, Filter } from "../../ui/filter";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { useWhy } from "../../ui/savebar";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";

interface Item {
  doc: Doc;
  meta?: Meta;
}

export interface AgentSearch {
  q?: string;
  model?: string;
  source?: string;
}

const sourceOf = (meta?: Meta) => (meta?.source.kind === "builtin" ? (Object.keys(meta.user_overrides ?? {}).length ? "customized" : "builtin") : "user");

/** Agents lists the agents: where each comes from, its model, whether it has a draft, and how much it does. */
export function Agents() {
  const { t } = useLanguage();
  const filter: AgentSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const phone = usePhone();
  const config = useMay("config");
  const why = useWhy();
  const documents = useQuery({ ...documentsQuery("agents"), enabled: config });
  const plain = useQuery({ ...agentsQuery, enabled: !config, select: (list) => list.map((a): Item => ({ doc: a as unknown as Doc })) });
  const query = config ? documents : (plain as typeof documents);
  const stats = useQuery({ queryKey: ["agents", "stats"], queryFn: ({ signal }) => ask(api.GET("/v1/agents/runtime-stats", { params: { query: { window: "24h" } as never }, signal })), enabled: config });
  const used = new Map(((stats.data as { agents?: { agent_id: string; inference_count?: number }[] } | undefined)?.agents ?? []).map((a) => [a.agent_id, a]));
  const set = (change: AgentSearch) => void navigate({ to: "/agents", search: (s: AgentSearch) => ({ ...s, ...change }), replace: true });
  const all: Item[] = query.data ?? [];
  const q = (filter.q ?? "").toLowerCase();
  const shown = all.filter(({ doc, meta }) => (!q || `${String(doc.id)} ${String(doc.description ?? "")}`.toLowerCase().includes(q)) && (!filter.model || doc.model_id === filter.model) && (!filter.source || sourceOf(meta) === filter.source || (filter.source === "draft" && meta?.draft)));
  const models = [...new Set(all.map((i) => String(i.doc.model_id ?? "")).filter(Boolean))].sort();
  return (
    <Page
      crumbs={[{ text: t("nav.agents") }]}
      badge={query.data && <span className="text-muted">{t("agents.count", { n: shown.length })}</span>}
      actions={
        config ? (
          <Link to="/agents/-/new" className="touch inline-flex min-h-8 items-center gap-1.5 rounded-md border border-accent bg-accent px-3 font-medium whitespace-nowrap text-on-accent hover:opacity-90">
            <Plus aria-hidden className="size-3.5" />
            {t("agents.new")}
          </Link>
        ) : (
          <span className="text-muted max-md:hidden">{why}</span>
        )
      }
    >
      <div role="search" aria-label={t("runs.filters")} className="flex gap-2 overflow-x-auto border-b border-line px-4 py-2">
        <Filter label={t("agents.search")} value={filter.q ?? ""} onChange={(v) => set({ q: v || undefined })} />
        <Choice label={t("field.model_id")} value={filter.model ?? ""} onChange={(v) => set({ model: v || undefined })} options={models.map((m) => ({ value: m, text: m }))} />
        {config && <Choice label={t("agents.source")} value={filter.source ?? ""} onChange={(v) => set({ source: v || undefined })} options={["builtin", "customized", "user", "draft"].map((s) => ({ value: s, text: t(`source.${s}` as Key) }))} />}
      </div>
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length ? t("runs.noMatch") : t("agents.empty")} icon={Bot}>
              {all.length ? t("runs.noMatchHint") : t("agents.emptyHint")}
            </Empty>
          ) : (
            <Rows
              items={shown}
              keyOf={(i) => String(i.doc.id)}
              height={phone ? 64 : 44}
              label={t("nav.agents")}
              open={(i) => void navigate({ to: "/agents/$id/$tab", params: { id: String(i.doc.id), tab: "basics" } })}
              row={({ doc, meta }) => {
                const id = String(doc.id);
                const n = used.get(id)?.inference_count ?? 0;
                return (
                  <div className={phone ? "flex h-full flex-col justify-center px-4" : "grid h-full grid-cols-[minmax(10rem,14rem)_minmax(0,1fr)_8rem_8rem_8rem_3rem] items-center gap-3 px-4"}>
                    <span className="flex min-w-0 items-center gap-2">
                      <Link to="/agents/$id/$tab" params={{ id, tab: "basics" }} className="truncate font-medium hover:underline">
                        {id}
                      </Link>
                      {meta?.draft && <span className="shrink-0 rounded-sm border border-run px-1 text-caption text-run">{t("source.draft")}</span>}
                    </span>
                    <span className="truncate text-muted">{String(doc.description ?? "")}</span>
                    {!phone && (
                      <>
                        <span className="mono truncate">{String(doc.model_id ?? "")}</span>
                        <span className="truncate text-muted">{meta && t(`source.${sourceOf(meta)}` as Key)}</span>
                        <span className="truncate text-right text-muted">{n > 0 && t("agents.inferences", { n })}</span>
                        <span className="text-right text-muted">
                          <Ago at={meta?.updated_at} />
                        </span>
                      </>
                    )}
                  </div>
                );
              }}
            />
          )
        }
      </Loaded>
    </Page>
  );
}
