import { now } from "../../api/time";

export const ranges = ["today", "yesterday", "day", "week", "month", "quarter", "custom"] as const;

/** Range is a time that figures are of. */
export interface Range {
  name: (typeof ranges)[number];
  since: number;
  /** Undefined means now. */
  until?: number;
  step: "hour" | "6h" | "day" | "week";
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const rolling = { day: 1, week: 7, month: 30, quarter: 90 };

/** rangeOf returns the range of a name. Days begin at midnight here; those of a range of more than eight are those of the server's figures, in UTC. The dates of a custom one are such as 2026-08-31, and it ends with the day to. */
export function rangeOf(name?: string, from = "", to = "", at = now()): Range {
  const today = new Date(at);
  const day = (d: Date, n = 0) => new Date(d.getFullYear(), d.getMonth(), d.getDate() + n).getTime(); // not always 24 hours after the day before
  switch (name) {
    case "today":
      return { name, since: day(today), step: "hour" };
    case "yesterday":
      return { name, since: day(today, -1), until: day(today), step: "hour" };
    case "custom": {
      const given = [from, to].filter((d) => dateOf(d) !== undefined).sort();
      const first = dateOf(given[0] ?? "") ?? today;
      const last = dateOf(given[1] ?? given[0] ?? "") ?? today;
      const days = Math.round((day(last, 1) - day(first)) / DAY);
      if (days <= 8) return { name, since: day(first), until: day(last, 1), step: days <= 2 ? "hour" : "6h" };
      const utc = (d: Date, n = 0) => Date.UTC(d.getFullYear(), d.getMonth(), d.getDate() + n);
      return { name, since: utc(first), until: utc(last, 1), step: days <= 120 ? "day" : "week" };
    }
    case "day":
    case "month":
    case "quarter":
      return { name, since: Math.floor(at / HOUR) * HOUR - rolling[name] * DAY, step: name === "day" ? "hour" : "day" }; // to the hour, so that it does not change with each request
    default:
      return { name: "week", since: Math.floor(at / HOUR) * HOUR - rolling.week * DAY, step: "6h" };
  }
}

/** dateOf reads a date of the calendar here. */
function dateOf(text: string): Date | undefined {
  const [, y, m, d] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  const date = new Date(Number(y), Number(m) - 1, Number(d));
  return y && date.getMonth() === Number(m) - 1 ? date : undefined;
}

/** timesOf returns the beginning and the end of a range as requests name them. */
export const timesOf = (r: Range) => ({ since: new Date(r.since).toISOString(), ...(r.until !== undefined && { until: new Date(r.until).toISOString() }) });
