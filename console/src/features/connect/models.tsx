import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Plug, X } from "lucide-react";
import { api, ask } from "../../api/client";
import { documentsQuery } from "../../api/config";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { useWhy } from "../../ui/savebar";
import { Ago } from "../../ui/time";

/** ModelHealth says whether requests reach a model. */
export function ModelHealth({ id }: { id: string }) {
  const { t, word } = useLanguage();
  const query = useQuery({ queryKey: ["config", "models", "health"], queryFn: ({ signal }) => ask(api.GET("/v1/models/health", { signal })), refetchInterval: 15_000 });
  const h = query.data?.models.find((m) => m.model_id === id);
  if (!h) return null;
  const ok = h.state === "closed" && h.health === "ok";
  const at = h.health === "failing" ? h.last_error_at : h.last_success_at;
  if (h.state === "closed" && h.health === "unknown") return <span className="text-muted">{t("models.unknown")}</span>;
  return (
    <span className={ok ? "text-ok" : "text-fail"} title={h.last_error}>
      {ok ? t("models.ok") : h.state === "closed" ? t("models.failing", { error: h.last_error ?? "" }) : (word(`breaker.${h.state}`) ?? h.state)}
      {at !== undefined && (
        <>
          {" "}
          <Ago at={at / 1000} />
        </>
      )}
      {h.consecutive_failures > 0 && ` · ${t("models.failures" as Key, { n: h.consecutive_failures })}`}
    </span>
  );
}

/** ProviderTest sends a request to the provider, and says what came back. */
export function ProviderTest({ id }: { id: string }) {
  const { t, span } = useLanguage();
  const why = useWhy();
  const models = useQuery(documentsQuery("models"));
  const test = useMutation({ mutationFn: () => ask(api.POST("/v1/providers/{id}/test", { params: { path: { id } } })) });
  const own = (models.data ?? []).filter((m) => m.doc.provider_id === id);
  const r = test.data;
  return (
    <section aria-label={t("providers.connection")} className="panel flex flex-col gap-2 p-4">
      <div className="flex flex-wrap items-center gap-3">
        <h2 className="font-semibold">{t("providers.connection")}</h2>
        <div role="status" className="min-w-0 flex-1">
          {r?.ok && (
            <span className="flex items-center gap-1.5 text-ok">
              <Check aria-hidden className="size-4" />
              {r.network_tested ? t("providers.works", { time: span(r.latency_ms) }) : t("providers.noNetwork")}
            </span>
          )}
          {r && !r.ok && (
            <span className="flex items-start gap-1.5 text-fail [overflow-wrap:anywhere]">
              <X aria-hidden className="mt-0.5 size-4 shrink-0" />
              {r.error}
            </span>
          )}
          {test.error && <span className="text-fail [overflow-wrap:anywhere]">{test.error.message}</span>}
        </div>
        <Button why={why} disabled={test.isPending} onClick={() => test.mutate()}>
          <Plug aria-hidden className="size-3.5" />
          {t(test.isPending ? "providers.testing" : "providers.test")}
        </Button>
      </div>
      <p className="flex flex-wrap gap-x-3 text-muted">
        {own.length === 0 ? t("providers.noModels") : t("providers.models")}
        {own.map((m) => (
          <Link key={String(m.doc.id)} to="/models/$id" params={{ id: String(m.doc.id) }} className="link mono">
            {String(m.doc.id)}
          </Link>
        ))}
        <Link to="/models/-/new" className="link">
          {t("models.new")}
        </Link>
      </p>
    </section>
  );
}
