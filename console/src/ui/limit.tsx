import type { Limit } from "../api/limits";
import { useLanguage, type Key } from "../i18n/i18n";

/** LimitMeters shows how much of a limit is used, where the limit comes from, and whether the provider asked for a pause. */
export function LimitMeters({ limit: l }: { limit: Limit }) {
  const { t, number, span } = useLanguage();
  const meters = [
    ["queue.requests", l.requests],
    ["queue.tokens", l.tokens],
  ] as const;
  return (
    <>
      {l.paused_ms > 0 && <p className="text-wait">{t("queue.paused", { time: span(l.paused_ms) })}</p>}
      {meters.map(([word, m]) =>
        m ? (
          <div key={word} className="mt-1">
            <div className="flex justify-between gap-2 text-dense">
              <span>{t(word, { n: Math.round(m.per_minute) })}</span>
              <span className="text-muted">
                {number(m.used_share, { style: "percent" })} · {t(`limit.${m.source}` as Key)}
              </span>
            </div>
            <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-sunken">
              <div className={`h-full ${m.used_share >= 1 ? "bg-wait" : "bg-run"}`} style={{ width: `${Math.min(100, 100 * m.used_share)}%` }} />
            </div>
          </div>
        ) : null,
      )}
    </>
  );
}
