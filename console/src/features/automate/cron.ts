import type { Key, Values } from "../../i18n/i18n";

/** A sentence in the words of the user: the key of its text, and what it names. */
interface Words {
  locale: string;
  t: (key: Key, values?: Values) => string;
}

const aliases: Record<string, string> = { "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *" };
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** numbers returns the numbers of a list such as 1,3-5, or undefined if it is more than that. */
function numbers(text: string, names: string[] = []): number[] | undefined {
  const out = new Set<number>();
  for (const part of text.toLowerCase().split(",")) {
    const [from, to = from, ...rest] = part.split("-").map((x) => (names.includes(x) ? names.indexOf(x) : /^\d+$/.test(x) ? Number(x) : NaN));
    if (rest.length > 0 || from === undefined || to === undefined || Number.isNaN(from) || Number.isNaN(to) || to < from) return undefined;
    for (let n = from; n <= to; n++) out.add(n);
  }
  return [...out];
}

const stepOf = (text: string) => (/^\*\/\d+$/.test(text) ? Number(text.slice(2)) : undefined);

/** cronWords says a usual cron expression in words. Of others, undefined: they stand for themselves. */
export function cronWords(cron: string, { locale, t }: Words): string | undefined {
  const parts = (aliases[cron.trim().toLowerCase()] ?? cron).trim().split(/\s+/);
  if (parts.length !== 5) return undefined;
  const [minute, hour, day, month, weekday] = parts as [string, string, string, string, string];
  if (month !== "*") return undefined;
  const everyDay = day === "*" && weekday === "*";
  if (everyDay && hour === "*") {
    if (minute === "*") return t("cron.minute");
    const step = stepOf(minute);
    if (step) return step < 60 && 60 % step === 0 ? t("cron.minutes", { n: step }) : undefined;
    return /^\d+$/.test(minute) ? t("cron.hour", { m: minute.padStart(2, "0") }) : undefined;
  }
  if (everyDay && stepOf(hour) && /^\d+$/.test(minute)) {
    const step = stepOf(hour)!;
    return 24 % step === 0 ? t("cron.hours", { n: step, m: minute.padStart(2, "0") }) : undefined;
  }
  const minutes = numbers(minute);
  const hours = numbers(hour);
  if (!minutes || !hours || minutes.length * hours.length > 4 || hours.some((h) => h > 23) || minutes.some((m) => m > 59)) return undefined;
  const list = (texts: string[]) => new Intl.ListFormat(locale, { type: "conjunction", style: "long" }).format(texts);
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" });
  const time = list(hours.flatMap((h) => minutes.map((m) => clock.format(Date.UTC(2024, 0, 1, h, m)))));
  if (everyDay) return t("cron.daily", { time });
  if (day === "*") {
    const set = numbers(weekday, days)?.map((d) => d % 7);
    if (!set || set.some((d) => d > 6)) return undefined;
    const chosen = [1, 2, 3, 4, 5, 6, 0].filter((d) => set.includes(d));
    if (chosen.length === 7) return t("cron.daily", { time });
    if (chosen.join() === "1,2,3,4,5") return t("cron.weekdays", { time });
    const name = new Intl.DateTimeFormat(locale, { weekday: "long", timeZone: "UTC" });
    return t("cron.weekly", { days: list(chosen.map((d) => name.format(Date.UTC(2024, 0, 7 + d)))), time });
  }
  const dates = numbers(day);
  if (weekday !== "*" || !dates || dates.length > 4) return undefined;
  return t("cron.monthly", { days: list(dates.map(String)), time });
}
