import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useMemo, useState } from "react";
import { api, ask } from "../../api/client";
import { useLanguage, type Key } from "../../i18n/i18n";
import { same } from "../../ui/diff";
import { useDraft } from "../../ui/draft";
import { Labelled, NumberField, Panel } from "../../ui/labelled";
import { cronWords } from "./cron";
import { DescriptionField, Form, FormPage, IdField, PausedTick, useSaving } from "./form";
import { OneOf, When } from "./parts";
import { scheduleQuery, upcomingQuery, type Schedule } from "./queries";
import { replace } from "./spec";
import { TemplateFields, templateFields, useLacks } from "./template";
import { instantOf, localOf, ownZone, zoneNames } from "./zones";

/** What a schedule says, as its form edits it. Whether it is paused is no part of it: the page of the schedule pauses it. */
type Spec = Pick<Schedule, "description" | "cron" | "at" | "time_zone" | "ends_at" | "jitter_secs" | "overlap" | "missed" | "grace_secs" | "run">;

const specOf = ({ description, cron, at, time_zone, ends_at, jitter_secs, overlap, missed, grace_secs, run }: Schedule): Spec => ({ description, cron, at, time_zone, ends_at, jitter_secs, overlap, missed, grace_secs, run });

const overlaps = ["skip", "wait", "allow", "cancel"] as const;
const misses = ["latest", "skip", "all"] as const;

/** ScheduleForm makes a schedule, or changes one. */
export function ScheduleForm() {
  const fresh = useMemo<Spec>(() => ({ cron: "0 9 * * mon-fri", time_zone: ownZone(), overlap: "skip", missed: "latest", run: { agent_id: "", messages: [{ role: "user", content: "" }] } }), []);
  return <FormPage kind="schedules" setting="server.Config.Schedules" query={scheduleQuery} form={(id, doc) => <Fields id={id} saved={doc ? specOf(doc) : fresh} />} />;
}

function put(id: string, spec: Spec, base: Spec): Promise<Schedule> {
  const params = { path: { schedule_id: id } };
  return replace(
    () => ask(api.GET("/v1/schedules/{schedule_id}", { params })),
    (now) => same(specOf(now), base),
    (now) => ask(api.PUT("/v1/schedules/{schedule_id}", { params, body: { ...spec, paused: now.paused, expected_revision: now.revision } })),
  );
}

const fields = ["cron", "at", "time_zone", "ends_at", "jitter_secs", "overlap", "missed", "grace_secs", ...templateFields];

function Fields({ id, saved }: { id?: string; saved: Spec }) {
  const { t } = useLanguage();
  const draft = useDraft(`schedules/${id ?? ""}`, saved, true);
  const { value, set } = draft;
  const saving = useSaving({
    kind: "schedules",
    id,
    draft,
    specOf,
    write: (name, paused) => (id === undefined ? ask(api.POST("/v1/schedules", { body: { ...value, id: name || undefined, paused } })) : put(id, value, draft.base)),
  });
  const { wrong } = saving;
  const noTime = value.cron === undefined ? (value.at ? undefined : t("schedules.noTime")) : value.cron.trim() ? undefined : t("schedules.noCron");
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <Form saving={saving} draft={draft} why={useLacks(value.run) ?? noTime} fields={fields} keeps>
        <Panel title={t("automate.name")}>
          <IdField saving={saving} />
          <DescriptionField saving={saving} value={value.description} set={set} />
        </Panel>
        <Times value={value} set={set} wrong={wrong} id={id} />
        <TemplateFields value={value.run} set={(run) => set({ run })} wrong={wrong} hint={t("schedules.messageHint", { word: "{{scheduled_time}}" })} threadHint={t("schedules.threadHint")} />
        <Panel title={t("schedules.whenBusy")}>
          <OneOf label={t("schedules.overlap")} value={value.overlap ?? "skip"} onChange={(overlap) => set({ overlap })} bad={wrong("overlap")} options={overlaps.map((o) => ({ value: o, text: t(`schedules.overlap.${o}` as Key), hint: t(`schedules.overlapHint.${o}` as Key) }))} />
          <OneOf label={t("schedules.missed")} value={value.missed ?? "latest"} onChange={(missed) => set({ missed })} bad={wrong("missed")} options={misses.map((m) => ({ value: m, text: t(`schedules.missed.${m}` as Key), hint: t(`schedules.missedHint.${m}` as Key) }))} />
          <div className="grid gap-3 sm:grid-cols-2">
            <NumberField label={t("schedules.grace")} hint={t("schedules.graceHint")} min={0} step="1" value={value.grace_secs} onChange={(grace_secs) => set({ grace_secs })} bad={wrong("grace_secs")} />
            <NumberField label={t("schedules.jitterSecs")} hint={t("schedules.jitterHint")} min={0} step="1" value={value.jitter_secs} onChange={(jitter_secs) => set({ jitter_secs })} bad={wrong("jitter_secs")} />
          </div>
          <PausedTick saving={saving} />
        </Panel>
      </Form>
    </div>
  );
}

/** useLater returns a value when it has not changed for a while. */
function useLater<V>(value: V, ms = 300): V {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setLater(value), ms);
    return () => window.clearTimeout(timer);
  }, [value, ms]);
  return later;
}

/** Times edits when runs start, and shows the next times as soon as the expression has any. */
function Times({ value, set, wrong, id }: { value: Spec; set: (change: Partial<Spec>) => void; wrong: (field: string) => string | undefined; id?: string }) {
  const language = useLanguage();
  const { t } = language;
  const zones = useId();
  const names = useMemo(zoneNames, []);
  const zone = value.time_zone ?? "UTC";
  const once = value.cron === undefined;
  // The form remembers the times of the other kind while the user looks at this one.
  const [cronBefore, setCronBefore] = useState(value.cron ?? "0 9 * * *");
  // A time on the wall stays the same when the zone changes.
  const rezone = (next: string) => set({ time_zone: next, at: value.at && instantOf(localOf(value.at, zone), next), ends_at: value.ends_at && instantOf(localOf(value.ends_at, zone), next) });
  const cron = useLater(value.cron ?? "");
  const laterZone = useLater(zone);
  const upcoming = useQuery(upcomingQuery(cron, laterZone, useLater(value.ends_at)));
  const error = upcoming.error?.message ?? "";
  const said = (field: string) => (error.startsWith(field) && !once ? error : undefined) ?? wrong(field);
  const words = value.cron && !error ? cronWords(value.cron, language) : undefined;
  return (
    <Panel title={t("schedules.when")}>
      <OneOf
        label={t("schedules.kind")}
        value={once ? "once" : "cron"}
        options={[
          { value: "cron", text: t("schedules.repeats") },
          { value: "once", text: t("schedules.once") },
        ]}
        onChange={(kind) => {
          if (kind === "once") {
            setCronBefore(value.cron ?? cronBefore);
            set({ cron: undefined, ends_at: undefined });
          } else set({ cron: cronBefore, at: undefined });
        }}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        {once ? (
          <Labelled label={t("schedules.at")} bad={wrong("at")} hint={t("schedules.inZone", { zone })}>
            {(props) => <input {...props} type="datetime-local" className="field w-full" value={localOf(value.at, zone)} onChange={(e) => set({ at: instantOf(e.target.value, zone) })} />}
          </Labelled>
        ) : (
          <Labelled label={t("schedules.cron")} bad={said("cron")} hint={words ?? t("schedules.cronHint")}>
            {(props) => <input {...props} className="field mono w-full" autoComplete="off" spellCheck={false} value={value.cron ?? ""} onChange={(e) => set({ cron: e.target.value })} />}
          </Labelled>
        )}
        <Labelled label={t("schedules.zone")} bad={said("time_zone")} hint={t("schedules.zoneHint")}>
          {(props) => <input {...props} className="field w-full" list={zones} autoComplete="off" value={zone} onChange={(e) => rezone(e.target.value)} />}
        </Labelled>
        <datalist id={zones}>
          {names.map((n) => (
            <option key={n} value={n} />
          ))}
        </datalist>
        {!once && (
          <Labelled label={t("schedules.ends")} hint={t("schedules.endsHint")} bad={wrong("ends_at")}>
            {(props) => <input {...props} type="datetime-local" className="field w-full" value={localOf(value.ends_at, zone)} onChange={(e) => set({ ends_at: instantOf(e.target.value, zone) })} />}
          </Labelled>
        )}
      </div>
      {!once && !error && (upcoming.data?.length ?? 0) > 0 && (
        <section aria-label={t("schedules.nextTen")}>
          <h3 className="mb-1 text-muted">{t("schedules.nextTen")}</h3>
          <ol className="grid gap-x-6 gap-y-0.5 sm:grid-cols-2">
            {upcoming.data?.map((at) => (
              <li key={at}>
                <When at={at} zone={laterZone} both />
              </li>
            ))}
          </ol>
        </section>
      )}
      {!once && upcoming.data?.length === 0 && <p className="text-wait">{t("schedules.never")}</p>}
      {id !== undefined && <p className="text-dense text-muted">{t("schedules.fromNow")}</p>}
    </Panel>
  );
}
