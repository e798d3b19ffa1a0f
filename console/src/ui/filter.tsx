import { Search } from "lucide-react";
import { useEffect, useState } from "react";

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
    <div className="relative min-w-48 flex-1 md:max-w-72">
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
