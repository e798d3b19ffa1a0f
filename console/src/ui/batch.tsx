import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { components } from "../api/schema";
import { useLanguage } from "../i18n/i18n";

type Result = components["schemas"]["BatchResult"];
export type BatchFailure = { id: string; error: string };

export interface Batch<T> {
  start: (items: T[]) => void;
  running: boolean;
  done: number;
  of: number;
  failures: BatchFailure[];
  finished: boolean;
  clear: () => void;
}

const SIZE = 20;

/** useBatch does something to many items, some at a time, so that the page can say how far it is. An item that fails does not stop the others. */
export function useBatch<T>(send: (items: T[]) => Promise<Result>, keys: unknown[][]): Batch<T> {
  const client = useQueryClient();
  const [state, setState] = useState({ done: 0, of: 0, failures: [] as BatchFailure[], finished: false });
  const work = useMutation({
    mutationFn: async (items: T[]) => {
      const failures: BatchFailure[] = [];
      setState({ done: 0, of: items.length, failures, finished: false });
      for (let i = 0; i < items.length; i += SIZE) {
        const some = items.slice(i, i + SIZE);
        try {
          const result = await send(some);
          for (const r of result.items) if (r.error) failures.push({ id: r.id || r.run_id || "", error: r.error });
        } catch (err) {
          failures.push({ id: "", error: (err as Error).message });
          setState({ done: i, of: items.length, failures: [...failures], finished: true });
          return;
        }
        setState({ done: i + some.length, of: items.length, failures: [...failures], finished: i + some.length === items.length });
      }
    },
    onSettled: () => Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
  return { ...state, start: (items) => work.mutate(items), running: work.isPending, clear: () => setState({ done: 0, of: 0, failures: [], finished: false }) };
}

/** BatchLine says how far a batch is, and what failed. */
export function BatchLine<T>({ batch }: { batch: Batch<T> }) {
  const { t } = useLanguage();
  if (batch.of === 0) return null;
  const failed = batch.failures.length;
  return (
    <div className="flex flex-col gap-1 border-b border-line bg-sunken px-4 py-2">
      <div className="flex items-center gap-3">
        <progress className="h-1.5 w-40" aria-label={t("batch.progress", { done: batch.done, of: batch.of })} max={batch.of} value={batch.done} />
        <p role="status" className="min-w-0 flex-1">
          {batch.finished ? t("batch.finished", { done: batch.done - failed, of: batch.of }) : t("batch.progress", { done: batch.done, of: batch.of })}
          {failed > 0 && <span className="text-fail"> {t("batch.failed", { n: failed })}</span>}
        </p>
        {batch.finished && (
          <button type="button" className="link" onClick={batch.clear}>
            {t("action.close")}
          </button>
        )}
      </div>
      {failed > 0 && (
        <ul className="max-h-32 overflow-auto text-dense" tabIndex={0} aria-label={t("batch.failed", { n: failed })}>
          {batch.failures.map((f, i) => (
            <li key={i} className="[overflow-wrap:anywhere]">
              <span className="mono text-muted">{f.id.slice(-8)}</span> {f.error}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
