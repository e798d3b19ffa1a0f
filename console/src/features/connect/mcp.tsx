import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link2, RotateCw, ShieldAlert } from "lucide-react";
import { api, ask } from "../../api/client";
import { call, present } from "../../api/config";
import { ApiError } from "../../api/errors";
import type { components } from "../../api/schema";
import { useLanguage } from "../../app/i18n/i18n";
import { Button } from "../../ui/button";
import { Failure, Skeleton } from "../../ui/state";
import { Ago } from "../../ui/time";
import { useWhy } from "../../ui/savebar";

const statusQuery = (id: string) => queryOptions({ queryKey: ["config", "mcp-servers", "status", id], queryFn: ({ signal }) => ask(api.GET("/v1/mcp-servers/{id}/status", { params: { path: { id } }, signal })), refetchInterval: 5000, enabled: present("mcp-servers", id), retry: false });

function useStateOf(status?: components["schemas"]["ConfigMCPStatus"]) {
  const { t } = useLanguage();
  if (!status) return { text: "", tone: "text-muted" };
  if (status.connected) return { text: t("mcp.connected", { n: status.tools.length }), tone: "text-ok" };
  if (status.permanently_failed) return { text: t("mcp.failed"), tone: "text-fail" };
  return { text: t(status.reconnecting ? "mcp.reconnecting" : "mcp.down"), tone: "text-wait" };
}

/** McpState says whether a server is connected. */
export function McpState({ id }: { id: string }) {
  const query = useQuery(statusQuery(id));
  const { text, tone } = useStateOf(query.data);
  return (
    <span className={tone} title={query.data?.last_error}>
      {text}
    </span>
  );
}

/** McpPanel shows a server's connection and tools, and does what it needs: restart, approve changed tools, authorize. */
export function McpPanel({ id }: { id: string }) {
  const { t } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const query = useQuery(statusQuery(id));
  const done = () => client.invalidateQueries({ queryKey: ["config", "mcp-servers"] });
  const restart = useMutation({ mutationFn: () => call("POST", `/v1/mcp-servers/${encodeURIComponent(id)}/restart`), onSettled: done });
  const approve = useMutation({ mutationFn: (tools: Record<string, string>) => call("POST", `/v1/mcp-servers/${encodeURIComponent(id)}/approve`, { tools }), onSettled: done });
  const connect = useMutation({
    mutationFn: async () => (await call("POST", `/v1/mcp-servers/${encodeURIComponent(id)}/authorization`, {})).data as { url?: string; authorization_url?: string },
    onSuccess: (r) => {
      const to = r.authorization_url ?? r.url;
      if (to && /^https?:/.test(to)) window.open(to, "_blank", "noopener");
      void done();
    },
  });
  const s = query.data;
  const { text, tone } = useStateOf(s);
  const held = (s?.tools ?? []).filter((x) => x.held || x.changed);
  const error = restart.error ?? approve.error ?? connect.error;
  return (
    <section aria-label={t("mcp.status")} className="panel overflow-hidden">
      <header className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <h2 className="font-semibold">{t("mcp.status")}</h2>
        <span role="status" className={`${tone} font-medium`}>
          {text}
        </span>
        <div className="ml-auto flex gap-2">
          {s?.authorization && s.authorization !== "authorized" && (
            <Button why={why} kind="primary" disabled={connect.isPending} onClick={() => connect.mutate()}>
              <Link2 aria-hidden className="size-3.5" />
              {t("mcp.authorize")}
            </Button>
          )}
          <Button why={why} disabled={restart.isPending} onClick={() => restart.mutate()}>
            <RotateCw aria-hidden className="size-3.5" />
            {t("mcp.restart")}
          </Button>
        </div>
      </header>
      {query.isPending && <Skeleton rows={2} />}
      {query.isError && (query.error instanceof ApiError && query.error.status === 404 ? <p className="px-4 py-3 text-muted">{t("mcp.notLive")}</p> : <Failure error={query.error} retry={() => void query.refetch()} />)}
      {error && (
        <p role="alert" className="px-4 pt-2 text-fail [overflow-wrap:anywhere]">
          {error.message}
        </p>
      )}
      {s?.last_error && (
        <p className="px-4 py-3 text-fail [overflow-wrap:anywhere]">
          {s.last_error} {s.last_attempt_at > 0 && <Ago at={s.last_attempt_at} />}
        </p>
      )}
      {held.length > 0 && (
        <div className="m-4 flex flex-col gap-2 rounded-md border border-wait p-3">
          <p className="flex items-center gap-2 text-wait">
            <ShieldAlert aria-hidden className="size-4" />
            {t("mcp.changed", { n: held.length })}
          </p>
          <Button className="self-start" why={why} disabled={approve.isPending} onClick={() => approve.mutate(Object.fromEntries(held.map((x) => [x.name, x.digest ?? ""])))}>
            {t("mcp.approve", { n: held.length })}
          </Button>
        </div>
      )}
      {s && s.tools.length > 0 && (
        <ul aria-label={t("mcp.tools")} tabIndex={0} className="max-h-80 divide-y divide-line overflow-auto">
          {s.tools.map((x) => (
            <li key={x.name} className="px-4 py-2">
              <span className="mono font-medium">{x.name}</span> {(x.held || x.changed) && <span className="text-wait">{x.held || t("mcp.isChanged")}</span>}
              <p className="line-clamp-2 text-muted">{x.description}</p>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
