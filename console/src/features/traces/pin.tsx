import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pin, PinOff } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { short } from "../../ui/id";
import { Labelled } from "../../ui/labelled";
import { Overlay } from "../../ui/overlay";
import { Ago } from "../../ui/time";

type Reason = components["schemas"]["Pin"];

const pathOf = (run_id: string) => ({ params: { path: { run_id } } });

export const pinsQuery = (id: string) => queryOptions({ queryKey: ["traces", "pins", id], queryFn: async ({ signal }) => (await ask(api.GET("/v1/traces/{run_id}/pin", { ...pathOf(id), signal }))).pins, retry: false });

/** own returns the pin of an operator on this run, which people set and remove. */
const own = (pins: Reason[]) => pins.find((p) => p.kind === "operator" && !p.ref && !p.run_id);

/** usePin returns a function that pins a run, for a reason, or removes the pin, and returns what keeps it then. */
export function usePin() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ id, on, reason }: { id: string; on: boolean; reason?: string }) => {
      if (on) await api.POST("/v1/traces/{run_id}/pin", { ...pathOf(id), body: { reason: reason?.trim() || undefined } });
      else await api.DELETE("/v1/traces/{run_id}/pin", pathOf(id));
      return client.fetchQuery({ ...pinsQuery(id), staleTime: 0 });
    },
    onSettled: () => void client.invalidateQueries({ queryKey: ["traces", "list"] }),
  });
}

/** PinButton pins the run of a trace, with a reason if there is one, or removes that pin. */
export function PinButton({ id }: { id: string }) {
  const { t } = useLanguage();
  const pins = useQuery(pinsQuery(id));
  const pin = usePin();
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  if (!pins.data) return null; // the trace of a cell of an evaluation is kept with the evaluation
  const pinned = own(pins.data) !== undefined;
  return (
    <>
      <Button disabled={pin.isPending} title={pin.error?.message} onClick={() => (pinned ? pin.mutate({ id, on: false }) : setAsking(true))}>
        {pinned ? <PinOff aria-hidden className="size-3.5" /> : <Pin aria-hidden className="size-3.5" />}
        {t(pinned ? "traces.unpin" : "traces.pin")}
      </Button>
      {asking && (
        <Overlay open onOpenChange={(o) => !o && setAsking(false)} title={t("traces.pinTitle")} className="p-4">
          <form
            className="flex flex-col gap-3"
            onSubmit={(e) => {
              e.preventDefault();
              pin.mutate({ id, on: true, reason }, { onSuccess: () => setAsking(false) });
            }}
          >
            <h2 className="text-title font-semibold">{t("traces.pinTitle")}</h2>
            <p className="text-muted">{t("traces.pinHint")}</p>
            <Labelled label={t("traces.pinReason")} bad={pin.error?.message}>
              {(props) => <input {...props} className="field w-full" maxLength={300} value={reason} onChange={(e) => setReason(e.target.value)} />}
            </Labelled>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setAsking(false)}>{t("action.cancel")}</Button>
              <Button kind="primary" type="submit" disabled={pin.isPending}>
                {t("traces.pin")}
              </Button>
            </div>
          </form>
        </Overlay>
      )}
    </>
  );
}

/** Kept says what keeps a run from retention: people, datasets, evidence of a publication, or the run above it. */
export function Kept({ id }: { id: string }) {
  const { t } = useLanguage();
  const pins = useQuery(pinsQuery(id));
  if (!pins.data?.length) return null;
  return (
    <ul aria-label={t("traces.kept")} className="flex flex-col gap-1 border-b border-line bg-sunken px-4 py-2">
      {pins.data.map((p, i) => (
        <li key={i} className="flex flex-wrap items-center gap-x-2">
          <Pin aria-hidden className="size-3.5 shrink-0 text-accent" />
          <span>{t(`traces.pinnedBy.${p.kind}` as Key)}</span>
          {p.ref && (
            <Link to={p.kind === "dataset" ? "/datasets/$id" : "/evals/$id"} params={{ id: p.ref }} className="link">
              {p.kind === "dataset" ? p.ref : short(p.ref)}
            </Link>
          )}
          {p.run_id && (
            <Link to="/traces/$id" params={{ id: p.run_id }} className="link">
              {t("traces.pinnedAbove", { id: short(p.run_id) })}
            </Link>
          )}
          {p.reason && <q className="[overflow-wrap:anywhere]">{p.reason}</q>}
          <span className="text-muted">
            {p.by} · <Ago at={p.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
