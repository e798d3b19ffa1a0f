/** A range of time in which something happened. */
export interface Span {
  from: number;
  to: number;
}

export interface Break {
  /** Where it is on the axis, 0 to 1. */
  at: number;
  ms: number;
}

export interface Scale {
  /** Returns where a time is on the axis, 0 to 1. */
  x: (ms: number) => number;
  breaks: Break[];
  ticks: { at: number; ms: number }[];
  /** The distance of ticks. */
  step: number;
}

const FOLDED = 0.03;

/** scaleOf returns the axis of spans. Times in which nothing happened, and which are ten times longer than the median span, are folded. */
export function scaleOf(spans: Span[], from: number, to: number, folds: boolean): Scale {
  const end = Math.max(to, from + 1);
  const sorted = spans.map((s) => ({ from: Math.max(from, s.from), to: Math.min(end, Math.max(s.from, s.to)) })).sort((a, b) => a.from - b.from);
  const lengths = sorted.map((s) => s.to - s.from).sort((a, b) => a - b);
  const limit = Math.max(1000, 10 * (lengths[lengths.length >> 1] ?? 0));
  const gaps: Span[] = [];
  let reached = from;
  for (const s of [...sorted, { from: end, to: end }]) {
    if (folds && s.from - reached > limit) gaps.push({ from: reached, to: s.from });
    reached = Math.max(reached, s.to);
  }
  const idle = gaps.reduce((sum, g) => sum + g.to - g.from, 0);
  const busy = Math.max(1, end - from - idle);
  const room = 1 - Math.min(0.5, gaps.length * FOLDED);
  const folded = gaps.length ? (1 - room) / gaps.length : 0;
  const x = (ms: number) => {
    const at = Math.min(end, Math.max(from, ms));
    let passed = at - from;
    let wide = 0;
    for (const g of gaps) {
      if (at >= g.to) {
        passed -= g.to - g.from;
        wide += folded;
      } else if (at > g.from) {
        passed -= at - g.from;
        wide += folded * ((at - g.from) / (g.to - g.from));
      }
    }
    return (passed / busy) * room + wide;
  };
  const raw = busy / 5;
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= raw) ?? unit * 10;
  const ticks: Scale["ticks"] = [];
  for (let ms = 0; from + ms <= end && ticks.length < 50; ms += step) {
    const t = from + ms;
    if (!gaps.some((g) => t > g.from && t < g.to)) ticks.push({ at: x(t), ms });
    else {
      const g = gaps.find((gap) => t > gap.from && t < gap.to)!;
      ms += Math.max(0, Math.floor((g.to - t) / step) * step); // skip what is folded
    }
  }
  return { x, ticks, step, breaks: gaps.map((g) => ({ at: (x(g.from) + x(g.to)) / 2, ms: g.to - g.from })) };
}
