import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Bot, Brain, Download, Gavel, Hand, ListChecks, ListTree, Wrench, type LucideIcon } from "lucide-react";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Aside, Facts, Part } from "../../ui/aside";
import { Button } from "../../ui/button";
import { CopyButton, short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Markdown } from "../../ui/markdown";
import { AdminPage } from "../../ui/needs";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { save } from "../../ui/save";
import { Empty, Loaded } from "../../ui/state";
import { ToDataset } from "../../ui/todataset";
import { Bodies, type Body } from "./bodies";
import { Kept, PinButton } from "./pin";
import { traceQuery, type Line, type Trace } from "./queries";
import type { TraceAt } from "./search";

const linkLook = "touch inline-flex min-h-8 items-center gap-1.5 rounded-md border border-border bg-panel px-3 font-medium hover:bg-sunken";
const icons: Record<string, LucideIcon> = { inference: Brain, tool: Wrench, suspension: Hand, evaluation_result: Gavel };

/** TracePage shows what a run did: requests to models, calls, questions and other runs, with what was told and said. */
export function TracePage() {
  const { t } = useLanguage();
  const { id } = useParams({ strict: false }) as { id: string };
  const { eval: cell } = useSearch({ strict: false }) as TraceAt;
  const query = useQuery({ ...traceQuery(id), enabled: false });
  const first = query.data?.lines[0];
  return (
    <AdminPage
      feature="traces"
      setting="admin.expose_trace_routes"
      crumbs={[{ text: t("nav.traces"), to: "/traces" }, { text: short(id) }]}
      title={t("traces.title", { id: short(id) })}
      badge={
        <span className="flex flex-wrap items-center gap-x-3 text-muted">
          <CopyButton text={id} label={t("action.copyId")} />
          {first && <span>{first.agent_id}</span>}
          {first?.release_tag && <span>v{first.release_tag}</span>}
          {query.data && <span>{t("traces.events", { n: query.data.total })}</span>}
        </span>
      }
      actions={
        <span className="flex flex-wrap justify-end gap-2">
          {query.data && (
            <Button onClick={() => save(`trace-${id}.jsonl`, query.data!.text, "application/x-ndjson")}>
              <Download aria-hidden className="size-3.5" />
              {t("traces.export")}
            </Button>
          )}
          {cell === undefined ? (
            <>
              {query.data && <PinButton id={id} />}
              <Link to="/runs/$id" params={{ id }} className={linkLook}>
                <ListTree aria-hidden className="size-3.5" />
                {t("traces.timeline")}
              </Link>
              {query.data && <ToDataset run={id} />}
            </>
          ) : (
            <Link to="/evals/$id" params={{ id: cell }} className={linkLook}>
              <ListChecks aria-hidden className="size-3.5" />
              {t("traces.evaluation")}
            </Link>
          )}
        </span>
      }
    >
      <Shown id={id} />
    </AdminPage>
  );
}

function Shown({ id }: { id: string }) {
  const query = useQuery(traceQuery(id));
  const { eval: cell } = useSearch({ strict: false }) as TraceAt;
  return (
    <Loaded query={query}>
      {(trace) => (
        <>
          {cell === undefined && <Kept id={id} />}
          <Tree id={id} trace={trace} />
        </>
      )}
    </Loaded>
  );
}

/** nameOf says what a line is about. */
function nameOf(line: Line): string {
  return String(line.model ?? line.name ?? line.tool_name ?? line.child_agent_id ?? line.type);
}

function Tree({ id, trace }: { id: string; trace: Trace }) {
  const { t, span, money } = useLanguage();
  const phone = usePhone();
  const navigate = useNavigate();
  const { at, eval: cell } = useSearch({ strict: false }) as TraceAt;
  const open = at === undefined ? undefined : trace.lines[Number(at)];
  const start = Math.min(...trace.lines.map((l) => l.started_at_ms ?? Infinity));
  if (trace.lines.length === 0) return <Empty title={t("traces.nothing")} />;
  const show = (i?: number) => void navigate({ to: "/traces/$id", params: { id }, search: { at: i === undefined ? undefined : String(i), eval: cell }, replace: true });
  return (
    <div className="flex min-h-0 flex-1">
      {!(phone && open) && (
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {trace.total > trace.lines.length && <p className="border-b border-line px-4 py-2 text-wait">{t("traces.truncated", { n: trace.lines.length, of: trace.total })}</p>}
          <Rows
            items={trace.lines.map((line, i) => ({ line, i }))}
            keyOf={({ i }) => String(i)}
            height={36}
            label={t("traces.tree")}
            open={({ i }) => show(i)}
            row={({ line: l, i }) => {
              const Icon = icons[l.type] ?? Bot;
              const failed = l.passed === false || l.error_type !== undefined || l.status === "failed";
              return (
                <div className={`flex h-full items-center gap-3 px-4 ${l === open ? "bg-sunken" : ""}`}>
                  <span className="mono w-16 shrink-0 text-right text-muted">{l.started_at_ms && start < Infinity ? `+${span(l.started_at_ms - start)}` : ""}</span>
                  <span className={`flex min-w-0 flex-1 items-center gap-2 ${l.type === "inference" ? "" : "pl-11"}`}>
                    {l.type === "inference" && l.step_index !== undefined && <span className="mono w-5 shrink-0 text-muted">{l.step_index}</span>}
                    <Icon aria-hidden className={`size-3.5 shrink-0 ${failed ? "text-fail" : "text-muted"}`} />
                    <span className="sr-only">{t(`traces.type.${l.type}` as Key)}</span>
                    <Link to="/traces/$id" params={{ id }} search={{ at: String(i), eval: cell }} replace className={`mono max-w-1/2 shrink-0 truncate hover:underline ${failed ? "text-fail" : ""}`}>
                      {nameOf(l)}
                    </Link>
                    {!phone && <span className="min-w-0 truncate text-muted">{excerpt(l)}</span>}
                  </span>
                  <span className="mono w-14 shrink-0 text-right text-muted max-sm:hidden">{typeof l.cost_usd === "number" && l.cost_usd > 0 ? money(l.cost_usd) : ""}</span>
                  <span className="mono w-14 shrink-0 text-right">{span(l.duration_ms)}</span>
                </div>
              );
            }}
          />
        </div>
      )}
      {open && <Detail line={open} close={() => show()} />}
    </div>
  );
}

/** excerpt returns what a line says, in short. */
function excerpt(l: Line): string {
  if (typeof l.error_type === "string") return l.error_type;
  if (typeof l.response_content === "string" && l.response_content) return l.response_content;
  if (Array.isArray(l.response_tool_calls)) return l.response_tool_calls.map((c) => `→ ${(c as { name: string }).name}`).join(" ");
  if (typeof l.message === "string") return l.message;
  if (typeof l.score === "number") return `${l.score} ${l.explanation ?? ""}`;
  return l.call_arguments === undefined ? "" : JSON.stringify(l.call_arguments);
}

const apart = new Set(["request_messages", "response_content", "response_tool_calls", "call_arguments", "call_result", "decision", "message", "request_digest", "requests", "explanation"]);
const hidden = new Set(["type", "run_id", "thread_id", "started_at_ms", "ended_at_ms", "duration_ms", "child_run_id"]);

/** Detail shows all of a line: its facts by their names, and what was told and said. */
function Detail({ line: l, close }: { line: Line; close: () => void }) {
  const { t, word, date, span } = useLanguage();
  const facts = Object.entries(l).filter(([name, v]) => !apart.has(name) && !hidden.has(name) && v !== "" && v !== null && (typeof v !== "object" || Array.isArray(v)));
  const step = l.step_index;
  const bodies = l.requests as Body[] | undefined;
  return (
    <Aside label={t("run.detail")} title={nameOf(l)} badge={<span className="text-muted">{t(`traces.type.${l.type}` as Key)}</span>} close={close} width="md:w-[26rem] xl:w-[34rem]">
      <div className="flex flex-col gap-4 p-4">
        <Facts
          rows={[
            [t("run.began"), l.started_at_ms !== undefined && date(l.started_at_ms)],
            [t("run.took"), span(l.duration_ms)],
            [
              t("traces.stepDigest"),
              typeof l.request_digest === "string" && (
                <span className="flex min-w-0 items-center gap-1">
                  <code className="mono truncate" title={t("traces.stepDigestHint")}>
                    {l.request_digest.slice(0, 16)}…
                  </code>
                  <CopyButton text={l.request_digest} label={t("traces.copyDigest")} />
                </span>
              ),
            ],
            ...facts.map(([name, v]): [string, string] => [word(`traces.fact.${name}`) ?? name.replaceAll("_", " "), Array.isArray(v) ? v.map(String).join(", ") : String(v)]),
          ]}
        />
        {step !== undefined && (
          <Link to="/runs/$id/steps/$step" params={{ id: l.run_id, step: String(step) }} className="link">
            {t("traces.step", { n: step })}
          </Link>
        )}
        {typeof l.child_run_id === "string" && (
          <Link to="/traces/$id" params={{ id: l.child_run_id }} className="link">
            {t("traces.child", { id: short(l.child_run_id) })}
          </Link>
        )}
        {typeof l.message === "string" && l.message && (
          <Part title={t("call.question")}>
            <p className="[overflow-wrap:anywhere]">{l.message}</p>
          </Part>
        )}
        {typeof l.explanation === "string" && l.explanation && (
          <Part title={t("traces.explanation")}>
            <p className="prose-model">{l.explanation}</p>
          </Part>
        )}
        {l.decision !== undefined && (
          <Part title={t("traces.decision")}>
            <Json value={l.decision} label={t("traces.decision")} />
          </Part>
        )}
        {l.type === "inference" && <Bodies list={bodies} />}
        {l.request_messages !== undefined && !bodies && (
          <Part title={t("traces.request")}>
            <Json value={l.request_messages} label={t("traces.request")} />
          </Part>
        )}
        {typeof l.response_content === "string" && l.response_content && (
          <Part title={t("run.answer")}>
            <Markdown text={l.response_content} />
          </Part>
        )}
        {l.response_tool_calls !== undefined && (
          <Part title={t("run.calls")}>
            <Json value={l.response_tool_calls} label={t("run.calls")} />
          </Part>
        )}
        {l.call_arguments !== undefined && (
          <Part title={t("call.arguments")}>
            <Json value={l.call_arguments} label={t("call.arguments")} />
          </Part>
        )}
        {l.call_result !== undefined && (
          <Part title={t("call.result")}>
            <Json value={l.call_result} label={t("call.result")} />
          </Part>
        )}
      </div>
    </Aside>
  );
}
