import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { CircleHelp, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { api, ask } from "../../api/client";
import { doubtsQuery, isInDoubt } from "../../api/doubts";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { CopyButton, short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Ago } from "../../ui/time";
import type { Dispatch } from "./queries";

/** Panel shows a dispatch: why it is where it is, how each attempt failed, and what can be done. */
export function Panel({ dispatch: d }: { dispatch: Dispatch }) {
  const { t, date, number } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const dead = d.status === "DeadLetter";
  const [asks, setAsks] = useState(false);
  const path = { params: { path: { dispatch_id: d.dispatch_id } } };
  const settled = () => Promise.all([client.invalidateQueries({ queryKey: ["queue"] }), client.invalidateQueries({ queryKey: ["runs"] })]);
  const retry = useMutation({
    mutationFn: () => ask(api.POST("/v1/dead-letters/{dispatch_id}/retry", path)),
    onSuccess: (made) => navigate({ to: "/runs/$id", params: { id: (made as { run_id: string }).run_id } }),
    onSettled: settled,
  });
  const remove = useMutation({ mutationFn: () => api.DELETE("/v1/dead-letters/{dispatch_id}", path), onSuccess: () => navigate({ to: "/queue", search: { view: "dead" }, replace: true }), onSettled: settled });
  const cancel = useMutation({ mutationFn: () => api.POST("/v1/runs/{run_id}/cancel", { params: { path: { run_id: d.run_id } } }), onSettled: settled });
  const doubts = (useQuery({ ...doubtsQuery(d.run_id), enabled: dead }).data ?? []).filter(isInDoubt);
  const failed = retry.error ?? remove.error ?? cancel.error;
  return (
    <>
      <header className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-panel px-4 py-2">
        <h2 className="truncate font-semibold">
          {t(`dispatch.${d.status}` as Key)} <span className="mono text-muted">{short(d.dispatch_id)}</span>
        </h2>
        <CopyButton text={d.dispatch_id} label={t("action.copyId")} />
        <button type="button" aria-label={t("action.close")} className="touch ml-auto inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken" onClick={() => void navigate({ to: "/queue", search: { view: dead ? "dead" : undefined }, replace: true })}>
          <X aria-hidden className="size-4" />
        </button>
      </header>
      <div className="flex flex-col gap-4 p-4">
        <section aria-label={t("run.why")}>
          <p className="font-medium">{t(`cause.${d.because.code}` as Key)}</p>
          <p className="[overflow-wrap:anywhere]">{d.because.detail}</p>
          <p className="text-muted">
            <Ago at={d.because.since} />
            {d.because.run_id && d.because.run_id !== d.run_id && (
              <>
                {" · "}
                <Link to="/runs/$id" params={{ id: d.because.run_id }} className="link mono">
                  {short(d.because.run_id)}
                </Link>
              </>
            )}
          </p>
        </section>
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
          <Fact word={t("runs.run")}>
            <Link to="/runs/$id" params={{ id: d.run_id }} className="link mono">
              {short(d.run_id)}
            </Link>
          </Fact>
          <Fact word={t("runs.thread")}>
            <Link to="/threads/$id" params={{ id: d.thread_id }} className="link mono [overflow-wrap:anywhere]">
              {short(d.thread_id)}
            </Link>
          </Fact>
          <Fact word={t("runs.agent")}>{d.agent_id || "–"}</Fact>
          <Fact word={t("queue.tries")}>
            {number(d.attempt_count)}/{number(d.max_attempts)}
          </Fact>
          {d.crash_count > 0 && <Fact word={t("queue.crashes")}>{number(d.crash_count)}</Fact>}
          {d.claimed_by && (
            <Fact word={t("queue.worker")}>
              <span className="mono [overflow-wrap:anywhere]">{d.claimed_by}</span>
            </Fact>
          )}
          <Fact word={t("queue.created")}>{date(d.created_at)}</Fact>
        </dl>
        {d.failures && d.failures.length > 0 && (
          <section aria-label={t("queue.failures")}>
            <h3 className="mb-1 text-dense font-semibold text-muted">{t("queue.failures")}</h3>
            <ol className="flex flex-col gap-2 border-l-2 border-fail pl-3">
              {d.failures.map((f, i) => (
                <li key={i}>
                  <span className="text-dense text-muted">{date(f.at)}</span>
                  <p className="[overflow-wrap:anywhere]">{f.lost ? t("queue.failureLost") : f.error}</p>
                </li>
              ))}
            </ol>
          </section>
        )}
        {dead && doubts.length > 0 && (
          <p className="flex items-start gap-1.5 text-doubt">
            <CircleHelp aria-hidden className="mt-0.5 size-4 shrink-0" />
            {t("queue.doubts", { n: doubts.length, tools: [...new Set(doubts.map((c) => c.tool_name))].join(", ") })}{" "}
            <Link to="/runs/$id/calls/$call" params={{ id: d.run_id, call: doubts[0]!.call_id }} className="link font-medium">
              {t("overview.settle")}
            </Link>
          </p>
        )}
        {dead && (
          <>
            <p className="text-muted">{d.request ? t("queue.retryHint") : t("queue.noRetry")}</p>
            <div className="flex flex-wrap gap-2">
              <Button kind="primary" why={d.request ? undefined : t("queue.noRetry")} disabled={retry.isPending} onClick={() => retry.mutate()}>
                {t("queue.retry", { n: 1 })}
              </Button>
              <Button kind="danger" disabled={remove.isPending} onClick={() => setAsks(true)}>
                {t("queue.remove", { n: 1 })}
              </Button>
            </div>
          </>
        )}
        {(d.status === "Queued" || d.status === "Claimed") && (
          <div>
            {d.cancel_requested ? (
              <p role="status" className="text-muted">
                {t(d.status === "Queued" ? "queue.cancelled" : "run.cancelling")}
              </p>
            ) : (
              <Button disabled={cancel.isPending} onClick={() => cancel.mutate()}>
                {t(cancel.isPending ? "run.cancelling" : "queue.cancel")}
              </Button>
            )}
          </div>
        )}
        {failed && (
          <p role="alert" className="text-fail [overflow-wrap:anywhere]">
            {failed.message}
          </p>
        )}
        <details>
          <summary className="touch min-h-7 cursor-pointer text-muted">JSON</summary>
          <Json value={d} label="JSON" />
        </details>
      </div>
      <Confirm open={asks} onOpenChange={setAsks} title={t("queue.removeTitle", { n: 1 })} action={t("queue.remove", { n: 1 })} danger onConfirm={() => remove.mutate()}>
        <p>{t("queue.removeHint")}</p>
      </Confirm>
    </>
  );
}

function Fact({ word, children }: { word: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{word}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}
