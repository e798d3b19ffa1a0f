import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useLanguage } from "../i18n/i18n";

/** short returns the end of a long id, which tells ids apart better than its beginning. */
export const short = (id: string) => (id.length > 14 ? `…${id.slice(-6)}` : id);

/** CopyButton copies a text and says so. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useLanguage();
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    window.setTimeout(() => setDone(false), 1500);
  };
  const Icon = done ? Check : Copy;
  return (
    <button type="button" onClick={() => void copy()} aria-label={label ?? t("action.copy")} title={label ?? t("action.copy")} className="inline-flex size-6 items-center justify-center rounded-sm text-muted hover:bg-sunken hover:text-text">
      <Icon aria-hidden className="size-3.5" />
      <span className="sr-only" role="status">
        {done ? t("action.copied") : ""}
      </span>
    </button>
  );
}
