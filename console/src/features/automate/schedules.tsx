import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { CalendarClock, Plus } from "lucide-react";
import { useLanguage } from "../../app/i18n/i18n";
import { useMay, useSession } from "../../app/session";
import { Filter } from "../../ui/filter";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { cronWords } from "./cron";
import { primaryLink, RunLink, State, When } from "./parts";
import { schedulesQuery, type Schedule } from "./queries";
import { whenIn } from "./zones";

/** Schedules lists the schedules: what starts runs at times. */
export function Schedules() {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const has = useSession()?.features.schedules === true;
  return (
    <Page
      crumbs={[{ text: t("nav.schedules") }]}
      actions={
        admin &&
        has && (
          <Link to="/schedules/-/new" className={primaryLink}>
            <Plus aria-hidden className="size-3.5" />
            {t("schedules.new")}
          </Link>
        )
      }
    >
      <Needs ability="admin">
        <Has feature="schedules" setting="server.Config.Schedules">
          <List />
        </Has>
      </Needs>
    </Page>
  );
}

/** useTimes says when a schedule starts runs: in words if it is usual, and else as it is written. */
export function useTimes() {
  const language = useLanguage();
  return (s: Pick<Schedule, "cron" | "at" | "time_zone">) => (s.cron ? (cronWords(s.cron, language) ?? s.cron) : s.at ? language.t("schedules.onceAt", { time: whenIn(s.at, s.time_zone, language.locale) }) : "");
}

function List() {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const phone = usePhone();
  const times = useTimes();
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const query = useQuery(schedulesQuery);
  const all = query.data ?? [];
  const shown = all.filter((s) => `${s.id} ${s.description ?? ""} ${s.run.agent_id} ${s.cron ?? ""}`.toLowerCase().includes(q.toLowerCase()));
  return (
    <>
      {(all.length > 8 || q) && (
        <div role="search" aria-label={t("runs.filters")} className="border-b border-line px-4 py-2">
          <Filter label={t("connect.search")} value={q} onChange={(v) => void navigate({ to: "/schedules", search: { q: v || undefined }, replace: true })} />
        </div>
      )}
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length ? t("runs.noMatch") : t("schedules.empty")} icon={CalendarClock}>
              {all.length ? (
                t("runs.noMatchHint")
              ) : (
                <>
                  <p>{t("schedules.emptyHint")}</p>
                  <Link to="/schedules/-/new" className={`${primaryLink} mt-3`}>
                    {t("schedules.new")}
                  </Link>
                </>
              )}
            </Empty>
          ) : (
            <Rows items={shown} keyOf={(s) => s.id} height={phone ? 88 : 52} label={t("nav.schedules")} open={(s) => void navigate({ to: "/schedules/$id", params: { id: s.id } })} row={(s) => <Line s={s} phone={phone} times={times(s)} />} />
          )
        }
      </Loaded>
    </>
  );
}

function Line({ s, phone, times }: { s: Schedule; phone: boolean; times: string }) {
  const { t, locale } = useLanguage();
  const name = (
    <Link to="/schedules/$id" params={{ id: s.id }} className="truncate font-medium hover:underline" title={s.description || s.id}>
      {s.id}
    </Link>
  );
  const next = s.next_at && <When at={s.next_at} zone={s.time_zone} />;
  if (phone) {
    return (
      <div className="flex h-full flex-col justify-center gap-0.5 px-4">
        <div className="flex items-center justify-between gap-3">
          {name}
          <State of={s.status} />
        </div>
        <span className="truncate">{times}</span>
        <span className="flex justify-between gap-3 text-muted">
          <span className="truncate">{s.run.agent_id}</span>
          {s.last_outcome && s.last_outcome !== "started" && <State of={s.last_outcome} />}
          <span className="whitespace-nowrap">{next}</span>
        </span>
      </div>
    );
  }
  return (
    <div className="grid h-full grid-cols-[minmax(8rem,14rem)_minmax(6rem,10rem)_minmax(10rem,1fr)_minmax(9rem,12rem)_6rem_minmax(9rem,12rem)] items-center gap-3 px-4">
      {name}
      <span className="truncate text-muted">{s.run.agent_id}</span>
      <span className="min-w-0">
        <span className="block truncate" title={s.cron}>
          {times}
        </span>
        <span className="block truncate text-dense text-muted">{s.time_zone}</span>
      </span>
      <span className="min-w-0">
        <span className="block truncate">{next}</span>
        {s.next_at && <span className="block truncate text-dense text-muted">{whenIn(s.next_at, s.time_zone, locale)}</span>}
      </span>
      <State of={s.status} />
      <span className="min-w-0">
        {s.last_outcome ? (
          <span className="flex items-center gap-2">
            <State of={s.last_outcome} />
            {s.last_outcome === "started" && s.last_run_id ? <RunLink id={s.last_run_id} /> : <Ago at={s.last_at} />}
          </span>
        ) : (
          <span className="text-muted">{t("schedules.noRun")}</span>
        )}
        {s.counts.missed + s.counts.refused > 0 && <span className="block truncate text-dense text-wait">{t("schedules.lost", { n: s.counts.missed + s.counts.refused })}</span>}
      </span>
    </div>
  );
}
