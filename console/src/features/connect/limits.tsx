import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { forgetLimits, isLearned, limitsQuery, type Limit } from "../../api/limits";
import { useGoverns } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { LimitMeters } from "../../ui/limit";
import { Loaded } from "../../ui/state";

/** ProviderLimits shows the rate limits of a provider, and forgets those that were learned. */
export function ProviderLimits({ id }: { id: string }) {
  const { t } = useLanguage();
  const governs = useGoverns();
  const client = useQueryClient();
  const limits = useQuery({ ...limitsQuery, enabled: governs, refetchInterval: 5000 });
  const [asks, setAsks] = useState<Limit>();
  const forget = useMutation({ mutationFn: (l: Limit) => forgetLimits(id, l.model), onSettled: () => client.invalidateQueries({ queryKey: limitsQuery.queryKey }) });
  if (!governs) return null;
  const nameOf = (l?: Limit) => l?.model ?? t("providers.allModels");
  return (
    <section aria-label={t("providers.limits")} className="panel flex flex-col gap-2 p-4">
      <h2 className="font-semibold">{t("providers.limits")}</h2>
      <p className="text-dense text-muted">{t("providers.limitsHint")}</p>
      <Loaded query={limits} rows={2}>
        {(list) => {
          const own = list.items.filter((l) => l.provider_id === id);
          if (own.length === 0) return <p className="text-muted">{t("providers.noLimits")}</p>;
          return (
            <ul className="flex flex-col gap-3">
              {own.map((l) => (
                <li key={`${l.model ?? ""}/${l.tenant ?? ""}`} className="flex flex-wrap items-start gap-x-4 gap-y-2">
                  <div className="min-w-56 flex-1">
                    <p className="flex flex-wrap gap-x-2">
                      <span className="mono font-medium">{nameOf(l)}</span>
                      {l.tenant && <span className="text-muted">{l.tenant}</span>}
                      {l.waiting > 0 && <span className="ml-auto text-wait">{t("queue.limitWaits", { n: l.waiting })}</span>}
                    </p>
                    <LimitMeters limit={l} />
                  </div>
                  {isLearned(l) && l.tenant === undefined && (
                    <Button disabled={forget.isPending} aria-label={t("providers.forgetOf", { model: nameOf(l) })} onClick={() => setAsks(l)}>
                      <RotateCcw aria-hidden className="size-3.5" />
                      {t("providers.forget")}
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
      <div role="status">{forget.isSuccess && <p className="text-ok">{t("providers.forgotten", { model: nameOf(forget.variables) })}</p>}</div>
      {forget.error && (
        <p role="alert" className="text-fail [overflow-wrap:anywhere]">
          {forget.error.message}
        </p>
      )}
      <Confirm open={asks !== undefined} onOpenChange={(open) => !open && setAsks(undefined)} title={t("providers.forgetTitle", { model: nameOf(asks) })} action={t("providers.forget")} onConfirm={() => asks && forget.mutate(asks)}>
        <p>{t("providers.forgetHint")}</p>
      </Confirm>
    </section>
  );
}
