import { queryOptions, useQuery } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { api, ask } from "../../api/client";
import { present } from "../../api/config";
import { ApiError } from "../../api/errors";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Json } from "../../ui/json";
import { safe } from "../../ui/markdown";
import { Failure, Skeleton } from "../../ui/state";

/** The part of an agent card that is shown, of the versions 0.3 and 1.0 of the protocol. */
interface Card {
  name?: string;
  description?: string;
  version?: string;
  url?: string;
  preferredTransport?: string;
  protocolVersion?: string;
  provider?: { organization?: string; url?: string };
  capabilities?: Record<string, unknown>;
  supportedInterfaces?: Interface[];
  additionalInterfaces?: Interface[];
  defaultInputModes?: string[];
  defaultOutputModes?: string[];
  skills?: { id?: string; name?: string; description?: string; tags?: string[]; examples?: string[] }[];
}

interface Interface {
  url?: string;
  protocolBinding?: string;
  protocolVersion?: string;
  transport?: string;
}

const statusQuery = (id: string) => queryOptions({ queryKey: ["config", "a2a-servers", "status", id], queryFn: ({ signal }) => ask(api.GET("/v1/a2a-servers/{id}/status", { params: { path: { id } }, signal })), staleTime: 30_000, enabled: present("a2a-servers", id), retry: false });

/** A2aState says whether a server can be used. */
export function A2aState({ id }: { id: string }) {
  const { t } = useLanguage();
  const { data } = useQuery(statusQuery(id));
  if (!data) return null;
  return (
    <span className={data.connected ? "text-ok" : "text-fail"} title={data.last_error ?? undefined}>
      {t(data.connected ? "a2a.connected" : "a2a.down")}
    </span>
  );
}

function interfacesOf(card: Card): Interface[] {
  if (card.supportedInterfaces?.length) return card.supportedInterfaces;
  const first: Interface[] = card.url ? [{ url: card.url, protocolBinding: card.preferredTransport ?? "JSONRPC", protocolVersion: card.protocolVersion }] : [];
  return [...first, ...(card.additionalInterfaces ?? []).filter((i) => i.url !== card.url || i.transport !== card.preferredTransport)];
}

/** A2aPanel shows the agent card that a server has now: who it is, where it is spoken to, what it can do. */
export function A2aPanel({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useQuery(statusQuery(id));
  const s = query.data;
  const card = (s?.card ?? null) as Card | null;
  return (
    <section aria-label={t("a2a.card")} className="panel overflow-hidden">
      <header className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <h2 className="font-semibold">{t("a2a.card")}</h2>
        <span role="status" className={`font-medium ${s?.connected ? "text-ok" : "text-fail"}`}>
          {s && t(s.connected ? "a2a.connected" : "a2a.down")}
        </span>
        <Button className="ml-auto" disabled={query.isFetching} onClick={() => void query.refetch()}>
          <RotateCw aria-hidden className="size-3.5" />
          {t("a2a.refresh")}
        </Button>
      </header>
      {query.isPending && <Skeleton rows={3} />}
      {query.isError && (query.error instanceof ApiError && query.error.status === 404 ? <p className="px-4 py-3 text-muted">{t("mcp.notLive")}</p> : <Failure error={query.error} retry={() => void query.refetch()} />)}
      {s?.last_error && <p className="px-4 pt-3 text-fail [overflow-wrap:anywhere]">{s.last_error}</p>}
      {s && (
        <p className="flex flex-wrap gap-x-2 px-4 pt-3 text-muted">
          {t("a2a.from")} <span className="mono [overflow-wrap:anywhere]">{s.card_url}</span>
        </p>
      )}
      {card && <CardView card={card} />}
      {!card && s && <div className="pb-3" />}
    </section>
  );
}

function CardView({ card }: { card: Card }) {
  const { t } = useLanguage();
  const interfaces = interfacesOf(card);
  const able = Object.entries(card.capabilities ?? {}).filter(([, v]) => v === true);
  const site = safe(card.provider?.url ?? "");
  const skills = card.skills ?? [];
  return (
    <div className="flex flex-col gap-4 p-4">
      <div>
        <h3 className="text-title font-semibold">
          {card.name} {card.version && <span className="mono font-normal text-muted">{card.version}</span>}
        </h3>
        {card.description && <p className="[overflow-wrap:anywhere]">{card.description}</p>}
        {card.provider?.organization && (
          <p className="text-muted">
            {site ? (
              <a href={site} target="_blank" rel="noreferrer" className="link">
                {card.provider.organization}
              </a>
            ) : (
              card.provider.organization
            )}
          </p>
        )}
      </div>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        <dt className="text-muted">{t("a2a.can")}</dt>
        <dd>{able.length ? able.map(([name]) => name).join(", ") : "–"}</dd>
        <dt className="text-muted">{t("a2a.takes")}</dt>
        <dd className="[overflow-wrap:anywhere]">{card.defaultInputModes?.join(", ") || "–"}</dd>
        <dt className="text-muted">{t("a2a.gives")}</dt>
        <dd className="[overflow-wrap:anywhere]">{card.defaultOutputModes?.join(", ") || "–"}</dd>
      </dl>
      <section aria-label={t("a2a.interfaces")}>
        <h3 className="mb-1 font-semibold">{t("a2a.interfaces")}</h3>
        {interfaces.length === 0 && <p className="text-muted">{t("a2a.noInterfaces")}</p>}
        <ul className="divide-y divide-line">
          {interfaces.map((i) => (
            <li key={`${i.url} ${i.protocolBinding ?? i.transport}`} className="flex flex-wrap items-baseline gap-x-3 py-1">
              <span className="w-28 font-medium">{i.protocolBinding ?? i.transport}</span>
              <span className="mono w-10 text-muted">{i.protocolVersion}</span>
              <span className="mono [overflow-wrap:anywhere]">{i.url}</span>
            </li>
          ))}
        </ul>
      </section>
      <section aria-label={t("a2a.skills")}>
        <h3 className="mb-1 font-semibold">{t("a2a.skills")}</h3>
        {skills.length === 0 && <p className="text-muted">{t("a2a.noSkills")}</p>}
        <ul tabIndex={0} aria-label={t("a2a.skills")} className="max-h-80 divide-y divide-line overflow-auto">
          {skills.map((x, n) => (
            <li key={x.id ?? n} className="py-2">
              <span className="font-medium">{x.name ?? x.id}</span> {x.id && x.id !== x.name && <span className="mono text-muted">{x.id}</span>}
              <p className="text-muted [overflow-wrap:anywhere]">{x.description}</p>
              {(x.examples ?? []).map((e) => (
                <p key={e} className="text-dense text-muted italic [overflow-wrap:anywhere]">
                  {e}
                </p>
              ))}
              {(x.tags ?? []).length > 0 && <p className="mono text-dense text-muted">{x.tags!.join(" · ")}</p>}
            </li>
          ))}
        </ul>
      </section>
      <details>
        <summary className="min-h-6 cursor-pointer text-muted">{t("agent.raw")}</summary>
        <div className="mt-2">
          <Json value={card} label={t("a2a.card")} />
        </div>
      </details>
    </div>
  );
}
