import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Ban, RotateCw, Trash2 } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "../../api/client";
import { call } from "../../api/config";
import { adhoc, datasetQuery, evalRunQuery, evalRunsQuery, type EvalReply, type EvalRun } from "../../api/evals";
import { useLanguage, type Key } from "../../i18n/i18n";
import { pause, read } from "../../live/sse";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { CopyButton, short } from "../../ui/id";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { save } from "../../ui/save";
import { Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { PassBar } from "./evals";
import { changesOf, junit, markdown, ndjson } from "./matrix";
import { Results } from "./results";
import type { EvalSearch } from "./search";

/** EvalResult shows what an evaluation found, while it runs and after: by variant, by case, and against a baseline. */
export function EvalResult() {
  const { t } = useLanguage();
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <Needs ability="admin">
      <Has feature="evals" setting="admin.expose_eval_routes">
        <Shown key={id} id={id} word={t("nav.evals")} />
      </Has>
    </Needs>
  );
}

interface Progress {
  done: number;
  total: number;
  passed: number;
  failed: number;
  status: string;
}

/** useProgress follows a run over a dataset until it has ended, and has its page read again, now and then. */
function useProgress(id: string, running: boolean): Progress | undefined {
  const client = useQueryClient();
  const [progress, setProgress] = useState<Progress>();
  useEffect(() => {
    if (!running) return;
    const stop = new AbortController();
    let timer = 0;
    const refresh = (after: number) => {
      if (timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        void client.invalidateQueries({ queryKey: ["evals"] });
      }, after);
    };
    const follow = async () => {
      for (let attempt = 0; !stop.signal.aborted; attempt++) {
        try {
          let last: Progress | undefined;
          await read(
            `/v1/eval/runs/${encodeURIComponent(id)}/events`,
            (frame) => {
              last = JSON.parse(frame.data) as Progress;
              setProgress(last);
              refresh(2000);
            },
            stop.signal,
            () => (attempt = 0),
          );
          if (last && last.status !== "running") {
            void client.invalidateQueries({ queryKey: ["evals"] });
            return;
          }
        } catch {
          // the stream broke: it is opened again
        }
        await pause(attempt, stop.signal);
      }
    };
    void follow();
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [client, id, running]);
  return running ? progress : undefined;
}

function Shown({ id, word }: { id: string; word: string }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as EvalSearch;
  const run = useQuery({ ...evalRunQuery(id, search.baseline), placeholderData: keepPreviousData });
  const r = run.data?.run ?? undefined;
  const progress = useProgress(id, r?.status === "running");
  const baseline = search.baseline ?? r?.baseline_run_id;
  const before = useQuery({ ...evalRunQuery(baseline ?? ""), enabled: baseline !== undefined, retry: false });
  const dataset = useQuery({ ...datasetQuery(r && r.dataset_id !== adhoc ? r.dataset_id : ""), retry: false });
  const cases = dataset.data && dataset.data.meta.revision === r?.dataset_revision ? dataset.data.spec.fixtures : undefined;
  const passed = r?.items.filter((it) => it.report?.passed).length ?? 0;
  const name = r ? (r.dataset_id === adhoc ? t("evals.adhoc") : r.dataset_id) : short(id);
  return (
    <Page
      crumbs={[{ text: word, to: "/evals" }, { text: r ? `${name} ${short(id)}` : name }]}
      title={t("evals.title", { name })}
      badge={
        r && (
          <span className="flex flex-wrap items-center gap-x-3 text-muted">
            <CopyButton text={id} label={t("action.copyId")} />
            <span className={r.status === "running" ? "text-run" : ""} role="status">
              {t(`evals.status.${r.status}` as Key)}
            </span>
            {r.dataset_id !== adhoc && (
              <Link to="/datasets/$id" params={{ id: r.dataset_id }} className="link">
                {t("datasets.revision", { n: r.dataset_revision })}
              </Link>
            )}
            <span>{t(`evals.mode.${r.execution_mode}` as Key)}</span>
            {r.agent_id && (
              <Link to="/agents/$id" params={{ id: r.agent_id }} className="link">
                {r.version ? t("evals.ofAgent", { agent: r.agent_id, version: r.version }) : r.agent_id}
              </Link>
            )}
            <Ago at={r.started_at_secs} />
          </span>
        )
      }
      actions={r && run.data && <Actions run={r} reply={run.data} />}
    >
      <div className="flex min-h-0 flex-1 flex-col">
        {r?.status === "running" && (
          <div className="border-b border-line px-4 py-2" role="progressbar" aria-label={t("evals.progress")} aria-valuemin={0} aria-valuemax={progress?.total ?? r.cell_count} aria-valuenow={progress?.done ?? r.items.length}>
            <PassBar passed={progress?.passed ?? passed} failed={progress?.failed ?? r.items.length - passed} of={progress?.total ?? r.cell_count} />
          </div>
        )}
        <Loaded query={run} rows={10}>
          {(reply) => (
            <Results
              items={reply.run?.items ?? []}
              statistics={reply.statistics ?? []}
              diff={reply.diff}
              comparisons={reply.comparisons}
              before={reply.diff ? before.data?.run?.items : undefined}
              cases={cases}
              stale={cases === undefined && reply.run?.dataset_id !== adhoc && dataset.isFetched}
              search={search}
              set={(change) => void navigate({ to: "/evals/$id", params: { id }, search: { ...search, ...change }, replace: true })}
              waits={reply.run?.status === "running"}
            >
              {reply.run && reply.run.dataset_id !== adhoc && <Baseline run={reply.run} value={baseline ?? ""} set={(baseline) => void navigate({ to: "/evals/$id", params: { id }, search: { ...search, baseline: baseline || undefined, show: undefined }, replace: true })} />}
            </Results>
          )}
        </Loaded>
      </div>
    </Page>
  );
}

/** Baseline chooses the run that this one is compared with, among those that can be. */
function Baseline({ run, value, set }: { run: EvalRun; value: string; set: (id: string) => void }) {
  const { t, ago } = useLanguage();
  const runs = useQuery(evalRunsQuery(run.dataset_id));
  const list = (runs.data ?? []).filter((r) => r.id !== run.id && r.status === "done" && r.dataset_revision === run.dataset_revision && r.execution_mode === run.execution_mode);
  return (
    <label className="inline-flex items-center gap-2 font-medium">
      {t("evals.baseline")}
      <select className="field font-normal" value={value} onChange={(e) => set(e.target.value)}>
        <option value="">{t("evals.noBaseline")}</option>
        {value && !list.some((r) => r.id === value) && <option value={value}>{short(value)}</option>}
        {list.map((r) => (
          <option key={r.id} value={r.id}>
            {short(r.id)} · {t("evals.passedOf", { n: r.passed_count, of: r.cell_count })} · {ago(r.started_at_secs * 1000, Date.now())}
          </option>
        ))}
      </select>
    </label>
  );
}

function Actions({ run, reply }: { run: EvalRun; reply: EvalReply }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const params = { path: { id: run.id } };
  const cancel = useMutation({ mutationFn: () => api.POST("/v1/eval/runs/{id}/cancel", { params }), onSettled: () => client.invalidateQueries({ queryKey: ["evals"] }) });
  const remove = useMutation({
    mutationFn: () => api.DELETE("/v1/eval/runs/{id}", { params }),
    onSuccess: async () => {
      await navigate({ to: "/evals" });
      client.removeQueries({ queryKey: ["evals", "one", run.id] });
      void client.invalidateQueries({ queryKey: ["evals"] });
    },
  });
  const again = useMutation({
    mutationFn: async () => (await call("POST", "/v1/eval/runs", { repeat_of: run.id, ...(run.status === "done" && { baseline_run_id: run.id }) }, { Prefer: "respond-async" })).data as EvalReply,
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ["evals"] });
      void navigate({ to: "/evals/$id", params: { id: made.run!.id } });
    },
  });
  const name = run.dataset_id === adhoc ? "online" : run.dataset_id;
  const error = cancel.error ?? remove.error ?? again.error;
  return (
    <span className="flex flex-wrap items-center justify-end gap-2">
      {error && (
        <span role="alert" className="text-fail [overflow-wrap:anywhere]">
          {error.message}
        </span>
      )}
      <select
        className="field"
        aria-label={t("evals.export")}
        value=""
        onChange={(e) => {
          const changes = changesOf(run.items, reply.diff);
          const file = `${name}-${run.id.slice(-6)}`;
          if (e.target.value === "junit") save(`${file}.xml`, junit(name, changes, run.items), "application/xml");
          if (e.target.value === "markdown") save(`${file}.md`, markdown(changes), "text/markdown");
          if (e.target.value === "ndjson") save(`${file}.ndjson`, ndjson(run.items), "application/x-ndjson");
        }}
      >
        <option value="">{t("evals.export")}</option>
        <option value="junit">JUnit</option>
        <option value="markdown">Markdown</option>
        <option value="ndjson">NDJSON</option>
      </select>
      {run.status === "running" ? (
        <Button disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          <Ban aria-hidden className="size-3.5" />
          {t("evals.cancel")}
        </Button>
      ) : (
        <>
          <Button kind="quiet" aria-label={t("evals.remove")} title={t("evals.remove")} onClick={() => setAsking(true)}>
            <Trash2 aria-hidden className="size-3.5" />
          </Button>
          {run.dataset_id !== adhoc && (
            <Button disabled={again.isPending} onClick={() => again.mutate()}>
              <RotateCw aria-hidden className="size-3.5" />
              {t("evals.again")}
            </Button>
          )}
        </>
      )}
      <Confirm open={asking} onOpenChange={setAsking} title={t("evals.removeTitle")} action={t("evals.removeGo", { n: run.items.length })} danger onConfirm={() => remove.mutate()}>
        <p>{t("evals.removeHint")}</p>
      </Confirm>
    </span>
  );
}
