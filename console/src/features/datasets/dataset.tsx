import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { Download, FileUp, FlaskConical, Play, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { datasetQuery, evalRunsQuery, putDataset, type Dataset } from "../../api/evals";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { save } from "../../ui/save";
import { Empty, Failure, Loaded, Skeleton } from "../../ui/state";
import { Ago } from "../../ui/time";
import { CaseEditor } from "./case";
import { expectations, scripted } from "./cases";
import { Import } from "./import";

/** DatasetPage shows the cases of a dataset, and edits them. */
export function DatasetPage() {
  const { t } = useLanguage();
  const { id, case: named } = useParams({ strict: false }) as { id: string; case?: string };
  const making = useRouterState({ select: (s) => s.matches.some((m) => m.routeId === "/datasets/$id/new") });
  const one = making ? "" : named;
  return (
    <Needs ability="admin">
      <Has feature="evals" setting="admin.expose_eval_routes">
        <Shown key={id} id={id} one={one} title={t("nav.datasets")} />
      </Has>
    </Needs>
  );
}

/** Shown shows a dataset and one of its cases, if one is open: "" is a new one. */
function Shown({ id, one, title }: { id: string; one?: string; title: string }) {
  const { t } = useLanguage();
  const query = useQuery(datasetQuery(id));
  const phone = usePhone();
  const crumbs = [{ text: title, to: "/datasets" }, ...(one === undefined ? [{ text: id }] : [{ text: id, to: `/datasets/${encodeURIComponent(id)}` }, { text: one || t("case.new") }])];
  const d = query.data;
  if (!d) return <Page crumbs={crumbs}>{query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />}</Page>;
  return (
    <Page crumbs={crumbs} badge={<Facts d={d} />} actions={<Actions d={d} />}>
      <div className="flex min-h-0 flex-1">
        {!(phone && one !== undefined) && <Cases d={d} one={one} narrow={one !== undefined} />}
        {one !== undefined && <CaseEditor key={one} dataset={d} id={one} />}
      </div>
    </Page>
  );
}

function Facts({ d }: { d: Dataset }) {
  const { t } = useLanguage();
  return (
    <span className="flex flex-wrap items-center gap-x-3 text-muted">
      <span>{t("datasets.cases", { n: d.spec.fixtures.length })}</span>
      <span>{t("datasets.revision", { n: d.meta.revision })}</span>
      <span title={d.meta.updated_by}>
        <Ago at={d.meta.updated_at} />
      </span>
    </span>
  );
}

function Actions({ d }: { d: Dataset }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [importing, setImporting] = useState(false);
  const remove = useMutation({
    mutationFn: () => api.DELETE("/v1/eval/datasets/{id}", { params: { path: { id: d.id }, query: { expected_revision: d.meta.revision } } }),
    onSuccess: async () => {
      await navigate({ to: "/datasets" });
      client.removeQueries({ queryKey: ["datasets", "one", d.id] });
      void client.invalidateQueries({ queryKey: ["datasets"] });
    },
  });
  return (
    <span className="flex flex-wrap items-center justify-end gap-2">
      {remove.error && (
        <span role="alert" className="text-fail [overflow-wrap:anywhere]">
          {remove.error.message}
        </span>
      )}
      <Button kind="quiet" aria-label={t("datasets.export")} title={t("datasets.export")} onClick={() => save(`${d.id}.json`, JSON.stringify(d.spec, null, 2) + "\n", "application/json")}>
        <Download aria-hidden className="size-3.5" />
      </Button>
      <Button kind="quiet" aria-label={t("datasets.remove")} title={t("datasets.remove")} onClick={() => setAsking(true)}>
        <Trash2 aria-hidden className="size-3.5" />
      </Button>
      <Button onClick={() => setImporting(true)}>
        <FileUp aria-hidden className="size-3.5" />
        {t("datasets.import")}
      </Button>
      <Button kind="primary" why={d.spec.fixtures.length === 0 ? t("datasets.noCases") : undefined} onClick={() => void navigate({ to: "/evals/new", search: { dataset: d.id } })}>
        <Play aria-hidden className="size-3.5" />
        {t("evals.start")}
      </Button>
      {importing && <Import dataset={d} close={() => setImporting(false)} />}
      <Confirm open={asking} onOpenChange={setAsking} title={t("datasets.removeTitle", { id: d.id })} action={t("datasets.removeGo", { n: d.spec.fixtures.length })} danger onConfirm={() => remove.mutate()}>
        <p>{t("datasets.removeHint")}</p>
      </Confirm>
    </span>
  );
}

/** Cases lists the cases of a dataset: what the user says, and how much is expected. */
function Cases({ d, one, narrow }: { d: Dataset; one?: string; narrow: boolean }) {
  const { t } = useLanguage();
  const list = d.spec.fixtures;
  return (
    <div className={narrow ? "w-72 shrink-0 overflow-auto border-r border-line" : "min-w-0 flex-1 overflow-auto"}>
      {!narrow && <Description d={d} />}
      <div className="flex items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="font-semibold">{t("datasets.casesTitle")}</h2>
        <Link to="/datasets/$id/new" params={{ id: d.id }} className="touch ml-auto inline-flex min-h-8 items-center gap-1.5 rounded-md border border-border bg-panel px-3 font-medium hover:bg-sunken">
          <Plus aria-hidden className="size-3.5" />
          {t("case.new")}
        </Link>
      </div>
      {list.length === 0 && !narrow && (
        <Empty title={t("datasets.noCases")} icon={FlaskConical}>
          {t("datasets.noCasesHint")}
        </Empty>
      )}
      <ul aria-label={t("datasets.casesTitle")} className="divide-y divide-line">
        {list.map((c) => (
          <li key={c.id} aria-current={c.id === one ? "true" : undefined} className="row-link aria-current:bg-sunken">
            <Link to="/datasets/$id/cases/$case" params={{ id: d.id, case: c.id }} className={`flex min-h-11 gap-x-3 px-4 py-1.5 ${narrow ? "flex-col" : "flex-wrap items-center"}`}>
              <span className={`truncate font-medium ${narrow ? "" : "w-56 max-w-full"}`}>{c.id}</span>
              <span className={`truncate text-muted ${narrow ? "" : "min-w-40 flex-1"}`}>{c.user_input}</span>
              {!narrow && (
                <>
                  <span className="w-28 text-dense text-muted">{t(scripted(c) ? "case.scripted" : "case.liveOnly")}</span>
                  <span className={`w-28 text-dense ${expectations(c) === 0 ? "text-wait" : "text-muted"}`}>{t("case.expects", { n: expectations(c) })}</span>
                </>
              )}
            </Link>
          </li>
        ))}
      </ul>
      {!narrow && <Latest id={d.id} />}
    </div>
  );
}

/** Description says what the dataset is for, and changes it. */
function Description({ d }: { d: Dataset }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const [text, setText] = useState<string>();
  const put = useMutation({
    mutationFn: () => putDataset(d, { ...d.spec, description: text?.trim() || undefined }),
    onSuccess: (next) => {
      setText(undefined);
      client.setQueryData(datasetQuery(d.id).queryKey, next);
      void client.invalidateQueries({ queryKey: ["datasets", "list"] });
    },
  });
  if (text === undefined) {
    return (
      <p className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <span className={d.spec.description ? "" : "text-muted"}>{d.spec.description || t("datasets.noDescription")}</span>
        <button type="button" className="link inline-flex min-h-6 items-center" onClick={() => setText(d.spec.description ?? "")}>
          {t("datasets.describe")}
        </button>
      </p>
    );
  }
  return (
    <form
      className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2"
      onSubmit={(e) => {
        e.preventDefault();
        put.mutate();
      }}
    >
      <input className="field min-w-40 flex-1" aria-label={t("datasets.description")} autoFocus value={text} onChange={(e) => setText(e.target.value)} />
      <Button kind="primary" type="submit" disabled={put.isPending}>
        {t("case.save")}
      </Button>
      <Button onClick={() => setText(undefined)}>{t("action.cancel")}</Button>
      {put.error && (
        <p role="alert" className="w-full text-fail [overflow-wrap:anywhere]">
          {put.error.message}
        </p>
      )}
    </form>
  );
}

/** Latest lists the latest evaluations with this dataset. */
function Latest({ id }: { id: string }) {
  const { t } = useLanguage();
  const runs = useQuery(evalRunsQuery(id));
  if ((runs.data?.length ?? 0) === 0) return null;
  return (
    <section aria-label={t("datasets.runs")} className="mt-4 border-t border-line">
      <h2 className="px-4 pt-3 pb-1 font-semibold">{t("datasets.runs")}</h2>
      <Loaded query={runs} rows={2}>
        {(list) => (
          <ul aria-label={t("datasets.runs")} className="divide-y divide-line">
            {list.slice(0, 10).map((r) => (
              <li key={r.id} className="row-link">
                <Link to="/evals/$id" params={{ id: r.id }} className="flex min-h-9 flex-wrap items-center gap-x-4 px-4">
                  <span className="mono">{t("evals.passedOf", { n: r.passed_count, of: r.cell_count })}</span>
                  <span className="text-muted">{t(`evals.status.${r.status}` as Key)}</span>
                  <span className="text-muted">{t("datasets.revision", { n: r.dataset_revision })}</span>
                  <span className="ml-auto text-muted">
                    <Ago at={r.started_at_secs} />
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}
