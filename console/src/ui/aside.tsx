import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useLanguage } from "../i18n/i18n";

/** Aside shows one of the things beside it. width says how wide it is there; on a phone it takes the whole width. */
export function Aside({ label, title, badge, close, width = "md:w-[26rem]", children }: { label: string; title: ReactNode; badge?: ReactNode; close: () => void; width?: string; children: ReactNode }) {
  const { t } = useLanguage();
  return (
    <aside aria-label={label} className={`flex w-full shrink-0 flex-col overflow-auto border-l border-line bg-panel ${width}`}>
      <div className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-panel px-4 py-2">
        <h2 className="truncate font-semibold">{title}</h2>
        {badge}
        <button type="button" aria-label={t("action.close")} className="touch ml-auto inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken" onClick={close}>
          <X aria-hidden className="size-4" />
        </button>
      </div>
      {children}
    </aside>
  );
}

/** Part is a part of what is said about a thing, with its title. */
export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-1 text-dense font-semibold text-muted">{title}</h3>
      {children}
    </section>
  );
}

/** Facts are what is known about a thing, by name. Those without a value are left out. */
export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
      {rows
        .filter(([, v]) => v !== undefined && v !== "" && v !== null && v !== false)
        .map(([k, v]) => (
          <div key={k} className="contents">
            <dt className="text-muted">{k}</dt>
            <dd className="[overflow-wrap:anywhere]">{v}</dd>
          </div>
        ))}
    </dl>
  );
}
