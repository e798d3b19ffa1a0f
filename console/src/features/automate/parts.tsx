import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Ban, Check, CirclePause, CirclePlay, Clock, SkipForward, X, type LucideIcon } from "lucide-react";
import { useId, type ReactNode } from "react";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import type { Draft } from "../../ui/draft";
import { CopyButton, short } from "../../ui/id";
import { Overlay } from "../../ui/overlay";
import { Guard } from "../../ui/savebar";
import { Failure, Skeleton } from "../../ui/state";
import { toneOf, type Tone } from "../../ui/status";
import { useNow } from "../../ui/time";
import { whenIn } from "./zones";

/** The look of a link that is a button. */
export const linkLook = "touch inline-flex min-h-8 items-center gap-1.5 rounded-md border px-3 font-medium whitespace-nowrap";
export const plainLink = `${linkLook} border-border bg-panel hover:bg-sunken`;
export const primaryLink = `${linkLook} border-accent bg-accent text-on-accent hover:opacity-90`;

/** Tall is an item of a list on a phone, with three lines. */
export function Tall({ name, state, says, children }: { name: ReactNode; state: ReactNode; says: string; children: ReactNode }) {
  return (
    <div className="flex h-full flex-col justify-center gap-0.5 px-4">
      <div className="flex items-center justify-between gap-3">
        {name}
        {state}
      </div>
      <span className="truncate">{says}</span>
      <div className="truncate text-muted">{children}</div>
    </div>
  );
}

/** When says how long it is until a moment, and when that is in a zone. */
export function When({ at, zone, both }: { at: string | undefined; zone?: string; both?: boolean }) {
  const { t, span, locale, date } = useLanguage();
  const now = useNow();
  const ms = toMs(at);
  if (ms === undefined) return null;
  const soon = ms > now ? t("automate.in", { time: span(ms - now) }) : t("automate.now");
  return (
    <time dateTime={new Date(ms).toISOString()} title={date(ms)} className="tabular-nums">
      {soon}
      {both && <span className="text-muted"> · {whenIn(ms, zone, locale)}</span>}
    </time>
  );
}

/** Exactly shows a moment in a zone. */
export function Exactly({ at, zone }: { at: string; zone?: string }) {
  const { locale, date } = useLanguage();
  const ms = toMs(at) ?? 0;
  return (
    <time dateTime={new Date(ms).toISOString()} title={date(ms)} className="whitespace-nowrap tabular-nums">
      {whenIn(ms, zone, locale)}
    </time>
  );
}

const states: Record<string, { icon: LucideIcon; tone: Tone }> = {
  active: { icon: CirclePlay, tone: "ok" },
  paused: { icon: CirclePause, tone: "wait" },
  ended: { icon: Check, tone: "idle" },
  started: { icon: Check, tone: "ok" },
  starting: { icon: Clock, tone: "wait" },
  accepted: { icon: Check, tone: "ok" },
  skipped: { icon: SkipForward, tone: "idle" },
  missed: { icon: Clock, tone: "wait" },
  refused: { icon: Ban, tone: "fail" },
  failed: { icon: X, tone: "fail" },
};

/** State shows a state as icon, word and colour. */
export function State({ of }: { of: string }) {
  const { t } = useLanguage();
  const look = states[of] ?? states.ended!;
  const Icon = look.icon;
  return (
    <span className={`inline-flex items-center gap-1 whitespace-nowrap ${toneOf(look.tone)}`}>
      <Icon aria-hidden className="size-3.5 shrink-0" />
      <span className="font-medium">{t(`automate.state.${of}` as Key)}</span>
    </span>
  );
}

/** RunLink names a run, and leads to it. */
export function RunLink({ id }: { id: string }) {
  return (
    <Link to="/runs/$id" params={{ id }} className="link mono inline-flex min-h-6 items-center" title={id}>
      {short(id)}
    </Link>
  );
}

/** Fact is a name with its value, in a list of facts. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 gap-3 max-sm:flex-col max-sm:gap-0">
      <dt className="w-40 shrink-0 text-muted max-sm:w-auto">{name}</dt>
      <dd className="min-w-0 flex-1 [overflow-wrap:anywhere]">{children}</dd>
    </div>
  );
}

/** Said is what an action on a page has led to, or why it failed. */
export function Said({ error, children }: { error?: Error | null; children?: ReactNode }) {
  if (error) {
    return (
      <p role="alert" className="text-fail [overflow-wrap:anywhere]">
        {error.message}
      </p>
    );
  }
  return children ? (
    <div role="status" className="flex flex-wrap items-center gap-2">
      {children}
    </div>
  ) : null;
}

/** Tick is a truth value with its meaning. */
export function Tick({ label, hint, warn, checked, onChange }: { label: string; hint?: string; warn?: string; checked: boolean; onChange: (checked: boolean) => void }) {
  const id = useId();
  const says = (warn && checked ? warn : hint) ?? "";
  return (
    <div className="flex items-start gap-2">
      <input id={id} type="checkbox" className="mt-0.5 size-4 shrink-0" checked={checked} aria-describedby={says ? `${id}-says` : undefined} onChange={(e) => onChange(e.target.checked)} />
      <div className="min-w-0">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {says && (
          <p id={`${id}-says`} className={`text-dense ${warn && checked ? "text-wait" : "text-muted"}`}>
            {says}
          </p>
        )}
      </div>
    </div>
  );
}

/** OneOf chooses one of several values, each with its meaning in words. */
export function OneOf<V extends string>({ label, value, options, onChange, bad }: { label: string; value: V; options: { value: V; text: string; hint?: string }[]; onChange: (value: V) => void; bad?: string }) {
  const id = useId();
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend className="mb-1 font-medium">{label}</legend>
      {options.map((o) => (
        <div key={o.value} className="flex items-start gap-2">
          <input id={`${id}-${o.value}`} type="radio" name={id} className="mt-0.5 size-4 shrink-0" checked={value === o.value} aria-describedby={o.hint ? `${id}-${o.value}-says` : undefined} onChange={() => onChange(o.value)} />
          <div className="min-w-0">
            <label htmlFor={`${id}-${o.value}`}>{o.text}</label>
            {o.hint && (
              <span id={`${id}-${o.value}-says`} className="text-muted">
                {" "}
                {o.hint}
              </span>
            )}
          </div>
        </div>
      ))}
      {bad && (
        <p role="alert" className="text-dense text-fail [overflow-wrap:anywhere]">
          {bad}
        </p>
      )}
    </fieldset>
  );
}

/** Secret shows a text that is shown once, to copy. */
export function Secret({ label, text, hint }: { label: string; text: string; hint?: string }) {
  const { t } = useLanguage();
  return (
    <div className="flex flex-col gap-1">
      <span className="font-medium">{label}</span>
      <div className="flex items-start gap-2 rounded-md bg-sunken p-2">
        <code className="mono min-w-0 flex-1 [overflow-wrap:anywhere] whitespace-pre-wrap">{text}</code>
        <CopyButton text={text} label={t("automate.copyOne", { name: label })} />
      </div>
      {hint && <span className="text-dense text-muted">{hint}</span>}
    </div>
  );
}

/** Once shows secrets, which the page forgets when it is closed. Only its button closes it, so that no slip does. */
export function Once({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  const { t } = useLanguage();
  return (
    <Overlay open onOpenChange={() => {}} title={title} className="p-4">
      <div className="flex flex-col gap-4">
        <h2 className="text-title font-semibold">{title}</h2>
        <p className="text-wait">{t("automate.once")}</p>
        {children}
        <Button kind="primary" className="self-end" onClick={close}>
          {t("keyPage.kept")}
        </Button>
      </div>
    </Overlay>
  );
}

/** Pages shows a list that is read page by page, the latest first. */
export function Pages<P extends { items: unknown[] }>({ query, empty, label, children }: { query: UseInfiniteQueryResult<InfiniteData<P>>; empty: ReactNode; label: string; children: (item: P["items"][number]) => ReactNode }) {
  const { t } = useLanguage();
  if (!query.data) return query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton rows={4} />;
  const items = query.data.pages.flatMap((p) => p.items) as P["items"];
  if (items.length === 0) return empty;
  return (
    <>
      <ul aria-label={label} className="divide-y divide-line border-y border-line">
        {items.map((item) => children(item))}
      </ul>
      {query.hasNextPage && (
        <Button className="mt-3" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {t("automate.more")}
        </Button>
      )}
    </>
  );
}

interface Bar<T> {
  draft: Draft<T>;
  /** What the button says, and why it cannot be used. */
  save: string;
  why?: string;
  pending: boolean;
  error: Error | null;
  /** Whether the error stands at its field. */
  placed: boolean;
  cancel: ReactNode;
  keeps: boolean;
  /** Whether nothing is left to lose: it was saved. */
  made?: boolean;
  stays: (path: string) => boolean;
}

/** EditBar says in what state an edit is, and saves it. It is the end of its form. */
export function EditBar<T extends object>({ draft, save, why, pending, error, placed, cancel, keeps, made, stays }: Bar<T>) {
  const { t, time } = useLanguage();
  return (
    <>
      <Guard dirty={draft.dirty && !made} discard={draft.discard} stays={stays} keeps={keeps} />
      {draft.others.length > 0 && (
        <div role="alert" className="flex flex-col gap-2 rounded-md border border-l-4 border-line border-l-wait bg-panel px-3 py-2">
          <p className="font-medium">{t("edit.conflict")}</p>
          <p className="text-muted">
            {t("automate.changedFields")} <span className="mono">{draft.others.join(", ")}</span>
          </p>
          <div className="flex flex-wrap gap-2">
            <Button onClick={draft.discard}>{t("edit.takeTheirs")}</Button>
            <Button onClick={draft.rebase}>{t("automate.keepMine")}</Button>
          </div>
        </div>
      )}
      <div className="sticky bottom-0 z-10 -mx-4 flex flex-wrap items-center gap-2 border-t border-line bg-bg px-4 py-3">
        <span role="status" className="mr-auto flex flex-wrap gap-x-2">
          {draft.dirty && <span className="text-wait">{t("edit.unsaved")}</span>}
          {draft.dirty && draft.restored > 0 && <span className="text-muted">{t("edit.restored", { time: time(draft.restored) })}</span>}
        </span>
        {error && (
          <p role="alert" className="w-full text-fail [overflow-wrap:anywhere]">
            {placed ? t("automate.seeAbove") : error.message}
          </p>
        )}
        {draft.dirty && <Button onClick={draft.discard}>{t("edit.discard")}</Button>}
        {cancel}
        <Button kind="primary" type="submit" why={why ?? (draft.others.length > 0 ? t("edit.changedElsewhere") : undefined)} disabled={pending}>
          {save}
        </Button>
      </div>
    </>
  );
}
