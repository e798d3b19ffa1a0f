import { useMemo } from "react";
import { now } from "../api/time";
import { useLanguage } from "../i18n/i18n";
import { Choice } from "./filter";

/** What an address says about times: how far back, or from when to when. */
export interface Times {
  range?: string;
  since?: string;
  until?: string;
}

const recents = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, month: 30 * 86_400_000 } as const;
const CUSTOM = "custom" as const;

/** useTimes returns the times as requests have them. They stay the same while the page is open, because the pages of a list belong together. */
export function useTimes({ range, since, until }: Times): Omit<Times, "range"> {
  return useMemo(() => {
    const ms = recents[range as keyof typeof recents];
    return ms ? { since: new Date(now() - ms).toISOString() } : { since, until };
  }, [range, since, until]);
}

/** local returns a time as a field for dates has it, on the clock here. */
function local(time?: string): string {
  const ms = Date.parse(time ?? "");
  return Number.isNaN(ms) ? "" : new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** instant returns the time that a field for dates has. */
const instant = (text: string) => (text ? new Date(text).toISOString() : undefined);

/** TimeChoice chooses how far back a list reaches, or from when to when. */
export function TimeChoice({ times, set }: { times: Times; set: (change: Times) => void }) {
  const { t } = useLanguage();
  const custom = times.range === CUSTOM || (!times.range && Boolean(times.since ?? times.until));
  return (
    <>
      <Choice
        label={t("audit.time")}
        value={custom ? CUSTOM : (times.range ?? "")}
        onChange={(range) => set({ range: range || undefined, since: undefined, until: undefined })}
        options={[...(Object.keys(recents) as (keyof typeof recents)[]), CUSTOM].map((r) => ({ value: r, text: t(`range.${r}`) }))}
      />
      {custom &&
        (["since", "until"] as const).map((name) => (
          <input key={name} type="datetime-local" className="field" aria-label={t(`recent.${name}`)} title={t(`recent.${name}`)} value={local(times[name])} onChange={(e) => set({ range: CUSTOM, [name]: instant(e.target.value) })} />
        ))}
    </>
  );
}
