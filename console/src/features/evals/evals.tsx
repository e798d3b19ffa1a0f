import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { FileUp, Gavel, ListChecks, MessagesSquare, Play } from "lucide-react";
import { adhoc, datasetsQuery, evalRunsQuery, type EvalSummary } from "../../api/evals";
import { useLanguage, type Key } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { short } from "../../ui/id";
import { Card, chosen, List, ListFilters, type By, type Column } from "../../ui/list";
import { AdminPage } from "../../ui/needs";
import { Ago } from "../../ui/time";

const statuses = ["running", "done", "cancelled"] as const;
const look = "touch inline-flex min-h-8 items-center gap-1.5 rounded-md border px-3 font-medium whitespace-nowrap";

/** Evals lists the evaluations, the newest first. */
export function Evals() {
  const { t } = useLanguage();
  return (
    <AdminPage
      crumbs={[{ text: t("nav.evals") }]}
      feature="evals"
      setting="admin.expose_eval_routes"
      actions={
        <span className="flex flex-wrap justify-end gap-2">
          <Link to="/evals/reports" className={`${look} border-transparent hover:bg-sunken max-md:hidden`}>
            <FileUp aria-hidden className="size-3.5" />
            {t("evals.files")}
          </Link>
          <Link to="/evals/live" className={`${look} border-border bg-panel hover:bg-sunken`}>
            <Gavel aria-hidden className="size-3.5" />
            {t("live.title")}
          </Link>
          <Link to="/evals/online" className={`${look} border-border bg-panel hover:bg-sunken`}>
            <MessagesSquare aria-hidden className="size-3.5" />
            {t("evals.online")}
          </Link>
          <Link to="/evals/new" className={`${look} border-accent bg-accent text-on-accent hover:opacity-90`}>
            <Play aria-hidden className="size-3.5" />
            {t("evals.new")}
          </Link>
        </span>
      }
    >
      <Found />
    </AdminPage>
  );
}

function Found() {
  const { t, span } = useLanguage();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as { dataset?: string; status?: string };
  const polling = usePolling(3000);
  const query = useQuery({ ...evalRunsQuery(search.dataset), refetchInterval: (q) => (q.state.data?.some((r) => r.status === "running") ? 2000 : polling) });
  const datasets = useQuery(datasetsQuery).data ?? [];
  const by: By<typeof search>[] = [
    { name: "dataset", word: "evals.dataset", options: [...datasets.map((d) => ({ value: d.id, text: d.id })), { value: adhoc, text: t("evals.adhoc") }] },
    { name: "status", word: "runs.status", options: statuses.map((s) => ({ value: s, text: t(`evals.status.${s}`) })) },
  ];
  const title = (r: EvalSummary) => (
    <Link to="/evals/$id" params={{ id: r.id }} className="truncate font-medium hover:underline">
      {r.dataset_id === adhoc ? t("evals.adhoc") : r.dataset_id} <span className="mono font-normal text-muted">{short(r.id)}</span>
    </Link>
  );
  const passed = (r: EvalSummary) => <PassBar passed={r.passed_count} failed={r.failed_count} of={r.cell_count} />;
  const status = (r: EvalSummary) => t(`evals.status.${r.status}` as Key);
  const columns: Column<EvalSummary>[] = [
    { word: "evals.dataset", width: "minmax(10rem,1.4fr)", look: "flex", cell: title },
    { word: "evals.passes", width: "minmax(12rem,1fr)", look: "flex", cell: passed },
    { word: "runs.status", width: "6rem", cell: (r) => <span className={r.status === "running" ? "text-run" : "text-muted"}>{status(r)}</span> },
    { word: "evals.answers", width: "6rem", look: "truncate text-muted", cell: (r) => t(`evals.mode.${r.execution_mode}` as Key) },
    { word: "evals.time", width: "6rem", look: "text-muted", cell: (r) => r.ended_at_secs && (r.ended_at_secs === r.started_at_secs ? `< ${span(1000)}` : span((r.ended_at_secs - r.started_at_secs) * 1000)) },
    { word: "runs.age", width: "4rem", right: true, look: "text-muted", cell: (r) => <Ago at={r.started_at_secs} /> },
  ];
  return (
    <>
      <ListFilters to="/evals" search={search} by={by} />
      <List
        query={query}
        items={(query.data ?? []).filter((r) => !search.status || r.status === search.status)}
        keyOf={(r) => r.id}
        label={t("nav.evals")}
        columns={columns}
        heights={[44, 68]}
        open={(r) => void navigate({ to: "/evals/$id", params: { id: r.id } })}
        filtered={chosen(search) > 0}
        empty={{ title: "evals.empty", icon: ListChecks, hint: t("evals.emptyHint") }}
        card={(r) => (
          <Card
            at={r.started_at_secs}
            below={
              <>
                {passed(r)}
                <span>{status(r)}</span>
              </>
            }
          >
            {title(r)}
          </Card>
        )}
      />
    </>
  );
}

/** PassBar draws how many passed, failed, and are still to come. */
export function PassBar({ passed, failed, of }: { passed: number; failed: number; of: number }) {
  const { t } = useLanguage();
  const part = (n: number) => `${(100 * n) / Math.max(1, of)}%`;
  return (
    <span className="flex min-w-0 flex-1 items-center gap-2">
      <span aria-hidden className="flex h-1.5 min-w-12 flex-1 overflow-hidden rounded-full bg-sunken">
        <span className="bg-ok" style={{ width: part(passed) }} />
        <span className="bg-fail" style={{ width: part(failed) }} />
      </span>
      <span className="whitespace-nowrap tabular-nums">{t("evals.passedOf", { n: passed, of })}</span>
    </span>
  );
}
