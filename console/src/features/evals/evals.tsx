import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { FileUp, Gavel, ListChecks, MessagesSquare, Play } from "lucide-react";
import { adhoc, datasetsQuery, evalRunsQuery, type EvalSummary } from "../../api/evals";
import { useLanguage, type Key } from "../../app/i18n/i18n";
import { useMay, useSession } from "../../app/session";
import { usePolling } from "../../live/live";
import { Choice, Filters } from "../../ui/filter";
import { short } from "../../ui/id";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";

const statuses = ["running", "done", "cancelled"] as const;
const look = "touch inline-flex min-h-8 items-center gap-1.5 rounded-md border px-3 font-medium whitespace-nowrap";

/** Evals lists the evaluations, the newest first. */
export function Evals() {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const has = useSession()?.features.evals === true;
  return (
    <Page
      crumbs={[{ text: t("nav.evals") }]}
      actions={
        admin &&
        has && (
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
        )
      }
    >
      <Needs ability="admin">
        <Has feature="evals" setting="admin.expose_eval_routes">
          <List />
        </Has>
      </Needs>
    </Page>
  );
}

function List() {
  const { t } = useLanguage();
  const phone = usePhone();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as { dataset?: string; status?: string };
  const polling = usePolling(3000);
  const query = useQuery({ ...evalRunsQuery(search.dataset), refetchInterval: (q) => (q.state.data?.some((r) => r.status === "running") ? 2000 : polling) });
  const datasets = useQuery(datasetsQuery);
  const shown = (query.data ?? []).filter((r) => !search.status || r.status === search.status);
  const set = (change: typeof search) => void navigate({ to: "/evals", search: { ...search, ...change }, replace: true });
  const filtered = Object.keys(search).length > 0;
  return (
    <>
      <Filters active={Object.keys(search).length} clear={() => void navigate({ to: "/evals", search: {}, replace: true })}>
        <Choice label={t("evals.dataset")} value={search.dataset ?? ""} onChange={(v) => set({ dataset: v || undefined })} options={[...(datasets.data ?? []).map((d) => ({ value: d.id, text: d.id })), { value: adhoc, text: t("evals.adhoc") }]} />
        <Choice label={t("runs.status")} value={search.status ?? ""} onChange={(v) => set({ status: v || undefined })} options={statuses.map((s) => ({ value: s, text: t(`evals.status.${s}`) }))} />
      </Filters>
      <Loaded query={query} rows={8}>
        {() =>
          shown.length === 0 ? (
            <Empty title={filtered ? t("runs.noMatch") : t("evals.empty")} icon={ListChecks}>
              {filtered ? t("runs.noMatchHint") : t("evals.emptyHint")}
            </Empty>
          ) : (
            <Rows items={shown} keyOf={(r) => r.id} height={phone ? 68 : 44} label={t("nav.evals")} open={(r) => void navigate({ to: "/evals/$id", params: { id: r.id } })} row={(r) => <Line run={r} phone={phone} />} />
          )
        }
      </Loaded>
    </>
  );
}

function Line({ run: r, phone }: { run: EvalSummary; phone: boolean }) {
  const { t, span } = useLanguage();
  const name = r.dataset_id === adhoc ? t("evals.adhoc") : r.dataset_id;
  const title = (
    <Link to="/evals/$id" params={{ id: r.id }} className="truncate font-medium hover:underline">
      {name} <span className="mono font-normal text-muted">{short(r.id)}</span>
    </Link>
  );
  if (phone) {
    return (
      <div className="flex h-full flex-col justify-center gap-1 px-4">
        <div className="flex items-center gap-2">
          {title}
          <span className="ml-auto text-muted">
            <Ago at={r.started_at_secs} />
          </span>
        </div>
        <div className="flex items-center gap-3">
          <PassBar passed={r.passed_count} failed={r.failed_count} of={r.cell_count} />
          <span className="text-muted">{t(`evals.status.${r.status}` as Key)}</span>
        </div>
      </div>
    );
  }
  return (
    <div className="grid h-full grid-cols-[minmax(10rem,1.4fr)_minmax(12rem,1fr)_6rem_6rem_6rem_4rem] items-center gap-3 px-4">
      {title}
      <PassBar passed={r.passed_count} failed={r.failed_count} of={r.cell_count} />
      <span className={r.status === "running" ? "text-run" : "text-muted"}>{t(`evals.status.${r.status}` as Key)}</span>
      <span className="truncate text-muted">{t(`evals.mode.${r.execution_mode}` as Key)}</span>
      <span className="text-muted">{r.ended_at_secs ? (r.ended_at_secs === r.started_at_secs ? `< ${span(1000)}` : span((r.ended_at_secs - r.started_at_secs) * 1000)) : ""}</span>
      <span className="text-right text-muted">
        <Ago at={r.started_at_secs} />
      </span>
    </div>
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
