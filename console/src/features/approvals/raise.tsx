import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, base, headers } from "../../api/client";
import { failureOf } from "../../api/errors";
import { useMay } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import type { Approval } from "./queries";

/** Raise raises the limit that a run has met, and continues the run. */
export function Raise({ approval: a }: { approval: Approval }) {
  const { t, money } = useLanguage();
  const admin = useMay("admin");
  const client = useQueryClient();
  const e = a.budget!;
  const [limit, setLimit] = useState(String(Math.ceil((e.spent_usd + (e.reserved_usd ?? 0) + e.needed_usd) * 200) / 100));
  const raise = useMutation({
    mutationFn: async () => {
      const at = encodeURIComponent;
      const owner = { run: `/v1/runs/${at(e.id || a.run_id)}`, thread: `/v1/threads/${at(e.id || a.thread_id)}`, agent: `/v1/agents/${at(e.id || a.agent_id)}`, tenant: "/v1" }[e.scope];
      // Servers without budgets do not have the route, so the types do not either.
      const res = await fetch(`${base}${owner}/budget`, { method: "PUT", headers: { ...headers(), "Content-Type": "application/json" }, credentials: "same-origin", body: JSON.stringify({ limit_usd: Number(limit) }) });
      if (!res.ok) throw await failureOf(res);
      await api.POST("/v1/runs/{run_id}/continue", { params: { path: { run_id: a.run_id } } });
    },
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: ["approvals"] }), client.invalidateQueries({ queryKey: ["run", a.run_id] })]),
  });
  return (
    <form
      className="mt-3 flex flex-wrap items-end gap-2"
      onSubmit={(ev) => {
        ev.preventDefault();
        if (admin && Number(limit) > 0) raise.mutate();
      }}
    >
      <label className="flex flex-col gap-1 font-medium">
        {t("approvals.newLimit", { scope: t(`scope.${e.scope}` as Key), now: money(e.limit_usd) })}
        <input className="field w-40 font-normal" type="number" min={0} step="any" value={limit} onChange={(ev) => setLimit(ev.target.value)} disabled={!admin} />
      </label>
      <Button kind="primary" type="submit" why={admin ? undefined : t("needs.admin")} disabled={raise.isPending || raise.isSuccess}>
        {t("approvals.raise")}
      </Button>
      <p role="status" className="w-full">
        {raise.isSuccess && <span className="text-ok">{t("approvals.raised")}</span>}
        {raise.error && <span className="text-fail">{raise.error.message}</span>}
      </p>
    </form>
  );
}
