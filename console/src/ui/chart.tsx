import { useId, useState } from "react";
import { useLanguage } from "../i18n/i18n";

interface Props {
  times: number[];
  step: number;
  values: (number | null)[];
  /** Writes a value. */
  format: (value: number) => string;
  label: string;
  line?: boolean;
}

const W = 640;
const H = 190;
const LEFT = 8;
const BOTTOM = 22;

/** ceiling returns a round number that is not below a value, for the top of an axis. */
export function ceiling(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((n) => n * unit >= value) ?? 10) * unit;
}

/** Chart shows values over time, as bars or, for what cannot be added up, as a line. The arrow keys read it value by value; a table beside it has the sums. */
export function Chart({ times, step, values, format, label, line }: Props) {
  const { locale } = useLanguage();
  const [at, setAt] = useState<number>();
  const hint = useId();
  const top = ceiling(Math.max(0, ...values.map((v) => v ?? 0)));
  const slot = (W - LEFT * 2) / Math.max(1, times.length);
  const x = (i: number) => LEFT + (i + 0.5) * slot;
  const y = (v: number) => 8 + (H - 8 - BOTTOM) * (1 - v / top);
  const day = step >= 86_400_000;
  const when = new Intl.DateTimeFormat(locale, day ? { month: "short", day: "numeric" } : { weekday: "short", hour: "2-digit", minute: "2-digit" });
  const whole = new Intl.DateTimeFormat(locale, day ? { dateStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
  const every = Math.max(1, Math.ceil(times.length / 6));
  const spoken = at !== undefined && times[at] !== undefined ? `${whole.format(times[at])}: ${values[at] === null || values[at] === undefined ? "–" : format(values[at])}` : "";
  const points = values.map((v, i) => (v === null ? null : `${x(i)},${y(v)}`));
  return (
    <figure className="flex flex-col gap-1">
      <div className="flex min-h-5 justify-between text-dense text-muted">
        <span className="tabular-nums">{format(top)}</span>
        <output id={hint} aria-live="polite" className="font-medium text-text tabular-nums">
          {spoken}
        </output>
      </div>
      <svg
        viewBox={`0 0 ${W} ${H}`}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={at ?? 0}
        aria-valuetext={spoken || label}
        className="h-auto w-full touch-pan-y"
        onPointerMove={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          const i = Math.floor((((e.clientX - box.left) / box.width) * W - LEFT) / slot);
          setAt(Math.max(0, Math.min(times.length - 1, i)));
        }}
        onPointerLeave={() => setAt(undefined)}
        onKeyDown={(e) => {
          const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
          if (move === undefined) return;
          e.preventDefault();
          setAt((i) => Math.max(0, Math.min(times.length - 1, (i ?? (move > 0 ? -1 : times.length)) + move)));
        }}
      >
        {[0, 0.5, 1].map((f) => (
          <line key={f} x1={LEFT} x2={W - LEFT} y1={y(top * f)} y2={y(top * f)} className="stroke-line" />
        ))}
        {at !== undefined && <rect x={x(at) - slot / 2} y={8} width={slot} height={H - 8 - BOTTOM} className="fill-sunken" />}
        {line
          ? points.map((p, i) => {
              const before = points[i - 1];
              return (
                p && (
                  <g key={i}>
                    {before && <polyline points={`${before} ${p}`} fill="none" className="stroke-accent" strokeWidth={2} />}
                    <circle cx={x(i)} cy={y(values[i]!)} r={i === at ? 4 : 2.5} className="fill-accent" />
                  </g>
                )
              );
            })
          : values.map((v, i) => (v ? <rect key={i} x={x(i) - slot * 0.38} y={y(v)} width={slot * 0.76} height={Math.max(1.5, H - BOTTOM - y(v))} rx={Math.min(3, slot * 0.2)} className="fill-accent" /> : null))}
        {times.map((time, i) =>
          i % every === 0 && (i === 0 || times.length - i > every / 2) ? (
            <text key={time} x={i === 0 ? LEFT : Math.min(x(i), W - LEFT - 36)} y={H - 5} textAnchor={i === 0 ? "start" : "middle"} className="fill-muted text-caption">
              {when.format(time)}
            </text>
          ) : null,
        )}
      </svg>
    </figure>
  );
}

/** Spark is the shape of some values, for a row of a table. */
export function Spark({ values, line }: { values: (number | null)[]; line?: boolean }) {
  const top = Math.max(0, ...values.map((v) => v ?? 0)) || 1;
  const slot = 120 / Math.max(1, values.length);
  return (
    <svg aria-hidden viewBox="0 0 120 24" preserveAspectRatio="none" className="h-5 w-full">
      {line ? (
        <polyline fill="none" className="stroke-accent" strokeWidth={1.5} vectorEffect="non-scaling-stroke" points={values.flatMap((v, i) => (v === null ? [] : [`${(i + 0.5) * slot},${23 - (22 * v) / top}`])).join(" ")} />
      ) : (
        values.map((v, i) => (v ? <rect key={i} x={i * slot} width={Math.max(0.6, slot * 0.8)} y={23 - (22 * v) / top} height={Math.max(1, (22 * v) / top)} className="fill-accent" /> : null))
      )}
    </svg>
  );
}
