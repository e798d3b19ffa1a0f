import { Search, SlidersHorizontal, X } from "lucide-react";
import { useEffect, useId, useState, type ReactNode } from "react";
import { useLanguage } from "../i18n/i18n";
import { usePhone } from "./phone";

interface Bar {
  /** The field that finds, which is always there. */
  find?: ReactNode;
  /** The choices that most people need. On a phone they are behind a button. */
  children: ReactNode;
  /** Choices that are always behind the button. */
  more?: ReactNode;
  /** How many choices are made, and how many of more. */
  active: number;
  activeMore?: number;
  clear?: () => void;
  /** What else is at the end of the bar. */
  end?: ReactNode;
}

/** Filters is the bar above a list. Nothing of it is outside of the window, however narrow that is. */
export function Filters({ find, children, more, active, activeMore = 0, clear, end }: Bar) {
  const { t } = useLanguage();
  const phone = usePhone();
  const [open, setOpen] = useState(activeMore > 0);
  const id = useId();
  const hidden = phone ? active : activeMore;
  const button = phone || more !== undefined;
  return (
    <div role="search" aria-label={t("runs.filters")} className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      {find}
      {!phone && children}
      {button && (
        <button type="button" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)} className={`touch inline-flex min-h-8 items-center gap-1.5 rounded-md border px-2.5 whitespace-nowrap hover:bg-sunken ${hidden > 0 ? "border-accent font-medium" : "border-border"}`}>
          <SlidersHorizontal aria-hidden className="size-3.5" />
          {t(phone ? "filter.all" : "filter.more")}
          {hidden > 0 && <span className="mono">{hidden}</span>}
        </button>
      )}
      {active > 0 && clear && (
        <button type="button" className="touch inline-flex min-h-8 items-center gap-1 px-2 whitespace-nowrap text-muted hover:text-text" onClick={clear}>
          <X aria-hidden className="size-3.5" />
          {t("filter.clear")}
        </button>
      )}
      {end && <div className="ml-auto flex items-center gap-2">{end}</div>}
      <div id={id} hidden={!button || !open} className={button && open ? "grid w-full grid-cols-2 gap-2 max-md:[&_select]:w-full max-md:[&_select]:max-w-none md:flex md:flex-wrap" : "hidden"}>
        {phone && children}
        {more}
      </div>
    </div>
  );
}

/** Filter is a field for a text. It takes effect when the user pauses. */
export function Filter({ value, onChange, label }: { value: string; onChange: (value: string) => void; label: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = window.setTimeout(() => onChange(text.trim()), 300);
    return () => window.clearTimeout(timer);
  }, [text]); // eslint-disable-line
  return (
    <div className="relative min-w-36 flex-1 md:max-w-72 md:min-w-44">
      <Search aria-hidden className="pointer-events-none absolute top-1/2 left-2.5 size-3.5 -translate-y-1/2 text-muted" />
      <input data-filter type="search" className="field w-full pl-8" aria-label={label} placeholder={label} value={text} onChange={(e) => setText(e.target.value)} />
    </div>
  );
}

/** Choice is one value of several, or none: then it shows its name. */
export function Choice({ label, value, onChange, options }: { label: string; value: string; onChange: (value: string) => void; options: { value: string; text: string }[] }) {
  const known = value === "" || options.some((o) => o.value === value);
  return (
    <select className={`field max-w-44 ${value ? "border-accent font-medium" : ""}`} aria-label={label} value={value} onChange={(e) => onChange(e.target.value)}>
      <option value="">{label}</option>
      {!known && <option value={value}>{value}</option>}
      {options.map((o) => (
        <option key={o.value} value={o.value}>
          {o.text}
        </option>
      ))}
    </select>
  );
}

/** Check is something that is on or off. */
export function Check({ label, checked, onChange }: { label: string; checked: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="touch inline-flex min-h-8 items-center gap-2 whitespace-nowrap">
      <input type="checkbox" checked={checked} onChange={(e) => onChange(e.target.checked)} />
      {label}
    </label>
  );
}
