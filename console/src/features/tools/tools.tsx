import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Wrench } from "lucide-react";
import { capabilitiesQuery, documentsQuery } from "../../api/config";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Filter } from "../../ui/filter";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { useWhy } from "../../ui/savebar";
import { Empty, Loaded } from "../../ui/state";
import { tokensOf, type Tool } from "./tool";

interface Item extends Tool {
  customized: boolean;
}

export interface ToolSearch {
  q?: string;
  only?: string;
}

/** Tools lists the tools that agents can have: where each comes from, and what its description costs. */
export function Tools() {
  const { t } = useLanguage();
  const filter: ToolSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const phone = usePhone();
  const config = useMay("config");
  const why = useWhy();
  const documents = useQuery({ ...documentsQuery("tools"), enabled: config });
  const capabilities = useQuery({ ...capabilitiesQuery, enabled: config });
  if (!config) {
    return (
      <Page crumbs={[{ text: t("nav.tools") }]}>
        <Empty title={t("state.noPermission")}>{why}</Empty>
      </Page>
    );
  }
  const changed = new Set((documents.data ?? []).filter((d) => Object.keys(d.meta?.user_overrides ?? {}).length > 0).map((d) => String(d.doc.id)));
  const all: Item[] = ((capabilities.data as unknown as { tools: Tool[] } | undefined)?.tools ?? []).map((x) => ({ ...x, customized: changed.has(x.id) }));
  const q = (filter.q ?? "").toLowerCase();
  const shown = all.filter((x) => (!q || `${x.id} ${x.description} ${x.source.server ?? ""}`.toLowerCase().includes(q)) && (!filter.only || x.customized));
  const set = (change: ToolSearch) => void navigate({ to: "/tools", search: (s: ToolSearch) => ({ ...s, ...change }), replace: true });
  return (
    <Page crumbs={[{ text: t("nav.tools") }]} badge={capabilities.data && <span className="text-muted">{t("tools.count", { n: shown.length, tokens: shown.reduce((sum, x) => sum + tokensOf(x), 0) })}</span>}>
      <div role="search" aria-label={t("runs.filters")} className="flex items-center gap-4 overflow-x-auto border-b border-line px-4 py-2">
        <Filter label={t("tools.search")} value={filter.q ?? ""} onChange={(v) => set({ q: v || undefined })} />
        <label className="touch flex min-h-8 items-center gap-2 whitespace-nowrap">
          <input type="checkbox" checked={filter.only === "customized"} onChange={(e) => set({ only: e.target.checked ? "customized" : undefined })} />
          {t("tools.onlyCustomized")}
        </label>
      </div>
      <Loaded query={capabilities}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length ? t("runs.noMatch") : t("tools.empty")} icon={Wrench}>
              {all.length ? t(filter.only && !q ? "tools.noneCustomized" : "runs.noMatchHint") : t("tools.emptyHint")}
            </Empty>
          ) : (
            <Rows
              items={shown}
              keyOf={(x) => x.id}
              height={phone ? 64 : 44}
              label={t("nav.tools")}
              open={(x) => void navigate({ to: "/tools/$id", params: { id: x.id } })}
              row={(x) => (
                <div className={phone ? "flex h-full flex-col justify-center px-4" : "grid h-full grid-cols-[minmax(10rem,16rem)_minmax(0,1fr)_10rem_6rem] items-center gap-3 px-4"}>
                  <span className="flex min-w-0 items-center gap-2">
                    <Link to="/tools/$id" params={{ id: x.id }} className="mono truncate font-medium hover:underline">
                      {x.id}
                    </Link>
                    {phone && x.customized && <span className="shrink-0 text-dense text-run">{t("source.customized")}</span>}
                  </span>
                  <span className="truncate text-muted">{x.description}</span>
                  {!phone && (
                    <>
                      <span className={`truncate ${x.customized ? "text-run" : "text-muted"}`}>{x.source.kind === "mcp" ? t("tools.fromServer", { server: x.source.server ?? "" }) : t(x.customized ? "source.customized" : "source.builtin")}</span>
                      <span className="text-right whitespace-nowrap text-muted tabular-nums">{t("run.tokens", { n: tokensOf(x) })}</span>
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
