import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../app/i18n/i18n";
import { Badge, lookOfCall, toneFill, toneOf } from "../../ui/status";
import { useNow } from "../../ui/time";
import type { Call, Timeline } from "./queries";
import { rowsOf, spansOf, type Row } from "./rows";
import { scaleOf, type Scale } from "./scale";

export const lookOf = (c: Call) => lookOfCall(c.in_doubt && c.status !== "succeeded" && c.status !== "failed" ? "in_doubt" : c.status);

const ROW = 30;

/** TimelineView shows what happened to a run on one axis of time. Only rows that are visible are in the page. */
export function TimelineView({ timeline, selected }: { timeline: Timeline; selected: string }) {
  const { t, span, date } = useLanguage();
  const running = timeline.status === "running";
  const now = useNow(running ? 1000 : 60_000);
  const [trueScale, setTrueScale] = useState(false);
  const rows = useMemo(() => rowsOf(timeline), [timeline]);
  const from = Math.min(...rows.map((r) => r.at), ...timeline.commits.map((c) => c.at));
  const scale = useMemo(() => {
    const spans = spansOf(timeline, now);
    const to = Math.max(from, ...spans.map((s) => s.to));
    return scaleOf(spans, from, to, !trueScale);
  }, [timeline, now, from, trueScale]);
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
  if (rows.length === 0) return <p className="p-4 text-muted">{t("run.notBegun")}</p>;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex border-b border-line text-caption text-muted">
        <div className="flex w-56 shrink-0 items-center justify-between px-4 py-1 max-md:w-40">
          <span>{t("run.durable")}</span>
          {(scale.breaks.length > 0 || trueScale) && (
            <button type="button" className="link" aria-pressed={trueScale} onClick={() => setTrueScale((v) => !v)} title="z">
              {trueScale ? t("run.foldGaps") : t("run.trueScale")}
            </button>
          )}
        </div>
        <div aria-hidden className="relative mr-6 h-9 flex-1">
          {scale.ticks
            .filter((tick) => tick.at < 0.95 && !scale.breaks.some((b) => Math.abs(b.at - tick.at) < 0.08))
            .map((tick) => (
            <span key={tick.ms} className="absolute top-0 border-l border-line pl-1 whitespace-nowrap tabular-nums" style={{ left: `${tick.at * 100}%` }}>
                {span(tick.ms, scale.step)}
              </span>
            ))}
          {scale.breaks.map((b) => (
            <span key={b.at} title={t("run.idle", { time: span(b.ms) })} className="absolute inset-y-0 z-10 -translate-x-1/2 bg-sunken px-1 pt-0.5 whitespace-nowrap text-muted" style={{ left: `${b.at * 100}%` }}>
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
        <ol aria-label={t("run.timeline")} className="relative" style={{ height: rows.length * ROW }}>
          {rows.slice(first, last).map((row, i) => (
            <li key={row.key} className="group row-link absolute inset-x-0 flex items-center" data-selected={row.key === selected} style={{ top: (first + i) * ROW, height: ROW }}>
              <RowView row={row} timeline={timeline} scale={scale} now={now} />
            </li>
          ))}
        </ol>
        <p className="sr-only">{t("run.commits", { n: timeline.commits.length })}</p>
      </div>
    </div>
  );
}

function RowView({ row, timeline, scale, now }: { row: Row; timeline: Timeline; scale: Scale; now: number }) {
  const { t, span, money, number } = useLanguage();
  const id = timeline.run_id;
  switch (row.kind) {
    case "activation":
      return <p className="flex h-full w-full items-end border-b border-line px-4 pb-0.5 text-caption text-muted">{t("run.activation", { n: row.row.number })}</p>;
    case "takeover": {
      const back = row.row.taken_back;
      return (
        <p className="w-full truncate bg-sunken px-4 text-doubt">
          {t("run.takeover", { from: row.row.from_fence, to: row.row.to_fence })}
          {back && " " + t("run.takenBack", { n: back.last_seq - back.first_seq + 1 })}
        </p>
      );
    }
    case "reset":
      return <p className="w-full truncate px-4 pl-8 text-muted">{t("run.reset", { reason: row.row.reason })}</p>;
    case "wait": {
      const until = row.row.until ?? now;
      return (
        <>
          <p className="w-56 shrink-0 truncate px-4 pl-8 text-wait max-md:w-40">{t(`reason.${row.row.reason ?? "user_input"}` as Key)}</p>
          <Track>
            <Bar scale={scale} from={row.row.since} to={until} className="h-0 border-t-2 border-dotted border-wait" label={span(until - row.row.since)} />
          </Track>
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
      const facts = [span(took), tokens ? t("run.tokens", { n: tokens }) : "", s.cost_usd ? money(s.cost_usd) : ""].filter(Boolean).join(" · ");
      return (
        <>
          <Link to="/runs/$id/steps/$step" params={{ id, step: String(s.step) }} replace className="flex w-56 shrink-0 items-center gap-2 px-4 max-md:w-40">
            <span className="mono text-muted">{number(s.step)}</span>
            <span className="truncate font-medium">{s.model || t("run.model")}</span>
            {s.begun > 1 && <span className="text-doubt" title={t("run.begun", { n: s.begun })}>×{s.begun}</span>}
          </Link>
          <Track>
            <Bar scale={scale} from={s.started_at} to={to} className={`h-3 rounded-sm ${open ? "bg-run opacity-60" : "bg-run"}`} label={facts} />
          </Track>
        </>
      );
    }
    case "call": {
      const c = row.row;
      const look = lookOf(c);
      const start = c.started_at ?? c.queued_at ?? row.at;
      const end = c.ended_at ?? (c.status === "running" || c.status === "suspended" ? now : start);
      return (
        <>
          <Link to="/runs/$id/calls/$call" params={{ id, call: c.call_id }} replace className="flex w-56 shrink-0 items-center gap-1.5 px-4 pl-8 max-md:w-40">
            <Badge look={look} iconOnly />
            <span className="mono truncate">{c.tool_name}</span>
          </Link>
          <Track>
            {c.queued_at && c.started_at && c.started_at - c.queued_at > 50 && <Bar scale={scale} from={c.queued_at} to={c.started_at} className="h-0 border-t-2 border-dotted border-idle" />}
            <Bar
              scale={scale}
              from={start}
              to={end}
              className={c.status === "suspended" ? "h-0 border-t-2 border-dotted border-wait" : `h-2.5 rounded-sm ${look.tone === "doubt" ? "hatched border border-doubt" : toneFill[look.tone]}`}
              label={c.status === "suspended" ? t("call.suspended") : [span(end - start), t(`effect.${c.effect || "effectful"}` as Key)].join(" · ")}
              tone={toneOf(c.status === "suspended" ? "wait" : "idle")}
            />
          </Track>
        </>
      );
    }
  }
}

function Track({ children }: { children: React.ReactNode }) {
  return <div className="relative mr-6 h-full flex-1 overflow-hidden">{children}</div>;
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
          className={`absolute top-1/2 -translate-y-1/2 bg-bg text-caption whitespace-nowrap tabular-nums group-hover:bg-sunken group-data-[selected=true]:bg-sunken ${tone} ${right && a > 0.3 ? "pr-1.5 pl-1 text-right" : right ? "rounded-sm px-1" : "pl-1.5"}`}
          style={right ? (a > 0.3 ? { right: `max(6px, ${(1 - a) * 100}%)` } : { right: 4 }) : { left: `max(calc(${a * 100}% + 4px), ${b * 100}%)` }}
        >
          {label}
        </span>
      )}
    </>
  );
}
