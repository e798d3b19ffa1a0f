import { TriangleAlert } from "lucide-react";
import type { Meta } from "../api/config";
import type { Warning } from "../api/warnings";
import { useLanguage } from "../i18n/i18n";

/** Warnings says what is doubtful about a document that is stored: what its metadata has, or else what the response to the last write said. The
 * server says it in English; other languages may have a text for the code. */
export function Warnings({ meta, written = [] }: { meta?: Meta; written?: Warning[] }) {
  const { t, word, locale } = useLanguage();
  const list: (Warning & { severity?: string })[] = meta?.diagnostics ?? written;
  if (list.length === 0) return null;
  return (
    <section aria-label={t("edit.warningsTitle")} aria-live="polite" className="border-b border-line bg-sunken px-4 py-2">
      <h2 className="flex items-center gap-1.5 font-medium text-wait">
        <TriangleAlert aria-hidden className="size-4 shrink-0" />
        {t("edit.warnings", { n: list.length })}
      </h2>
      <ul tabIndex={0} aria-label={t("edit.warningsTitle")} className="flex max-h-40 flex-col gap-0.5 overflow-auto pl-5.5">
        {list.map((w, i) => (
          <li key={i} className={`[overflow-wrap:anywhere] ${w.severity === "error" ? "text-fail" : ""}`}>
            {locale !== "en" && word(`warning.${w.code}`)} {w.message} {w.code && <span className="mono text-muted">{w.code}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
