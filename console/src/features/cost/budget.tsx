import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { base, headers } from "../../api/client";
import { failureOf } from "../../api/errors";
import { useGoverns, useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Loaded } from "../../ui/state";
import { budgetQuery } from "./queries";

/** TenantBudget shows what the tenant may spend, and lets administrators of the server change it. */
export function TenantBudget() {
  const { t, money } = useLanguage();
  const admin = useMay("admin");
  const governs = useGoverns();
  const client = useQueryClient();
  const query = useQuery({ ...budgetQuery, enabled: admin });
  const [text, setText] = useState("");
  const [asks, setAsks] = useState(false);
  const limit = text.trim() === "" ? null : Number(text);
  const change = useMutation({
    mutationFn: async () => {
      // Servers without budgets do not have the route, so the types do not either.
      const res = await fetch(`${base}/v1/budget`, { method: "PUT", headers: { ...headers(), "Content-Type": "application/json" }, credentials: "same-origin", body: JSON.stringify({ limit_usd: limit }) });
      if (!res.ok) throw await failureOf(res);
    },
    onSuccess: () => setText(""),
    onSettled: () => client.invalidateQueries({ queryKey: budgetQuery.queryKey }),
  });
  return (
    <section aria-label={t("cost.budget")} className="panel">
      <header className="flex min-h-10 items-center border-b border-line px-4">
        <h2 className="font-semibold">{t("cost.budget")}</h2>
      </header>
      <div className="flex flex-col gap-3 p-4">
        {!admin ? (
          <p className="text-muted">{t("needs.admin")}</p>
        ) : (
          <Loaded query={query} rows={2}>
            {(b) => (
              <>
                {b.enabled ? (
                  <>
                    <p className="flex justify-between">
                      <span className="text-figure font-semibold tabular-nums">{money(b.spent_usd)}</span>
                      <span className="self-end text-muted">{b.limit_usd === null ? t("cost.noLimit") : t("cost.of", { limit: money(b.limit_usd) })}</span>
                    </p>
                    {b.limit_usd !== null && b.limit_usd > 0 && (
                      <div aria-hidden className="h-2 overflow-hidden rounded-full bg-sunken">
                        <div className={`h-full ${b.spent_usd >= b.limit_usd ? "bg-fail" : b.spent_usd > 0.8 * b.limit_usd ? "bg-wait" : "bg-run"}`} style={{ width: `${Math.min(100, (100 * b.spent_usd) / b.limit_usd)}%` }} />
                      </div>
                    )}
                    <p className="text-dense text-muted">{t("run.reserved", { reserved: money(b.reserved_usd), doubt: money(b.in_doubt_usd) })}</p>
                    {governs && (
                      <form
                        className="flex flex-wrap items-end gap-2"
                        onSubmit={(e) => {
                          e.preventDefault();
                          if (limit === null || limit >= 0) setAsks(true);
                        }}
                      >
                        <label className="flex min-w-0 flex-1 flex-col gap-1 font-medium">
                          {t("cost.newLimit")}
                          <input type="number" min={0} step="any" className="field w-full font-normal" placeholder={t("cost.noLimit")} value={text} onChange={(e) => setText(e.target.value)} />
                        </label>
                        <Button type="submit" disabled={change.isPending}>
                          {t("cost.setLimit")}
                        </Button>
                      </form>
                    )}
                  </>
                ) : (
                  <p className="text-muted">{t("cost.budgetsOff")}</p>
                )}
                {change.error && (
                  <p role="alert" className="text-fail [overflow-wrap:anywhere]">
                    {change.error.message}
                  </p>
                )}
                <Confirm open={asks} onOpenChange={setAsks} title={t("cost.newLimit")} action={t("cost.setLimit")} onConfirm={() => change.mutate()}>
                  <p>{limit === null ? t("cost.limitGone") : t("cost.limitBecomes", { limit: money(limit), spent: money(b.spent_usd) })}</p>
                </Confirm>
              </>
            )}
          </Loaded>
        )}
      </div>
    </section>
  );
}
