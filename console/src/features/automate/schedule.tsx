import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Pause, Pencil, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { useTold } from "../../ui/savebar";
import { Empty, Failure, Skeleton } from "../../ui/state";
import { Exactly, Fact, Pages, plainLink, RunLink, Said, State, When } from "./parts";
import { scheduleLog, scheduleQuery, type Schedule, type ScheduleFiring } from "./queries";
import { useTimes } from "./schedules";
import { messageOf } from "./template";
import { whenIn } from "./zones";

/** SchedulePage shows a schedule: when it starts which run, and what became of its times. */
export function SchedulePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <Needs ability="admin">
      <Has feature="schedules" setting="server.Config.Schedules">
        <Shown key={id} id={id} />
      </Has>
    </Needs>
  );
}

function Shown({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useQuery(scheduleQuery(id));
  const crumbs = [{ text: t("nav.schedules"), to: "/schedules" }, { text: id }];
  const s = query.data;
  if (!s) return <Page crumbs={crumbs}>{query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />}</Page>;
  return <One s={s} crumbs={crumbs} />;
}

function One({ s, crumbs }: { s: Schedule; crumbs: { text: string; to?: string }[] }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [told] = useTold(`schedules/${s.id}`);
  const params = { path: { schedule_id: s.id } };
  const refresh = () => {
    for (const kind of ["one", "log"]) void client.invalidateQueries({ queryKey: ["schedules", kind, s.id] });
    void client.invalidateQueries({ queryKey: ["schedules", "list"] });
  };
  const pause = useMutation({ mutationFn: () => ask(s.paused ? api.POST("/v1/schedules/{schedule_id}/resume", { params }) : api.POST("/v1/schedules/{schedule_id}/pause", { params })), onSettled: refresh });
  const run = useMutation({ mutationFn: () => ask(api.POST("/v1/schedules/{schedule_id}/run", { params })), onSettled: refresh });
  const remove = useMutation({
    mutationFn: () => api.DELETE("/v1/schedules/{schedule_id}", { params }),
    onSuccess: async () => {
      await navigate({ to: "/schedules" });
      client.removeQueries({ queryKey: ["schedules", "one", s.id] });
      void client.invalidateQueries({ queryKey: ["schedules", "list"] });
    },
  });
  const error = run.error ?? pause.error ?? remove.error;
  return (
    <Page
      crumbs={crumbs}
      badge={<State of={s.status} />}
      actions={
        <span className="flex flex-wrap items-center justify-end gap-2">
          <Button kind="quiet" aria-label={t("schedules.remove")} title={t("schedules.remove")} onClick={() => setAsking(true)}>
            <Trash2 aria-hidden className="size-3.5" />
          </Button>
          {s.status !== "ended" && (
            <Button disabled={pause.isPending} onClick={() => pause.mutate()}>
              {s.paused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
              {t(s.paused ? "automate.resume" : "automate.pause")}
            </Button>
          )}
          <Link to="/schedules/$id/edit" params={{ id: s.id }} className={plainLink}>
            <Pencil aria-hidden className="size-3.5" />
            {t("automate.edit")}
          </Link>
          <Button kind="primary" disabled={run.isPending} onClick={() => run.mutate()}>
            <Play aria-hidden className="size-3.5" />
            {t("schedules.runNow")}
          </Button>
        </span>
      }
    >
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="flex max-w-4xl flex-col gap-6 p-4">
          <Said error={error}>
            {run.data ? (
              <>
                <State of={run.data.outcome} />
                {run.data.outcome === "started" && run.data.run_id ? <RunLink id={run.data.run_id} /> : <span>{run.data.reason}</span>}
              </>
            ) : (
              told && <span className="text-ok">{told}</span>
            )}
          </Said>
          <Facts s={s} />
          <section aria-labelledby="log">
            <div className="mb-2 flex flex-wrap items-baseline gap-x-2">
              <h2 id="log" className="font-semibold">
                {t("schedules.log")}
              </h2>
              <span className="text-muted">{s.time_zone}</span>
            </div>
            <Log s={s} />
          </section>
        </div>
      </div>
      <Confirm open={asking} onOpenChange={setAsking} title={t("schedules.removeTitle", { id: s.id })} action={t("schedules.remove")} danger onConfirm={() => remove.mutate()}>
        <p>{t("schedules.removeHint")}</p>
      </Confirm>
    </Page>
  );
}

function Facts({ s }: { s: Schedule }) {
  const { t, span } = useLanguage();
  const times = useTimes();
  const words = times(s);
  const secs = (n: number) => span(n * 1000);
  return (
    <dl className="flex flex-col gap-1.5">
      {s.description && <Fact name={t("automate.description")}>{s.description}</Fact>}
      <Fact name={t("schedules.when")}>
        {words} {s.cron && words !== s.cron && <code className="mono text-muted">{s.cron}</code>}
        <span className="block text-muted">{s.time_zone}</span>
      </Fact>
      <Fact name={t("schedules.next")}>
        {s.upcoming.length > 0 ? (
          <ul>
            {s.upcoming.map((at) => (
              <li key={at}>
                <When at={at} zone={s.time_zone} both />
              </li>
            ))}
          </ul>
        ) : (
          <span className="text-muted">{t(s.status === "paused" ? "schedules.nonePaused" : "schedules.noneEnded")}</span>
        )}
      </Fact>
      {s.pending && (
        <Fact name={t("schedules.pending")}>
          {s.pending.waiting ? (
            <>
              {t("schedules.waitsFor")} <RunLink id={s.pending.waiting} />
            </>
          ) : (
            t("schedules.tries", { n: s.pending.attempts ?? 0 })
          )}
        </Fact>
      )}
      <Fact name={t("automate.agent")}>
        <Link to="/agents/$id/$tab" params={{ id: s.run.agent_id, tab: "basics" }} className="link">
          {s.run.agent_id}
        </Link>
      </Fact>
      <Fact name={t("automate.message")}>
        <span className="prose-model">{messageOf(s.run)}</span>
      </Fact>
      {s.run.thread_id && (
        <Fact name={t("automate.thread")}>
          <Link to="/threads/$id" params={{ id: s.run.thread_id }} className="link mono">
            {s.run.thread_id}
          </Link>
        </Fact>
      )}
      {s.run.user_id && <Fact name={t("automate.user")}>{s.run.user_id}</Fact>}
      <Fact name={t("schedules.overlap")}>{t(`schedules.overlap.${s.overlap ?? "skip"}` as Key)}</Fact>
      <Fact name={t("schedules.missed")}>
        {t(`schedules.missed.${s.missed ?? "latest"}` as Key)} <span className="text-muted">{t("schedules.graceOf", { time: secs(s.grace_secs ?? 300) })}</span>
      </Fact>
      {(s.jitter_secs ?? 0) > 0 && <Fact name={t("schedules.jitter")}>{t("schedules.upTo", { time: secs(s.jitter_secs ?? 0) })}</Fact>}
      {s.ends_at && (
        <Fact name={t("schedules.ends")}>
          <Exactly at={s.ends_at} zone={s.time_zone} />
        </Fact>
      )}
      <Fact name={t("schedules.soFar")}>{t("schedules.counts", { started: s.counts.started, skipped: s.counts.skipped, missed: s.counts.missed, refused: s.counts.refused })}</Fact>
    </dl>
  );
}

function Log({ s }: { s: Schedule }) {
  const { t } = useLanguage();
  const query = useInfiniteQuery(scheduleLog(s.id));
  return (
    <Pages
      query={query}
      label={t("schedules.log")}
      empty={
        <Empty title={t("schedules.noLog")}>
          <p>{t("schedules.noLogHint")}</p>
        </Empty>
      }
    >
      {(item) => <Firing key={(item as ScheduleFiring).number} f={item as ScheduleFiring} zone={s.time_zone} />}
    </Pages>
  );
}

function Firing({ f, zone }: { f: ScheduleFiring; zone?: string }) {
  const { t, locale } = useLanguage();
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 py-2">
      <span className="flex w-24 shrink-0">
        <State of={f.outcome} />
      </span>
      <span className="w-52 shrink-0">
        <Exactly at={f.at} zone={zone} />
      </span>
      <span className="min-w-0 flex-1 basis-60 [overflow-wrap:anywhere]">
        {f.count > 1 && <span>{f.through ? t("schedules.range", { n: f.count, to: whenIn(f.through, zone, locale) }) : t("schedules.several", { n: f.count })} </span>}
        {f.outcome === "started" && f.run_id && <RunLink id={f.run_id} />}
        {f.outcome === "skipped" && f.run_id && (
          <>
            {t("schedules.notEnded")} <RunLink id={f.run_id} />
          </>
        )}
        {f.reason && f.outcome !== "skipped" && <span className={f.outcome === "refused" ? "text-fail" : "text-muted"}>{f.reason}</span>}
        {f.manual && <span className="text-muted"> {t("automate.byHand")}</span>}
      </span>
    </li>
  );
}
