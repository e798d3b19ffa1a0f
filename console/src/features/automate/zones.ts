/** The zone of this browser, by its name. */
export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** zoneNames lists the zones that the browser knows. The server may know more. */
export function zoneNames(): string[] {
  return ["UTC", ...Intl.supportedValuesOf("timeZone").filter((z) => z !== "UTC")];
}

/** known returns a zone if the browser knows it, and else UTC. */
export function known(zone: string | undefined): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone || "UTC" }).resolvedOptions().timeZone && (zone || "UTC");
  } catch {
    return "UTC";
  }
}

const partsOf = (ms: number, zone: string) => {
  const format = new Intl.DateTimeFormat("en-CA", { timeZone: known(zone), hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" });
  return Object.fromEntries(format.formatToParts(ms).map((p) => [p.type, p.value])) as Record<"year" | "month" | "day" | "hour" | "minute", string>;
};

/** localOf returns the time on the wall of a zone, as a field for dates has it: 2027-01-31T09:00. */
export function localOf(time: string | number | undefined, zone: string): string {
  const ms = typeof time === "number" ? time : Date.parse(time ?? "");
  if (Number.isNaN(ms)) return "";
  const p = partsOf(ms, zone);
  return `${p.year}-${p.month}-${p.day}T${p.hour}:${p.minute}`;
}

/** instantOf returns the moment at which the clock on the wall of a zone shows a time: the first of two, and if it leaves the time out, when it does. */
export function instantOf(local: string, zone: string): string | undefined {
  const wall = Date.parse(`${local}Z`);
  if (Number.isNaN(wall)) return undefined;
  const offset = (ms: number) => Date.parse(`${localOf(ms, zone)}Z`) - Math.floor(ms / 60_000) * 60_000;
  const candidates = [...new Set([offset(wall - 86_400_000), offset(wall + 86_400_000)])].map((o) => wall - o).filter((ms) => localOf(ms, zone) === local.slice(0, 16));
  const ms = candidates.length > 0 ? Math.min(...candidates) : wall - offset(wall - 86_400_000);
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** whenIn says when a moment is in a zone: Tue, 17 Nov 2026, 09:00. */
export function whenIn(time: string | number, zone: string | undefined, locale: string): string {
  return new Intl.DateTimeFormat(locale, { timeZone: known(zone), weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(typeof time === "number" ? time : Date.parse(time));
}
