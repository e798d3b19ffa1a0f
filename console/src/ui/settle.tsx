import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, CircleHelp, X } from "lucide-react";
import { useId, useState } from "react";
import { api } from "../api/client";
import { isInDoubt, type Call } from "../api/doubts";
import { ApiError } from "../api/errors";
import type { components } from "../api/schema";
import { useMay } from "../api/session";
import { useLanguage, type Key } from "../i18n/i18n";
import { Button } from "./button";
import { short } from "./id";
import { Json } from "./json";

/** parsed returns the value that a text stands for: JSON, or the text itself. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** useWho returns the name of the one who decided. */
export function useWho() {
  const { t } = useLanguage();
  return (actor?: components["schemas"]["Actor"]) => actor?.user || actor?.label || actor?.key_id || t("call.noActor");
}

/** Settlement says that a call is in doubt and takes the word of a person about it, also after its run has ended; or says who settled it. */
export function Settlement({ run, call }: { run: string; call: Call }) {
  const { t, date } = useLanguage();
  const who = useWho();
  const may = useMay("run");
  const client = useQueryClient();
  const id = useId();
  const [result, setResult] = useState("");
  const [reason, setReason] = useState("");
  const settle = useMutation({
    mutationFn: (outcome: "made" | "not_made") =>
      api.POST("/v1/runs/{run_id}/decision", {
        params: { path: { run_id: run } },
        body: { tool_call_id: call.call_id, outcome, ...(reason.trim() ? { reason: reason.trim() } : {}), ...(outcome === "made" && result.trim() ? { payload: parsed(result) } : {}) },
      }),
    onSettled: () => Promise.all([["run", run], ["thread"], ["runs"], ["approvals"]].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
  if (!call.doubt) return null;
  const error = settle.error;
  const other = error instanceof ApiError && error.status === 409 ? error.body.decision : undefined;
  const settled = call.doubt.settled;
  const over = call.status === "succeeded" || call.status === "failed" || call.status === "cancelled";
  return (
    <section aria-labelledby={id} className={`flex flex-col gap-2 rounded-md border border-l-4 border-line bg-panel p-3 ${isInDoubt(call) ? "border-l-doubt" : ""}`}>
      {isInDoubt(call) ? (
        <>
          <h3 id={id} className="flex items-center gap-1.5 font-semibold text-doubt">
            <CircleHelp aria-hidden className="size-4 shrink-0" />
            {t("settle.title")}
          </h3>
          <p className="text-muted">
            {t(`settle.origin.${call.doubt.origin}` as Key, { time: date(call.doubt.since) })}{" "}
            {call.doubt.run_id && (
              <Link to="/runs/$id" params={{ id: call.doubt.run_id }} className="link">
                {t("settle.child", { id: short(call.doubt.run_id) })}
              </Link>
            )}
          </p>
          {over && may && (
            <>
              <p className="text-muted">{t("settle.hint")}</p>
              <label className="flex flex-col gap-1">
                <span className="font-medium">{t("settle.result")}</span>
                <textarea className="field mono w-full" rows={2} value={result} onChange={(e) => setResult(e.target.value)} disabled={settle.isPending} />
                <span className="text-dense text-muted">{t("settle.resultHint")}</span>
              </label>
              <label className="flex flex-col gap-1">
                <span className="font-medium">{t("settle.reason")}</span>
                <input className="field w-full" value={reason} onChange={(e) => setReason(e.target.value)} disabled={settle.isPending} />
              </label>
              <div className="flex flex-wrap gap-2">
                <Button disabled={settle.isPending} onClick={() => settle.mutate("made")}>
                  <Check aria-hidden className="size-4" />
                  {t("settle.made")}
                </Button>
                <Button why={result.trim() ? t("settle.noResult") : undefined} disabled={settle.isPending} onClick={() => settle.mutate("not_made")}>
                  <X aria-hidden className="size-4" />
                  {t("settle.notMade")}
                </Button>
              </div>
            </>
          )}
        </>
      ) : (
        settled && (
          <>
            <h3 id={id} className={`flex items-center gap-1.5 font-semibold ${settled.outcome === "made" ? "text-ok" : "text-idle"}`}>
              {settled.outcome === "made" ? <Check aria-hidden className="size-4 shrink-0" /> : <X aria-hidden className="size-4 shrink-0" />}
              {t(settled.outcome === "made" ? "settle.wasMade" : "settle.wasNotMade")}
            </h3>
            <p className="text-muted">
              {settled.by === "person" ? t("settle.by", { who: who(settled.actor), time: date(settled.at) }) : t(settled.by === "probe" ? "settle.byProbe" : "settle.byTool", { time: date(settled.at) })}
            </p>
            {settled.reason && <p className="[overflow-wrap:anywhere]">{settled.reason}</p>}
            {settled.result !== undefined && settled.result !== null && <Json value={settled.result} label={t("settle.result")} />}
          </>
        )
      )}
      {error && (
        <p role="alert" className="text-fail [overflow-wrap:anywhere]">
          {other ? t(other.outcome === "made" ? "settle.otherMade" : "settle.otherNotMade", { who: who(other.actor), time: date(other.at) }) : error.message}
        </p>
      )}
    </section>
  );
}
