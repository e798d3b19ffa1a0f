import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { useEffect, useState } from "react";
import { capabilitiesQuery, documentQuery, metaQuery, override, revert } from "../../api/config";
import { ApiError } from "../../api/errors";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Json } from "../../ui/json";
import { Page } from "../../ui/page";
import { Guard, useWhy } from "../../ui/savebar";
import { Empty, Failure, Loaded, Skeleton } from "../../ui/state";
import { UsedBy } from "../../ui/usedby";

export interface Tool {
  id: string;
  name: string;
  description: string;
  source: { kind: string; server?: string };
  parameters_schema?: unknown;
}

/** What some providers cut or refuse descriptions at, in characters. */
const LONG = 1024;

/** readOf is what a model reads of a tool, whatever words its provider has for the fields. */
const readOf = (x: Pick<Tool, "id" | "description" | "parameters_schema">) => ({ name: x.id, description: x.description, parameters: x.parameters_schema ?? {} });

/** tokensOf estimates what a tool costs in every request that offers it. */
export const tokensOf = (x: Pick<Tool, "id" | "description" | "parameters_schema">) => Math.ceil(JSON.stringify(readOf(x)).length / 4);

/** ToolPage shows a tool as a model reads it, and changes its description. */
export function ToolPage() {
  const { t } = useLanguage();
  const { id } = useParams({ strict: false }) as { id: string };
  const config = useMay("config");
  const why = useWhy();
  const capabilities = useQuery({ ...capabilitiesQuery, enabled: config });
  const crumbs = [{ text: t("nav.tools"), to: "/tools" }, { text: id }];
  if (!config) {
    return (
      <Page crumbs={crumbs}>
        <Empty title={t("state.noPermission")}>{why}</Empty>
      </Page>
    );
  }
  const tool = (capabilities.data as unknown as { tools: Tool[] } | undefined)?.tools.find((x) => x.id === id);
  return (
    <Page crumbs={crumbs} badge={tool && <span className="text-muted">{tool.source.kind === "mcp" ? "MCP" : t("source.builtin")}</span>}>
      <Loaded query={capabilities}>
        {() =>
          !tool ? (
            <Failure error={new ApiError(404, { error: t("tools.unknown", { id }), code: "not_found" }, "")} />
          ) : (
            <div className="min-h-0 flex-1 overflow-auto">
              <div className="flex max-w-4xl flex-col gap-6 p-4">
                {tool.source.kind === "mcp" ? <Remote tool={tool} /> : <Description key={id} tool={tool} />}
                {tool.source.kind !== "mcp" && <UsedBy ns="tools" id={id} />}
              </div>
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}

/** Remote shows a tool of an MCP server, whose description is the server's. */
function Remote({ tool }: { tool: Tool }) {
  const { t } = useLanguage();
  const server = tool.source.server ?? "";
  return (
    <>
      <p className="text-muted">
        {t("tools.remote")}{" "}
        <Link to="/mcp-servers/$id" params={{ id: server }} className="link mono">
          {server}
        </Link>
      </p>
      <Reads tool={tool} />
    </>
  );
}

function Description({ tool }: { tool: Tool }) {
  const { t, number } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const document = useQuery(documentQuery("tools", tool.id));
  const meta = useQuery(metaQuery("tools", tool.id));
  const [text, setText] = useState<string>();
  const saved = String(document.data?.doc.description ?? "");
  const dirty = text !== undefined && text !== saved;
  const customized = Object.keys(meta.data?.user_overrides ?? {}).length > 0;
  const done = () => {
    setText(undefined);
    return client.invalidateQueries({ queryKey: ["config"] });
  };
  const write = useMutation({ mutationFn: (description: string) => override("tools", tool.id, { description }, document.data?.etag), onSuccess: done });
  const back = useMutation({ mutationFn: () => revert("tools", tool.id, "description", document.data?.etag), onSuccess: done });
  const stale = [write.error, back.error].some((e) => e instanceof ApiError && e.status === 412);
  useEffect(() => {
    if (stale) void document.refetch();
  }, [stale]); // eslint-disable-line
  if (!document.data) return document.isError ? <Failure error={document.error} retry={() => void document.refetch()} /> : <Skeleton />;
  const now = text ?? saved;
  const error = write.error ?? back.error;
  return (
    <>
      <Guard dirty={dirty} stays={() => false} discard={() => setText(undefined)} keeps={false} />
      <form
        className="flex flex-col gap-2"
        onSubmit={(e) => {
          e.preventDefault();
          if (!why && dirty && now.trim()) write.mutate(now.trim());
        }}
      >
        <div className="flex flex-wrap items-center gap-2">
          <label htmlFor="tool-description" className="font-medium">
            {t("tools.description")}
          </label>
          {customized && !dirty && <span className="text-dense text-run">{t("source.customized")}</span>}
          {dirty && <span className="text-dense font-medium text-wait">{t("edit.unsaved")}</span>}
          <span className={`ml-auto text-dense tabular-nums ${now.length > LONG ? "text-wait" : "text-muted"}`}>{t("tools.length", { n: now.length })}</span>
        </div>
        <textarea id="tool-description" className="field" rows={Math.min(16, Math.max(3, Math.ceil(now.length / 90) + now.split("\n").length))} readOnly={why !== undefined} aria-describedby="tool-hint" value={now} onChange={(e) => setText(e.target.value)} />
        {now.length > LONG && (
          <p role="status" className="text-dense text-wait">
            {t("tools.long", { n: number(LONG) })}
          </p>
        )}
        {now.trim() === "" && (
          <p role="status" className="text-dense text-fail">
            {t("tools.blank")}
          </p>
        )}
        <p id="tool-hint" className="text-dense text-muted">
          {t("tools.hint")}
        </p>
        {error && (
          <p role="alert" className="text-fail [overflow-wrap:anywhere]">
            {stale ? t("tools.stale", { text: saved }) : error.message}
          </p>
        )}
        <div className="flex flex-wrap items-center gap-2">
          <Button kind="primary" type="submit" why={why ?? (!dirty ? t("why.unchanged") : now.trim() === "" ? t("why.noText") : undefined)} disabled={write.isPending}>
            {t("tools.save")}
          </Button>
          {dirty && (
            <Button kind="quiet" onClick={() => setText(undefined)}>
              {t("edit.discard")}
            </Button>
          )}
          {customized && (
            <Button why={why} disabled={back.isPending} onClick={() => back.mutate()}>
              <RotateCcw aria-hidden className="size-3.5" />
              {t("tools.revert")}
            </Button>
          )}
          <span role="status" className="text-ok">
            {!dirty && !error && (write.isSuccess || back.isSuccess) && t(back.isSuccess && back.submittedAt > write.submittedAt ? "tools.reverted" : "tools.saved")}
          </span>
        </div>
      </form>
      <Reads tool={{ ...tool, description: now }} />
    </>
  );
}

/** Reads shows what a model reads of a tool, and what that costs. */
function Reads({ tool }: { tool: Tool }) {
  const { t } = useLanguage();
  return (
    <section aria-label={t("tools.reads")} className="panel overflow-hidden">
      <h2 className="flex flex-wrap items-baseline gap-x-3 border-b border-line px-4 py-2 font-semibold">
        {t("tools.reads")}
        <span className="text-dense font-normal text-muted">{t("tools.cost", { n: tokensOf(tool) })}</span>
      </h2>
      <div className="p-4">
        <Json value={readOf(tool)} label={t("tools.reads")} />
      </div>
    </section>
  );
}
