import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CalendarClock, Plus } from "lucide-react";
import { useLanguage } from "../../i18n/i18n";
import { ShortList, type Column } from "../../ui/list";
import { AdminPage } from "../../ui/needs";
import { Ago } from "../../ui/time";
import { cronWords } from "./cron";
import { primaryLink, RunLink, State, Tall, When } from "./parts";
import { schedulesQuery, type Schedule } from "./queries";
import { whenIn } from "./zones";

/** Schedules lists the schedules: what starts runs at times. */
export function Schedules() {
  const { t } = useLanguage();
  return (
    <AdminPage
      crumbs={[{ text: t("nav.schedules") }]}
      feature="schedules"
      setting="server.Config.Schedules"
      actions={
        <Link to="/schedules/-/new" className={primaryLink}>
          <Plus aria-hidden className="size-3.5" />
          {t("schedules.new")}
        </Link>
      }
    >
      <Found />
    </AdminPage>
  );
}

/** useTimes says when a schedule starts runs: in words if it is usual, and else as it is written. */
export function useTimes() {
  const language = useLanguage();
  return (s: Pick<Schedule, "cron" | "at" | "time_zone">) => (s.cron ? (cronWords(s.cron, language) ?? s.cron) : s.at ? language.t("schedules.onceAt", { time: whenIn(s.at, s.time_zone, language.locale) }) : "");
}

function Found() {
  const { t, locale } = useLanguage();
  const times = useTimes();
  const name = (s: Schedule) => (
    <Link to="/schedules/$id" params={{ id: s.id }} className="truncate font-medium hover:underline" title={s.description || s.id}>
      {s.id}
    </Link>
  );
  const next = (s: Schedule) => s.next_at && <When at={s.next_at} zone={s.time_zone} />;
  const columns: Column<Schedule>[] = [
    { word: "automate.name", width: "minmax(8rem,14rem)", look: "flex", cell: name },
    { word: "runs.agent", width: "minmax(6rem,10rem)", look: "truncate text-muted", cell: (s) => s.run.agent_id },
    {
      word: "schedules.when",
      width: "minmax(10rem,1fr)",
      look: "",
      cell: (s) => (
        <>
          <span className="block truncate" title={s.cron}>
            {times(s)}
          </span>
          <span className="block truncate text-dense text-muted">{s.time_zone}</span>
        </>
      ),
    },
    {
      word: "schedules.next",
      width: "minmax(9rem,12rem)",
      look: "",
      cell: (s) => (
        <>
          <span className="block truncate">{next(s)}</span>
          {s.next_at && <span className="block truncate text-dense text-muted">{whenIn(s.next_at, s.time_zone, locale)}</span>}
        </>
      ),
    },
    { word: "runs.status", width: "6rem", look: "flex", cell: (s) => <State of={s.status} /> },
    {
      word: "schedules.last",
      width: "minmax(9rem,12rem)",
      look: "",
      cell: (s) => (
        <>
          {s.last_outcome ? (
            <span className="flex items-center gap-2">
              <State of={s.last_outcome} />
              {s.last_outcome === "started" && s.last_run_id ? <RunLink id={s.last_run_id} /> : <Ago at={s.last_at} />}
            </span>
          ) : (
            <span className="text-muted">{t("schedules.noRun")}</span>
          )}
          {s.counts.missed + s.counts.refused > 0 && <span className="block truncate text-dense text-wait">{t("schedules.lost", { n: s.counts.missed + s.counts.refused })}</span>}
        </>
      ),
    },
  ];
  return (
    <ShortList
      to="/schedules"
      query={useQuery(schedulesQuery)}
      textOf={(s) => `${s.id} ${s.description ?? ""} ${s.run.agent_id} ${s.cron ?? ""}`}
      label={t("nav.schedules")}
      columns={columns}
      heights={[52, 88]}
      empty={{
        title: "schedules.empty",
        icon: CalendarClock,
        hint: (
          <>
            <p>{t("schedules.emptyHint")}</p>
            <Link to="/schedules/-/new" className={`${primaryLink} mt-3`}>
              {t("schedules.new")}
            </Link>
          </>
        ),
      }}
      card={(s) => (
        <Tall name={name(s)} state={<State of={s.status} />} says={times(s)}>
          <span className="flex justify-between gap-3">
            <span className="truncate">{s.run.agent_id}</span>
            {s.last_outcome && s.last_outcome !== "started" && <State of={s.last_outcome} />}
            <span className="whitespace-nowrap">{next(s)}</span>
          </span>
        </Tall>
      )}
    />
  );
}
