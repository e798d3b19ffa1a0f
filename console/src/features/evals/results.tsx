import { Check, CircleSlash, Minus, Plus, X } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { Link, useParams } from "@tanstack/react-router";
import type { Case, Change, EvalReply, Item, Report, Statistics } from "../../api/evals";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Aside, Part } from "../../ui/aside";
import { Filter } from "../../ui/filter";
import { short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Markdown } from "../../ui/markdown";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty } from "../../ui/state";
import { explain } from "./failures";
import { keyOf, nameOf, rowsOf, shows, variantsOf, views, type Row, type Square, type View } from "./matrix";
import type { EvalSearch } from "./search";

interface Props {
  items: Item[];
  statistics: Statistics[];
  diff?: Change[];
  comparisons?: EvalReply["comparisons"];
  /** The items of the baseline. */
  before?: Item[];
  /** The cases as they were, if they are known. */
  cases?: Case[];
  /** Whether the dataset has changed since, so that its cases are not those of the run. */
  stale?: boolean;
  search: EvalSearch;
  set: (change: EvalSearch) => void;
  waits?: boolean;
  children?: ReactNode;
}

/** Results shows items by variant and by case; one cell is open beside them. */
export function Results({ items, statistics, diff, comparisons, before, cases, stale, search, set, waits, children }: Props) {
  const { t } = useLanguage();
  const phone = usePhone();
  const variants = useMemo(() => variantsOf(items), [items]);
  const rows = useMemo(() => rowsOf(items, diff), [items, diff]);
  const usable = views.filter((v) => diff || v === "failed" || v === "all");
  const usual: View = diff && rows.some((r) => shows(r, "changed")) ? "changed" : "all";
  const view = usable.find((v) => v === search.show) ?? usual;
  const q = (search.q ?? "").toLowerCase();
  const shown = rows.filter((r) => shows(r, view) && r.fixture.toLowerCase().includes(q));
  const [fixture, n] = search.cell ? [search.cell.slice(search.cell.indexOf(":") + 1), Number(search.cell.slice(0, search.cell.indexOf(":")))] : ["", 0];
  const row = rows.find((r) => r.fixture === fixture);
  const variant = variants[n] ?? variants[0];
  const open = (r: Row, i: number) => set({ cell: `${i}:${r.fixture}` });
  const count = (v: View) => rows.filter((r) => shows(r, v)).length;
  if (items.length === 0) return <Empty title={t(waits ? "evals.waits" : "evals.none")} />;
  const list = (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2">
        <fieldset className="flex flex-wrap gap-x-3 gap-y-1">
          <legend className="sr-only">{t("evals.show")}</legend>
          {usable.map((v) => (
            <label key={v} className="touch inline-flex min-h-7 items-center gap-1.5">
              <input type="radio" name="show" checked={view === v} onChange={() => set({ show: v })} />
              {t(`evals.show.${v}` as Key)} <span className={`mono ${v === "regressed" && count(v) > 0 ? "text-fail" : "text-muted"}`}>{count(v)}</span>
            </label>
          ))}
        </fieldset>
        {rows.length > 8 && <Filter value={search.q ?? ""} onChange={(v) => set({ q: v || undefined })} label={t("evals.find")} />}
        <span className="ml-auto">{children}</span>
      </div>
      {shown.length === 0 ? (
        <Empty title={t("evals.noneShown")} />
      ) : (
        <>
          {!phone && (
            <div aria-hidden className="grid gap-3 border-b border-line px-4 py-1 text-caption text-muted" style={{ gridTemplateColumns: columns(variants.length, diff !== undefined) }}>
              <span>{t("evals.case")}</span>
              {diff && <span>{t("evals.change")}</span>}
              {variants.map((v) => (
                <span key={v.key} className="truncate" title={v.name}>
                  {v.name || t("evals.result")}
                </span>
              ))}
              <span>{t("evals.why")}</span>
            </div>
          )}
          <Rows
            items={shown}
            keyOf={(r) => r.fixture}
            height={phone ? 64 : 36}
            label={t("evals.casesOf")}
            open={(r) => open(r, 0)}
            row={(r) => (
              <div className={phone ? "flex h-full flex-col justify-center gap-1 px-4" : "grid h-full items-center gap-3 px-4"} style={phone ? undefined : { gridTemplateColumns: columns(variants.length, diff !== undefined) }} data-open={r === row || undefined}>
                <Link to="." search={((s: EvalSearch) => ({ ...s, cell: `0:${r.fixture}` })) as never} replace className={`truncate hover:underline ${r === row ? "font-semibold" : "font-medium"}`} title={r.fixture}>
                  {r.fixture}
                </Link>
                {phone ? (
                  <span className="flex gap-3">
                    {variants.map((v, i) => (
                      <Mark key={v.key} square={r.squares.get(v.key)} name={`${r.fixture} ${v.name}`} open={() => open(r, i)} />
                    ))}
                  </span>
                ) : (
                  <>
                    {diff && <Became state={r.state} />}
                    {variants.map((v, i) => (
                      <Mark key={v.key} square={r.squares.get(v.key)} name={`${r.fixture} ${v.name}`} open={() => open(r, i)} />
                    ))}
                    <Reason row={r} />
                  </>
                )}
              </div>
            )}
          />
        </>
      )}
    </div>
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {!(phone && row) && <Summary statistics={statistics} comparisons={comparisons} />}
      <div className="flex min-h-0 flex-1">
        {!(phone && row) && list}
        {row && variant && <CellDetail row={row} variants={variants} at={variants.indexOf(variant)} square={row.squares.get(variant.key)} before={before?.filter((it) => it.fixture_id === row.fixture && keyOf(it.cell) === variant.key)} of={cases?.find((c) => c.id === row.fixture)} stale={stale} set={set} />}
      </div>
    </div>
  );
}

const columns = (variants: number, changes: boolean) => `minmax(8rem,1.4fr) ${changes ? "7rem " : ""}repeat(${variants}, minmax(4.5rem, ${variants > 3 ? "5rem" : "9rem"})) minmax(0,2fr)`;

/** Mark says whether a case passed with a variant, and how many of its samples. */
function Mark({ square: s, name, open }: { square?: Square; name: string; open: () => void }) {
  const { t } = useLanguage();
  if (!s || s.items.length === 0) return <span className="text-muted">–</span>;
  const all = s.passed === s.items.length;
  const Icon = all ? Check : s.passed > 0 ? CircleSlash : X;
  const tone = all ? "text-ok" : s.passed > 0 ? "text-wait" : "text-fail";
  const judged = s.items.map((it) => it.report?.judge_score).filter((x) => x !== undefined);
  const text = s.items.length > 1 ? `${s.passed}/${s.items.length}` : judged.length > 0 ? judged[0]!.toFixed(2) : t(all ? "evals.passed" : "evals.failed");
  return (
    <button type="button" onClick={open} aria-label={`${name}: ${t(all ? "evals.passed" : s.passed > 0 ? "evals.flaky" : "evals.failed")} ${s.items.length > 1 ? text : ""}`} className={`inline-flex min-h-6 items-center gap-1 rounded-sm px-1 text-left hover:underline ${tone}`}>
      <Icon aria-hidden className="size-3.5 shrink-0" />
      <span className="tabular-nums">{text}</span>
      {s.change === "regression" && <Minus aria-hidden className="size-3 text-fail" />}
      {s.change === "fixed" && <Plus aria-hidden className="size-3 text-ok" />}
    </button>
  );
}

const tones: Record<string, string> = { regression: "text-fail", missing_from_new: "text-fail", drift: "text-wait", still_failing: "text-muted", fixed: "text-ok", newly_added: "text-run" };

function Became({ state }: { state: string }) {
  const { t, word } = useLanguage();
  return <span className={`truncate ${tones[state] ?? "text-muted"}`}>{word(`change.${state}`) ? t(`change.${state}` as Key) : state}</span>;
}

/** Reason says why the first sample that failed did. */
function Reason({ row }: { row: Row }) {
  const language = useLanguage();
  const failed = [...row.squares.values()].flatMap((s) => s.items).find((it) => it.report && !it.report.passed)?.report;
  const passed = [...row.squares.values()][0]?.items[0]?.report;
  const text = failed ? failed.failures.map((f) => explain(language, f)).join(" ") : (passed?.judge_reasoning ?? passed?.final_text ?? "");
  return (
    <span className={`truncate ${failed ? "" : "text-muted"}`} title={text.slice(0, 500)}>
      {text}
    </span>
  );
}

/** Summary has a line for each variant: the pass rate with its interval, and averages. */
function Summary({ statistics, comparisons }: { statistics: Statistics[]; comparisons?: EvalReply["comparisons"] }) {
  const { t, number, money, span } = useLanguage();
  const percent = (x: number) => number(x, { style: "percent", maximumFractionDigits: 0 });
  const many = statistics.some((s) => s.flake_rate !== undefined);
  const cost = statistics.some((s) => s.cost_usd !== undefined);
  const p = (x: number) => (x < 0.001 ? "p < 0.001" : `p = ${number(x, { maximumFractionDigits: 3 })}`);
  return (
    <div className="shrink-0 border-b border-line">
      <div className="overflow-x-auto px-4 py-2" tabIndex={0} role="region" aria-label={t("evals.summary")}>
        <table className="w-full max-w-5xl text-right tabular-nums [&_td]:py-1 [&_td]:pl-4 [&_th]:pl-4 [&_tr>*:first-child]:pl-0">
          <thead>
            <tr className="text-caption text-muted [&_th]:font-normal">
              <th className="text-left">{t("evals.variant")}</th>
              <th className="text-left">{t("evals.passRate")}</th>
              <th>{t("evals.passed")}</th>
              {many && <th title={t("evals.flakeHint")}>{t("evals.flake")}</th>}
              <th>{t("evals.tokens")}</th>
              {cost && <th>{t("evals.cost")}</th>}
              <th>{t("evals.time")}</th>
            </tr>
          </thead>
          <tbody>
            {statistics.map((s) => {
              const { low, high } = s.pass_rate_interval;
              return (
                <tr key={keyOf(s.cell)}>
                  <th scope="row" className="max-w-56 truncate text-left font-medium">
                    {nameOf(s.cell) || t("evals.mode.scripted")}
                  </th>
                  <td className="w-64">
                    <span className="flex items-center gap-2" title={t("evals.interval", { low: percent(low), high: percent(high) })}>
                      <span className="w-10 font-semibold">{percent(s.pass_rate)}</span>
                      <span aria-hidden className="relative h-2 min-w-24 flex-1 rounded-full bg-sunken">
                        <span className="absolute inset-y-0 rounded-full bg-line" style={{ left: `${low * 100}%`, width: `${Math.max(1, (high - low) * 100)}%` }} />
                        <span className={`absolute -inset-y-0.5 w-1 -translate-x-1/2 rounded-sm ${s.pass_rate >= 0.5 ? "bg-ok" : "bg-fail"}`} style={{ left: `${s.pass_rate * 100}%` }} />
                      </span>
                      <span className="w-20 text-left text-dense text-muted">{`${percent(low)}–${percent(high)}`}</span>
                    </span>
                  </td>
                  <td>
                    {number(s.passed)}/{number(s.count)}
                  </td>
                  {many && <td className={s.flake_rate ? "text-wait" : ""}>{s.flake_rate === undefined ? "–" : percent(s.flake_rate)}</td>}
                  <td>{s.tokens ? number(Math.round(s.tokens.mean)) : "–"}</td>
                  {cost && <td>{s.cost_usd ? money(s.cost_usd.mean) : "–"}</td>}
                  <td>{s.duration_ms ? span(s.duration_ms.mean) : "–"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {(comparisons ?? []).map((c) => (
        <p key={keyOf(c.baseline) + keyOf(c.cell)} className="flex flex-wrap gap-x-4 px-4 pb-2" aria-live="polite">
          {keyOf(c.cell) !== keyOf(c.baseline) && <span className="font-medium">{t("evals.against", { name: nameOf(c.cell), baseline: nameOf(c.baseline) })}</span>}
          <span className={c.lost > 0 ? "font-medium text-fail" : ""}>{t("evals.lost", { n: c.lost })}</span>
          <span className={c.won > 0 ? "font-medium text-ok" : ""}>{t("evals.won", { n: c.won })}</span>
          <span className="text-muted">{t("evals.paired", { n: c.cases })}</span>
          <span title={t("evals.signFlip")}>
            {t(c.pass_rate.p_value < 0.05 ? "evals.moreThanChance" : "evals.maybeChance", { p: p(c.pass_rate.p_value) })} · {percent(c.pass_rate.difference)}
            {c.pass_rate.interval && ` (${percent(c.pass_rate.interval.low)} – ${percent(c.pass_rate.interval.high)})`}
          </span>
          <span className="text-muted" title={t("evals.wilcoxon")}>
            {t("evals.tokensP", { p: p(c.tokens.p_value) })} · {t("evals.durationP", { p: p(c.duration_ms.p_value) })}
          </span>
        </p>
      ))}
    </div>
  );
}

/** CellDetail shows a case with a variant: what was expected, what came, and which scorer said why. */
function CellDetail({ row, variants, at, square, before, of, stale, set }: { row: Row; variants: { key: string; name: string }[]; at: number; square?: Square; before?: Item[]; of?: Case; stale?: boolean; set: (change: EvalSearch) => void }) {
  const { t } = useLanguage();
  return (
    <Aside label={t("evals.cell", { id: row.fixture })} title={row.fixture} close={() => set({ cell: undefined })} width="md:w-[26rem] xl:w-[32rem]">
      <div className="flex flex-col gap-4 p-4">
        {variants.length > 1 && (
          <label className="flex items-center gap-2 font-medium">
            {t("evals.variant")}
            <select className="field min-w-0 flex-1 font-normal" value={at} onChange={(e) => set({ cell: `${e.target.value}:${row.fixture}` })}>
              {variants.map((v, i) => (
                <option key={v.key} value={i}>
                  {v.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {of && (
          <Part title={t("case.asked")}>
            <p className="prose-model">{of.user_input}</p>
          </Part>
        )}
        {of && Object.keys(of.expect).length > 0 && (
          <Part title={t("case.expected")}>
            <Json value={of.expect} label={t("case.expected")} />
          </Part>
        )}
        {stale && <p className="text-dense text-muted">{t("evals.stale")}</p>}
        {square?.items.map((it, i) => (
          <Sample key={it.sample_index ?? i} item={it} n={square.items.length > 1 ? (it.sample_index ?? i) : undefined} before={before?.find((b) => b.sample_index === it.sample_index)} />
        ))}
        {!square?.items.length && <p className="text-muted">{t("evals.notRun")}</p>}
      </div>
    </Aside>
  );
}

function Sample({ item, n, before }: { item: Item; n?: number; before?: Item }) {
  const { id } = useParams({ strict: false }) as { id?: string }; // none on the page of files
  const language = useLanguage();
  const { t, number, money, span } = language;
  const r = item.report as Report | null;
  if (!r) return null;
  const tools = Object.entries(r.tool_calls_by_agent ?? {}).flatMap(([, calls]) => Object.entries(calls).map(([name, times]) => (times > 1 ? `${name} ×${times}` : name)));
  return (
    <div className="flex flex-col gap-3 border-t border-line pt-3">
      <p className={`flex items-center gap-2 font-medium ${r.passed ? "text-ok" : "text-fail"}`}>
        {r.passed ? <Check aria-hidden className="size-4" /> : <X aria-hidden className="size-4" />}
        {n === undefined ? t(r.passed ? "evals.passed" : "evals.failed") : t(r.passed ? "evals.samplePassed" : "evals.sampleFailed", { n: n + 1 })}
      </p>
      {r.failures.length > 0 && (
        <ul className="list-disc pl-5 [overflow-wrap:anywhere]">
          {r.failures.map((f, i) => (
            <li key={i}>{explain(language, f)}</li>
          ))}
        </ul>
      )}
      <Part title={t("run.answer")}>{r.final_text ? <Markdown text={r.final_text} /> : <p className="text-muted">{t("evals.noAnswer")}</p>}</Part>
      {before?.report && before.report.final_text !== r.final_text && (
        <Part title={t("evals.before")}>
          <Markdown text={before.report.final_text} />
        </Part>
      )}
      {(r.scores?.length ?? 0) > 0 && (
        <Part title={t("case.scorers")}>
          <ul className="flex flex-col gap-1">
            {r.scores!.map((s, i) => (
              <li key={i} className="flex flex-wrap gap-x-2">
                <span className={`mono ${s.passed ? "text-ok" : "text-fail"}`}>{number(s.score, { maximumFractionDigits: 2 })}</span>
                <span className="font-medium">{s.scorer}</span>
                {s.reason && <span className="w-full pl-6 text-muted [overflow-wrap:anywhere]">{s.reason}</span>}
              </li>
            ))}
          </ul>
        </Part>
      )}
      {r.judge_score !== undefined && (
        <Part title={t("evals.judge")}>
          <p>
            <span className="mono">{number(r.judge_score, { maximumFractionDigits: 2 })}</span> {r.judge_reasoning}
          </p>
          {r.judge_revision && <p className="mono text-dense text-muted">{r.judge_revision.slice(0, 12)}</p>}
        </Part>
      )}
      <p className="flex flex-wrap gap-x-3 text-dense text-muted">
        <span>{t("run.tokens", { n: r.total_tokens })}</span>
        {r.cost_usd !== undefined && <span>{money(r.cost_usd)}</span>}
        <span>{span(r.session_duration_ms)}</span>
        {tools.length > 0 && <span className="mono">{tools.join(", ")}</span>}
        {r.error_type && <span className="text-fail">{r.error_type}</span>}
        {item.trace_run_id && id && (
          <Link to="/traces/$id" params={{ id: item.trace_run_id }} search={{ eval: id }} className="link">
            {t("evals.trace", { id: short(item.trace_run_id) })}
          </Link>
        )}
      </p>
    </div>
  );
}
