import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Link2, RotateCw, ShieldAlert } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { api, ask } from "../../api/client";
import { call, present, type Doc } from "../../api/config";
import { ApiError } from "../../api/errors";
import type { components } from "../../api/schema";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import type { Schema } from "../../ui/docform";
import type { Editing } from "../../ui/editing";
import { useWhy } from "../../ui/savebar";
import { Failure, Loaded, Skeleton } from "../../ui/state";
import { Ago, useNow } from "../../ui/time";

/** withIssuer requires the issuer of a client secret, as the server does: without one, the MCP server would choose who gets the secret. why says so at the field. */
export function withIssuer(schema: Schema | undefined, editing: Editing | undefined, why: string) {
  const auth = editing?.doc.auth as Doc | null | undefined;
  if (!schema?.properties?.auth || !editing || !auth?.client_secret) return { schema, editing };
  const needs = { ...schema.properties.auth, required: [...(schema.properties.auth.required ?? []), "issuer"] };
  const missing = typeof auth.issuer !== "string" || auth.issuer.trim() === "";
  const problems = editing.problems.filter((p) => p.path !== "/auth/issuer");
  return {
    schema: { ...schema, properties: { ...schema.properties, auth: needs } },
    editing: missing ? { ...editing, problems: [...problems, { path: "/auth/issuer", code: "issuer_missing", message: why, severity: "error" }] } : editing,
  };
}

const statusQuery = (id: string) => queryOptions({ queryKey: ["config", "mcp-servers", "status", id], queryFn: ({ signal }) => ask(api.GET("/v1/mcp-servers/{id}/status", { params: { path: { id } }, signal })), refetchInterval: 5000, enabled: present("mcp-servers", id), retry: false });

function useStateOf(status?: components["schemas"]["ConfigMCPStatus"]) {
  const { t } = useLanguage();
  if (!status) return { text: "", tone: "text-muted" };
  if (status.connected && status.authorization === "user") return { text: t("mcp.perUser"), tone: "text-ok" };
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

const authorizationQuery = (id: string) =>
  queryOptions({ queryKey: ["config", "mcp-servers", "authorization", id], queryFn: ({ signal }) => ask(api.GET("/v1/mcp-servers/{id}/authorization", { params: { path: { id } }, signal })), retry: false });

/** McpPanel shows a server's connection and tools, and does what it needs: restart, approve changed tools, authorize. */
export function McpPanel({ id, trusted }: { id: string; trusted: boolean }) {
  const { t } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const query = useQuery(statusQuery(id));
  const done = () => client.invalidateQueries({ queryKey: ["config"] }); // what agents can have changes, too
  const restart = useMutation({ mutationFn: () => call("POST", `/v1/mcp-servers/${encodeURIComponent(id)}/restart`), onSettled: done });
  const approve = useMutation({ mutationFn: (tools: Record<string, string>) => call("POST", `/v1/mcp-servers/${encodeURIComponent(id)}/approve`, { tools }), onSettled: done });
  const s = query.data;
  const { text, tone } = useStateOf(s);
  const held = (s?.tools ?? []).filter((x) => x.changed || x.added); // others are held for reasons that no approval ends
  const changed = held.filter((x) => x.changed).length;
  const error = restart.error ?? approve.error;
  const person = s?.authorization === "user" || s?.authorization === "server";
  return (
    <>
      <section aria-label={t("mcp.status")} className="panel overflow-hidden">
        <header className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
          <h2 className="font-semibold">{t("mcp.status")}</h2>
          <span role="status" className={`${tone} font-medium`}>
            {text}
          </span>
          {s?.reconnecting && s.next_attempt_at !== undefined && <NextAttempt at={s.next_attempt_at} />}
          <Button className="ml-auto" why={why} disabled={restart.isPending} onClick={() => restart.mutate()}>
            <RotateCw aria-hidden className="size-3.5" />
            {t("mcp.restart")}
          </Button>
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
        {(s?.problems?.length ?? 0) > 0 && (
          <ul aria-label={t("edit.warningsTitle")} className="flex flex-col gap-0.5 px-4 py-3 text-wait">
            {s!.problems!.map((p) => (
              <li key={p} className="[overflow-wrap:anywhere]">
                {p}
              </li>
            ))}
          </ul>
        )}
        {person && <Authorization id={id} />}
        {held.length > 0 && (
          <div className="m-4 flex flex-col gap-2 rounded-md border border-wait p-3">
            <p className="flex items-start gap-2 text-wait">
              <ShieldAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
              <span>
                {changed > 0 && t("mcp.changed", { n: changed })} {changed < held.length && t("mcp.added", { n: held.length - changed })}
              </span>
            </p>
            <Button className="self-start" why={why} disabled={approve.isPending} onClick={() => approve.mutate(Object.fromEntries(held.map((x) => [x.name, x.digest ?? ""])))}>
              {t("mcp.approve", { n: held.length })}
            </Button>
          </div>
        )}
        {s && s.tools.length > 0 && <Tools status={s} trusted={trusted} />}
        {s?.connected && s.tools.length === 0 && <p className="px-4 py-3 text-muted">{t(s.authorization === "user" ? "mcp.toolsOfUsers" : "mcp.noTools")}</p>}
      </section>
      {s?.connected && s.authorization !== "user" && <Inventory id={id} />}
    </>
  );
}

/** NextAttempt says when the server is tried again. */
function NextAttempt({ at }: { at: number }) {
  const { t, span, date } = useLanguage();
  const now = useNow(1000);
  const ms = toMs(at) ?? 0;
  return (
    <span className="text-muted tabular-nums" title={date(ms)}>
      {ms > now ? t("mcp.nextAttempt", { time: span(Math.ceil((ms - now) / 1000) * 1000) }) : t("mcp.attemptNow")}
    </span>
  );
}

/** Caption is the name of a column where there is no room for columns. */
const Caption = ({ text }: { text: string }) => (
  <span aria-hidden className="mr-1 text-caption text-muted md:hidden">
    {text}
  </span>
);

type Tool = components["schemas"]["ConfigMCPTool"];

/** Tools lists the tools of a server: by which id agents have them, what counts as their effect, what the server promises, and what waits for approval. */
function Tools({ status, trusted }: { status: components["schemas"]["ConfigMCPStatus"]; trusted: boolean }) {
  const { t } = useLanguage();
  const effect = (x?: string) => (x ? t(`effect.${x}` as Key) : "–");
  const state = (x: Tool): ReactNode => {
    if (x.added) return <span className="text-wait">{t("mcp.isAdded")}</span>;
    if (x.changed) return <span className="text-wait">{t("mcp.isChanged")}</span>;
    if (x.held) return <span className="text-wait [overflow-wrap:anywhere]">{x.held}</span>;
    return <span className="text-muted">{t("mcp.offered")}</span>;
  };
  return (
    <div role="region" aria-label={t("mcp.tools")} tabIndex={0} className="max-h-96 overflow-auto">
      <table role="table" className="w-full text-left max-md:block">
        <thead className="sticky top-0 bg-panel text-caption text-muted max-md:sr-only">
          <tr className="border-b border-line">
            <th scope="col" className="px-4 py-1 font-normal">
              {t("approvals.tool")}
            </th>
            <th scope="col" className="px-2 py-1 font-normal whitespace-nowrap">
              {t("call.effect")}
            </th>
            <th scope="col" className="px-2 py-1 font-normal whitespace-nowrap">
              {t("mcp.hint")}
            </th>
            <th scope="col" className="px-4 py-1 font-normal">
              {t("mcp.state")}
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup" className="divide-y divide-line max-md:block">
          {status.tools.map((x) => (
            <tr key={x.name} role="row" className="align-top max-md:flex max-md:flex-wrap max-md:gap-x-3 max-md:px-4 max-md:py-2">
              <th role="rowheader" scope="row" className="px-4 py-2 font-normal max-md:w-full max-md:p-0">
                {x.held || !x.id || status.authorization === "user" ? (
                  <span className="mono font-medium">{x.name}</span>
                ) : (
                  <Link to="/tools/$id" params={{ id: x.id }} className="mono font-medium hover:underline">
                    {x.name}
                  </Link>
                )}
                {x.id && <span className="mono block text-caption text-muted [overflow-wrap:anywhere]">{x.id}</span>}
                <p className="line-clamp-2 text-muted">{x.description}</p>
              </th>
              <td role="cell" className="px-2 py-2 whitespace-nowrap max-md:p-0">
                <Caption text={t("call.effect")} />
                {effect(x.effect)}
              </td>
              <td role="cell" className="px-2 py-2 max-md:p-0">
                <Caption text={t("mcp.hint")} />
                {x.hint ? (
                  <>
                    <span className="whitespace-nowrap">{effect(x.hint)}</span>{" "}
                    {(trusted || x.hint !== x.effect) && <span className={`block text-caption ${trusted ? "text-ok" : "text-wait"}`}>{t(trusted ? "mcp.hintTrusted" : "mcp.hintIgnored")}</span>}
                  </>
                ) : (
                  <span className="text-muted">–</span>
                )}
              </td>
              <td role="cell" className="px-4 py-2 max-md:w-full max-md:p-0">
                {state(x)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Authorization says whether the server may be used in the caller's name, and asks the one who can say so. */
function Authorization({ id }: { id: string }) {
  const { t, date } = useLanguage();
  const client = useQueryClient();
  const [asked, setAsked] = useState("");
  const query = useQuery({ ...authorizationQuery(id), refetchInterval: asked ? 2000 : false });
  const a = query.data;
  const connect = useMutation({
    mutationFn: async () => (await call("POST", `/v1/mcp-servers/${encodeURIComponent(id)}/authorization`, {})).data as { authorization_url: string },
    onSuccess: (r) => {
      if (!/^https?:/.test(r.authorization_url)) return;
      setAsked(r.authorization_url);
      window.open(r.authorization_url, "_blank", "noopener");
    },
  });
  const revoke = useMutation({
    mutationFn: () => call("DELETE", `/v1/mcp-servers/${encodeURIComponent(id)}/authorization`),
    onSettled: () => client.invalidateQueries({ queryKey: ["config", "mcp-servers"] }),
  });
  useEffect(() => {
    if (!a?.authorized || !asked) return;
    setAsked("");
    void client.invalidateQueries({ queryKey: ["config", "mcp-servers"] });
  }, [a?.authorized, asked, client]);
  const error = connect.error ?? revoke.error ?? query.error;
  return (
    <div role="group" aria-label={t("mcp.authorization")} className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-3">
      <div className="min-w-40 flex-1">
        <p className="font-medium">{t(a?.grant === "server" ? "mcp.grantServer" : "mcp.grantUser")}</p>
        <p role="status" className={a?.authorized ? "text-ok" : "text-wait"}>
          {a && (a.authorized ? (a.since ? t("mcp.authorizedSince", { time: date(a.since) }) : t("mcp.authorized")) : asked ? t("mcp.asked") : t("mcp.unauthorized"))}
        </p>
        {asked && (
          <a href={asked} target="_blank" rel="noopener noreferrer" className="link">
            {t("mcp.openAuthorization")}
          </a>
        )}
        {a?.authorized && (a.scopes?.length ?? 0) > 0 && <p className="mono text-muted [overflow-wrap:anywhere]">{a.scopes!.join(" ")}</p>}
        {error && (
          <p role="alert" className="text-fail [overflow-wrap:anywhere]">
            {error.message}
          </p>
        )}
      </div>
      {a?.authorized ? (
        <Button disabled={revoke.isPending} onClick={() => revoke.mutate()}>
          {t("mcp.revoke")}
        </Button>
      ) : (
        <Button kind="primary" disabled={connect.isPending} onClick={() => connect.mutate()}>
          <Link2 aria-hidden className="size-3.5" />
          {t("mcp.authorize")}
        </Button>
      )}
    </div>
  );
}

interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: { name: string; required?: boolean }[];
}

interface Resource {
  uri: string;
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

/** Inventory lists what a server has besides tools. */
function Inventory({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useQuery({
    queryKey: ["config", "mcp-servers", "inventory", id],
    queryFn: ({ signal }) => ask(api.GET("/v1/mcp-servers/{id}/inventory", { params: { path: { id } }, signal })),
    enabled: present("mcp-servers", id),
    retry: false,
  });
  const prompts = ((query.data?.prompts ?? []) as { prompt: Prompt }[]).map((p) => p.prompt);
  const resources = ((query.data?.resources ?? []) as { resource: Resource }[]).map((r) => r.resource);
  return (
    <div className="grid items-start gap-6 md:grid-cols-2">
      <section aria-label={t("mcp.prompts")} className="panel overflow-hidden">
        <h2 className="border-b border-line px-4 py-2 font-semibold">{t("mcp.prompts")}</h2>
        <Loaded query={query} rows={2}>
          {() =>
            prompts.length === 0 ? (
              <p className="px-4 py-3 text-muted">{t("mcp.noPrompts")}</p>
            ) : (
              <ul aria-label={t("mcp.prompts")} tabIndex={0} className="max-h-80 divide-y divide-line overflow-auto">
                {prompts.map((p) => (
                  <li key={p.name} className="px-4 py-2">
                    <span className="mono font-medium">{p.name}</span> {(p.arguments ?? []).length > 0 && <span className="mono text-muted">({p.arguments!.map((a) => a.name + (a.required ? "" : "?")).join(", ")})</span>}
                    <p className="line-clamp-2 text-muted">{p.description ?? p.title}</p>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <section aria-label={t("mcp.resources")} className="panel overflow-hidden">
        <h2 className="border-b border-line px-4 py-2 font-semibold">{t("mcp.resources")}</h2>
        <Loaded query={query} rows={2}>
          {() =>
            resources.length === 0 ? (
              <p className="px-4 py-3 text-muted">{t("mcp.noResources")}</p>
            ) : (
              <ul aria-label={t("mcp.resources")} tabIndex={0} className="max-h-80 divide-y divide-line overflow-auto">
                {resources.map((r) => (
                  <li key={r.uri} className="px-4 py-2">
                    <span className="font-medium">{r.title ?? r.name}</span> <span className="mono text-muted [overflow-wrap:anywhere]">{r.uri}</span>
                    <p className="line-clamp-2 text-muted">{[r.mimeType, r.description].filter(Boolean).join(" · ")}</p>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
    </div>
  );
}
