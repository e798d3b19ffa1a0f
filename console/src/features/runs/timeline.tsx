import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight, Diamond, ShieldCheck } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent as Press } from "react";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Badge, lookOf, toneFill, toneOf } from "../../ui/status";
import { useNow } from "../../ui/time";
import { timelineQuery, type Timeline } from "./queries";
import { placedOf, rowsOf, spansOf, type Placed } from "./rows";
import { scaleOf, type Scale } from "./scale";

const ROW = 30;

/** TimelineView shows what happened to a run on one axis of time. Only rows that are visible are in the page. */
export function TimelineView({ timeline, selected }: { timeline: Timeline; selected: string }) {
  const { t, span, date } = useLanguage();
  const running = timeline.status === "running";
  const now = useNow(running ? 1000 : 60_000);
  const [trueScale, setTrueScale] = useState(false);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [wanted, setWanted] = useState<string[]>([]); // child runs that are or were unfolded
  const loaded = useQueries({ queries: wanted.map((id) => timelineQuery(id)), combine: (list) => list.flatMap((q) => (q.data ? [q.data] : [])) });
  const children = useMemo(() => new Map(loaded.map((c) => [c.run_id, c])), [loaded]);
  const rows = useMemo(() => placedOf(timeline, folded, unfolded, children), [timeline, folded, unfolded, children]);
  const shown = useMemo(() => [...new Set([timeline, ...rows.map((r) => r.timeline)])], [timeline, rows]);
  const from = useMemo(() => shown.flatMap((x) => [...rowsOf(x).map((r) => r.at), ...x.commits.map((c) => c.at)]).reduce((a, b) => Math.min(a, b), Infinity), [shown]);
  const scale = useMemo(() => {
    const spans = shown.flatMap((x) => spansOf(x, now));
    const to = spans.reduce((a, b) => Math.max(a, b.to), from);
    return scaleOf(spans, from, to, !trueScale);
  }, [shown, now, from, trueScale]);
  const toggle = (p: Placed, open = !p.expanded) => {
    if (!p.expands || open === p.expanded) return;
    const change = (set: ReadonlySet<string>, add: boolean) => {
      const next = new Set(set);
      if (add) next.add(p.key);
      else next.delete(p.key);
      return next;
    };
    if (p.row.kind === "step") return setFolded((f) => change(f, !open));
    if (p.row.kind !== "call") return;
    const child = p.row.row.child_run_id!;
    if (open) setWanted((w) => (w.includes(child) ? w : [...w, child]));
    setUnfolded((u) => change(u, open));
  };
  const [at, setAt] = useState(0);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key === "z" && !e.metaKey && !e.ctrlKey && !(e.target as HTMLElement).closest("input,textarea,select")) setTrueScale((v) => !v);
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 1200 });
  useEffect(() => {
    const el = scroller.current;
    if (!el) return;
    const read = () => setView({ top: el.scrollTop, height: el.clientHeight });
    read();
    el.addEventListener("scroll", read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(el);
    return () => {
      el.removeEventListener("scroll", read);
      observer.disconnect();
    };
  }, []);
  const first = Math.max(0, Math.floor(view.top / ROW) - 10);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + 10);
  const focusable = at >= first && at < last ? at : first; // one row is in the order of Tab
  const go = (i: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, i));
    const el = scroller.current;
    setAt(next);
    if (!el) return;
    if (next * ROW < el.scrollTop) el.scrollTop = next * ROW;
    else if ((next + 1) * ROW > el.scrollTop + el.clientHeight) el.scrollTop = (next + 1) * ROW - el.clientHeight;
    requestAnimationFrame(() => requestAnimationFrame(() => el.querySelector<HTMLElement>(`[aria-rowindex="${next + 1}"]`)?.focus()));
  };
  const press = (e: Press) => {
    const p = rows[at];
    if (!p || e.metaKey || e.ctrlKey || e.altKey) return;
    switch (e.key) {
      case "ArrowDown":
      case "j":
        go(at + 1);
        break;
      case "ArrowUp":
      case "k":
        go(at - 1);
        break;
      case "Home":
        go(0);
        break;
      case "End":
        go(rows.length - 1);
        break;
      case "PageDown":
        go(at + 15);
        break;
      case "PageUp":
        go(at - 15);
        break;
      case "ArrowRight":
        if (p.expands && !p.expanded) toggle(p, true);
        else if (p.expanded) go(at + 1);
        break;
      case "ArrowLeft":
        if (p.expanded) toggle(p, false);
        else {
          const parent = rows.slice(0, at).findLastIndex((r) => r.level < p.level);
          if (parent >= 0) go(parent);
        }
        break;
      case "Enter":
        (e.target as HTMLElement).querySelector<HTMLElement>("a")?.click();
        break;
      default:
        return;
    }
    e.preventDefault();
    e.stopPropagation();
  };
  if (rows.length === 0) return <p className="p-4 text-muted">{t("run.notBegun")}</p>;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex border-b border-line text-caption text-muted">
        <div className="flex w-64 shrink-0 items-center justify-between px-4 py-1 max-md:w-44">
          <span>{t("run.durable")}</span>
          {(scale.breaks.length > 0 || trueScale) && (
            <button type="button" className="link" aria-pressed={trueScale} onClick={() => setTrueScale((v) => !v)} title="z">
              {trueScale ? t("run.foldGaps") : t("run.trueScale")}
            </button>
          )}
        </div>
        <div aria-hidden className="relative mr-12 h-9 flex-1">
          {scale.ticks
            .filter((tick) => tick.at < 0.95 && !scale.breaks.some((b) => Math.abs(b.at - tick.at) < 0.08))
            .map((tick) => (
            <span key={tick.ms} className="absolute top-0 border-l border-line pl-1 whitespace-nowrap tabular-nums" style={{ left: `${tick.at * 100}%` }}>
                {span(tick.ms, scale.step)}
              </span>
            ))}
          {scale.breaks.map((b) => (
            <span key={b.at} title={t("run.idle", { time: span(b.ms) })} className="absolute inset-y-0 z-10 -translate-x-1/2 bg-sunken px-1 pt-0.5 whitespace-nowrap text-muted" style={{ left: `clamp(28px, ${b.at * 100}%, calc(100% - 28px))` }}>
              ⋯ {span(b.ms)}
            </span>
          ))}
          {timeline.commits.map((c) => (
            <span
              key={`${c.fence}/${c.number}`}
              title={t("run.commit", { n: c.number, kinds: c.kinds.map((k) => t(`commit.${k}` as Key)).join(", "), time: date(c.at) })}
              className={`absolute bottom-1 -ml-1 ${c.kinds.includes("intent") ? "size-2 rotate-45 bg-run" : "h-2.5 w-0.5 translate-x-1 bg-ok"}`}
              style={{ left: `${scale.x(c.at) * 100}%` }}
            />
          ))}
        </div>
      </div>
      <div ref={scroller} className="relative min-h-0 flex-1 overflow-auto">
        <div role="treegrid" aria-label={t("run.timeline")} aria-rowcount={rows.length} aria-readonly className="relative" style={{ height: rows.length * ROW }} onKeyDown={press}>
          {rows.slice(first, last).map((p, i) => (
            <div
              key={p.key}
              role="row"
              aria-level={p.level}
              aria-rowindex={first + i + 1}
              aria-expanded={p.expands ? p.expanded : undefined}
              aria-selected={p.timeline === timeline && p.row.key === selected}
              tabIndex={first + i === focusable ? 0 : -1}
              onFocus={() => setAt(first + i)}
              className="group row-link absolute inset-x-0 flex items-center focus-visible:outline-offset-[-2px]"
              data-selected={p.timeline === timeline && p.row.key === selected}
              style={{ top: (first + i) * ROW, height: ROW }}
            >
              <RowView placed={p} scale={scale} now={now} toggle={() => toggle(p)} />
            </div>
          ))}
        </div>
        <p className="sr-only">{t("run.commits", { n: timeline.commits.length })}</p>
      </div>
    </div>
  );
}

/** Name is the first cell of a row, indented by its level, with the button that unfolds what is below. */
function Name({ placed: p, toggle, children, className = "" }: { placed: Placed; toggle: () => void; children: React.ReactNode; className?: string }) {
  const { t } = useLanguage();
  const Icon = p.expanded ? ChevronDown : ChevronRight;
  return (
    <div role="gridcell" className={`flex h-full w-64 shrink-0 items-center max-md:w-44 ${className}`} style={{ paddingLeft: 4 + (p.level - 1) * 14 }}>
      {p.expands ? (
        <button type="button" tabIndex={-1} onClick={toggle} aria-label={t(p.expanded ? "run.collapse" : "run.expand")} className="inline-flex size-6 shrink-0 items-center justify-center rounded-sm text-muted hover:bg-line">
          <Icon aria-hidden className="size-3.5" />
        </button>
      ) : (
        <span className="w-6 shrink-0" />
      )}
      {children}
    </div>
  );
}

/** Marks say what of a row is durable: its intent, before it began, and its result. */
function Marks({ intent, safe }: { intent?: boolean; safe: boolean }) {
  const { t } = useLanguage();
  return (
    <div role="gridcell" className="flex w-12 shrink-0 items-center justify-end gap-1 pr-3">
      {intent && (
        <span title={t("run.intent")} className="text-run">
          <Diamond aria-hidden className="size-3" />
          <span className="sr-only">{t("run.intent")}</span>
        </span>
      )}
      {safe && (
        <span title={t("run.safe")} className="text-ok">
          <ShieldCheck aria-hidden className="size-3.5" />
          <span className="sr-only">{t("run.safe")}</span>
        </span>
      )}
    </div>
  );
}

/** committed reports whether a kind of commit was made at or after a time. */
const committed = (t: Timeline, kinds: string[], at?: number) => at !== undefined && t.commits.some((c) => c.at >= at && c.kinds.some((k) => kinds.includes(k)));

function RowView({ placed, scale, now, toggle }: { placed: Placed; scale: Scale; now: number; toggle: () => void }) {
  const { t, span, money, number } = useLanguage();
  const { row, timeline } = placed;
  const id = timeline.run_id;
  const wide = (children: React.ReactNode, className: string) => (
    <div role="gridcell" className={`flex h-full min-w-0 flex-1 items-center truncate pr-4 ${className}`} style={{ paddingLeft: 16 + (placed.level - 1) * 14 }}>
      <span className="truncate">{children}</span>
    </div>
  );
  switch (row.kind) {
    case "activation":
      return wide(t("run.activation", { n: row.row.number }), "items-end! border-b border-line pb-0.5 text-caption text-muted");
    case "takeover": {
      const back = row.row.taken_back;
      return wide(t("run.takeover", { from: row.row.from_fence, to: row.row.to_fence }) + (back ? " " + t("run.takenBack", { n: back.last_seq - back.first_seq + 1 }) : ""), "bg-sunken text-doubt");
    }
    case "reset":
      return wide(t("run.reset", { reason: row.row.reason }), "text-muted");
    case "wait": {
      const until = row.row.until ?? now;
      return (
        <>
          <Name placed={placed} toggle={toggle} className="text-wait">
            <span className="truncate">{t(`reason.${row.row.reason ?? "user_input"}` as Key)}</span>
          </Name>
          <Track>
            <Bar scale={scale} from={row.row.since} to={until} className="h-0 border-t-2 border-dotted border-wait" label={span(until - row.row.since)} />
          </Track>
          <Marks safe={committed(timeline, ["wait"], row.row.since)} />
        </>
      );
    }
    case "step": {
      const s = row.row;
      const ended = s.answered_at ?? s.ended_at;
      const open = ended === undefined && timeline.status === "running";
      const to = ended ?? (open ? now : s.started_at);
      const took = s.duration_ms ?? to - s.started_at;
      const tokens = s.usage?.total_tokens ?? 0;
      const failed = s.answered_at === undefined && s.ended_at !== undefined && timeline.status === "done";
      const facts = [span(took), failed ? t("run.noAnswer") : "", tokens ? t("run.tokens", { n: tokens }) : "", s.cost_usd ? money(s.cost_usd) : ""].filter(Boolean).join(" · ");
      return (
        <>
          <Name placed={placed} toggle={toggle}>
            <Link to="/runs/$id/steps/$step" params={{ id, step: String(s.step) }} replace tabIndex={-1} className="flex min-w-0 flex-1 items-center gap-2 self-stretch pr-2">
              <span className="mono text-muted">{number(s.step)}</span>
              <span className="truncate font-medium">{s.model || t("run.model")}</span>
              {s.begun > 1 && (
                <span className="text-doubt" title={t("run.begun", { n: s.begun })}>
                  ×{s.begun}
                </span>
              )}
            </Link>
          </Name>
          <Track>
            <Bar scale={scale} from={s.started_at} to={to} className={`h-3 rounded-sm ${failed ? "bg-fail" : open ? "bg-run opacity-60" : "bg-run"}`} label={facts} />
          </Track>
          <Marks safe={committed(timeline, ["step", "end", "wait", "question", "intent", "result"], ended)} />
        </>
      );
    }
    case "call": {
      const c = row.row;
      const look = lookOf(c);
      const start = c.started_at ?? c.queued_at ?? row.at;
      const end = c.ended_at ?? (c.status === "running" || c.status === "suspended" ? now : start);
      const decided = c.decisions?.at(-1);
      const who = decided && t("run.decidedBy", { who: decided.actor?.user || decided.actor?.label || decided.actor?.key_id || t("call.noActor"), action: t(decided.action === "resume" ? "call.approved" : "call.refused") });
      const words = [c.status === "suspended" ? t("call.suspended") : span(end - start), c.status === "suspended" ? "" : t(`effect.${c.effect || "effectful"}` as Key), who ?? "", placed.loads ? t("run.childLoading") : ""].filter(Boolean);
      return (
        <>
          <Name placed={placed} toggle={toggle}>
            <Link to="/runs/$id/calls/$call" params={{ id, call: c.call_id }} replace tabIndex={-1} className="flex min-w-0 flex-1 items-center gap-1.5 self-stretch pr-2">
              <Badge look={look} iconOnly />
              <span className="mono truncate">{c.tool_name}</span>
            </Link>
          </Name>
          <Track>
            {c.queued_at && c.started_at && c.started_at - c.queued_at > 50 && <Bar scale={scale} from={c.queued_at} to={c.started_at} className="h-0 border-t-2 border-dotted border-idle" />}
            <Bar
              scale={scale}
              from={start}
              to={end}
              className={c.status === "suspended" ? "h-0 border-t-2 border-dotted border-wait" : `h-2.5 rounded-sm ${look.tone === "doubt" ? "hatched border border-doubt" : toneFill[look.tone]}`}
              label={words.join(" · ")}
              tone={toneOf(c.status === "suspended" ? "wait" : "idle")}
            />
          </Track>
          <Marks intent={!c.effect && c.started_at !== undefined && committed(timeline, ["intent"], c.queued_at)} safe={committed(timeline, ["result", "step", "end"], c.ended_at)} />
        </>
      );
    }
  }
}

function Track({ children }: { children: React.ReactNode }) {
  return (
    <div role="gridcell" className="relative h-full flex-1 overflow-hidden">
      {children}
    </div>
  );
}

/** Bar is a stretch of time, with what it was at its right, or at its left if there is no room. */
function Bar({ scale, from, to, className, label, tone = "text-muted" }: { scale: Scale; from: number; to: number; className: string; label?: string; tone?: string }) {
  const a = scale.x(toMs(from) ?? from);
  const b = Math.max(scale.x(toMs(to) ?? to), a);
  const right = b > 0.7;
  return (
    <>
      <span aria-hidden className={`absolute top-1/2 -translate-y-1/2 ${className}`} style={{ left: `min(${a * 100}%, calc(100% - 4px))`, width: `max(4px, ${(b - a) * 100}%)` }} />
      {label && (
        <span
          title={label}
          className={`absolute top-1/2 -translate-y-1/2 truncate bg-bg text-caption tabular-nums group-hover:bg-sunken group-data-[selected=true]:bg-sunken ${tone} ${right && a > 0.3 ? "pr-1.5 pl-1 text-right" : right ? "rounded-sm px-1" : "pl-1.5"}`}
          style={right ? (a > 0.3 ? { right: `max(6px, ${(1 - a) * 100}%)`, maxWidth: `${a * 100}%` } : { right: 4 }) : { left: `max(calc(${a * 100}% + 4px), ${b * 100}%)`, maxWidth: `calc(100% - max(${a * 100}% + 4px, ${b * 100}%))` }}
        >
          {label}
        </span>
      )}
    </>
  );
}
