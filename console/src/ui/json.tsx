import { useMemo } from "react";
import { useLanguage } from "../i18n/i18n";
import { CopyButton } from "./id";
import { save } from "./save";

const LARGE = 256 * 1024;

/** Json shows a value. One that is very large is a download. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const { t } = useLanguage();
  const text = useMemo(() => (typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "")), [value]);
  if (text.length > LARGE) {
    return (
      <button type="button" className="link" onClick={() => save("value.json", text, "application/json")}>
        {t("action.download", { kb: Math.round(text.length / 1024) })}
      </button>
    );
  }
  return (
    <div className="group relative">
      <pre tabIndex={0} aria-label={label} className="mono max-h-80 overflow-auto rounded-md bg-sunken p-2 pr-9 [overflow-wrap:anywhere] whitespace-pre-wrap">
        {text}
      </pre>
      <div className="absolute top-1 right-1">
        <CopyButton text={text} />
      </div>
    </div>
  );
}
