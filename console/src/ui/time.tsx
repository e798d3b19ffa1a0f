import { useEffect, useState } from "react";
import { now, toMs } from "../api/time";
import { useLanguage } from "../i18n/i18n";

/** useNow returns the time of the server's clock, every so many milliseconds. */
export function useNow(every = 10_000): number {
  const [time, setTime] = useState(now);
  useEffect(() => {
    const timer = window.setInterval(() => setTime(now()), every);
    return () => window.clearInterval(timer);
  }, [every]);
  return time;
}

/** Ago shows how long ago something was, and when exactly on hover. */
export function Ago({ at, every }: { at: number | string | undefined; every?: number }) {
  const { ago, date } = useLanguage();
  const time = useNow(every);
  const ms = toMs(at);
  if (ms === undefined) return null;
  return (
    <time dateTime={new Date(ms).toISOString()} title={date(ms)} className="whitespace-nowrap tabular-nums">
      {ago(ms, Math.max(time, ms))}
    </time>
  );
}
