import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Ban, ChevronRight, GitFork, Hash, Wrench } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { api, ask } from "../../api/client";
import { threadDoubtsQuery, type Call } from "../../api/doubts";
import { useMay } from "../../api/session";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../i18n/i18n";
import { useEvents } from "../../live/events";
import type { Fold, FoldedStep } from "../../live/fold";
import { usePolling } from "../../live/live";
import { Button } from "../../ui/button";
import { Drawn } from "../../ui/drawn";
import { CopyButton, short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Markdown } from "../../ui/markdown";
import { Origin } from "../../ui/origin";
import { Page } from "../../ui/page";
import { Settlement } from "../../ui/settle";
import { Empty, Failure, Loaded } from "../../ui/state";
import { Badge, lookOf, lookOfRun, stateOf } from "../../ui/status";
import { Ago } from "../../ui/time";
import { Keep } from "./keep";
import { messagesQuery, pendingQuery, textOf, threadQuery, threadRunsQuery, type Message, type Pending, type Run } from "./queries";

/** ThreadPage is a conversation: what was said, what is being said, and a field to say more. */
export function ThreadPage() {
  const { t } = useLanguage();
  const { id, message } = useParams({ strict: false }) as { id: string; message?: string };
  const polling = usePolling(2000);
  const thread = useQuery({ ...threadQuery(id), refetchInterval: polling });
  const runs = useQuery({ ...threadRunsQuery(id), refetchInterval: polling });
  const open = runs.data?.items.find((r) => r.status !== "done");
  const agents = useMemo(() => new Map(runs.data?.items.map((r) => [r.run_id, r.agent_id])), [runs.data]);
  const title = thread.data?.metadata.title;
  if (thread.isError && !thread.data) {
    return (
      <Page crumbs={[{ text: t("nav.threads"), to: "/threads" }, { text: short(id) }]}>
        <Failure error={thread.error} retry={() => void thread.refetch()} />
      </Page>
    );
  }
  return (
    <Page
      crumbs={[{ text: t("nav.threads"), to: "/threads" }, { text: title || short(id) }]}
      badge={
        <span className="flex flex-wrap items-center gap-x-3">
          <CopyButton text={id} label={t("action.copyId")} />
          {open && <Badge look={lookOfRun(stateOf(open))} />}
          {thread.data?.user_id && <span className="text-muted">{thread.data.user_id}</span>}
        </span>
      }
      actions={
        <>
          {open && <Interrupt id={id} />}
          {thread.data && <Keep thread={thread.data} />}
        </>
      }
    >
      <Origin from={thread.data?.forked_from} />
      <div className="flex min-h-0 flex-1">
        <div className="flex min-w-0 flex-1 flex-col">
          <Conversation id={id} open={open} agents={agents} message={message} />
          <Queued id={id} />
          <Composer id={id} agent={runs.data?.items[0]?.agent_id ?? "default"} busy={open !== undefined} />
        </div>
        <aside aria-label={t("nav.runs")} className="hidden w-72 shrink-0 overflow-auto border-l border-line bg-panel xl:block">
          <h2 className="px-4 pt-3 pb-1 text-dense font-semibold text-muted">{t("nav.runs")}</h2>
          <ul>
            {runs.data?.items.map((r) => (
              <li key={r.run_id}>
                <RunLine run={r} />
              </li>
            ))}
          </ul>
        </aside>
      </div>
    </Page>
  );
}

function RunLine({ run }: { run: Run }) {
  const { money } = useLanguage();
  return (
    <Link to="/runs/$id" params={{ id: run.run_id }} className="row-link flex min-h-8 items-center gap-2 px-4">
      <Badge look={lookOfRun(stateOf(run))} iconOnly />
      <span className="mono">{short(run.run_id)}</span>
      <span className="truncate text-muted">{run.agent_id}</span>
      <span className="mono ml-auto text-muted">{run.cost_usd ? money(run.cost_usd) : <Ago at={toMs(run.created_at)} />}</span>
    </Link>
  );
}

function Interrupt({ id }: { id: string }) {
  const { t } = useLanguage();
  const may = useMay("run");
  const client = useQueryClient();
  const interrupt = useMutation({
    mutationFn: () => api.POST("/v1/threads/{thread_id}/interrupt", { params: { path: { thread_id: id } } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["thread", id] }),
  });
  return (
    <Button why={may ? undefined : t("may.run")} disabled={interrupt.isPending} onClick={() => interrupt.mutate()}>
      <Ban aria-hidden className="size-3.5" />
      {t("threads.interrupt")}
    </Button>
  );
}

/** Conversation shows the messages, then what the open run has said that is not a message yet. */
function Conversation({ id, open, agents, message }: { id: string; open?: Run; agents: Map<string, string>; message?: string }) {
  const { t } = useLanguage();
  const polling = usePolling(2000);
  const query = useInfiniteQuery({ ...messagesQuery(id), refetchInterval: polling });
  const doubted = useQuery({ ...threadDoubtsQuery(id), refetchInterval: polling });
  const doubts = useMemo(() => new Map(doubted.data?.map((d) => [`${d.run}/${d.call.call_id}`, d.call])), [doubted.data]);
  const [internal, setInternal] = useState(false);
  const messages = useMemo(() => (query.data?.pages.flatMap((p) => p.messages) ?? []).slice().reverse(), [query.data]);
  const results = useMemo(() => new Map(messages.filter((m) => m.role === "tool").map((m) => [m.tool_call_id ?? "", m])), [messages]);
  const hidden = messages.filter((m) => m.visibility === "internal").length;
  const named = messages.find((m) => m.id === message);
  const shown = messages.filter((m) => m.role !== "tool" && (internal || m === named || m.visibility !== "internal"));
  const { hasNextPage, isFetching, fetchNextPage } = query;
  useEffect(() => {
    if (message && query.data && !named && hasNextPage && !isFetching) void fetchNextPage(); // the address names an older message
  }, [message, query.data, named, hasNextPage, isFetching, fetchNextPage]);
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(message === undefined);
  useLayoutEffect(() => {
    if (named) scroller.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  }, [named === undefined, message]); // eslint-disable-line
  const [size, setSize] = useState(0);
  useLayoutEffect(() => {
    const el = scroller.current;
    if (el && atEnd.current) el.scrollTop = el.scrollHeight;
  }, [shown.length, size]);
  useEffect(() => {
    const el = scroller.current!;
    const end = new ResizeObserver(() => {
      if (atEnd.current) el.scrollTop = el.scrollHeight;
    });
    end.observe(el); // fields below it appear and grow
    if (el.firstElementChild) end.observe(el.firstElementChild);
    return () => end.disconnect();
  }, [query.isSuccess]);
  return (
    <div
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label={t("threads.conversation")}
      className="min-h-0 flex-1 overflow-auto"
      onScroll={(e) => {
        const el = e.currentTarget;
        atEnd.current = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
      }}
    >
      <Loaded query={query}>
        {() => (
          <div className="mx-auto flex max-w-3xl flex-col gap-4 px-4 py-4">
            {query.hasNextPage && (
              <button type="button" className="link self-center" onClick={() => void query.fetchNextPage()}>
                {t("threads.older")}
              </button>
            )}
            {hidden > 0 && (
              <label className="flex items-center gap-2 self-end text-dense text-muted">
                <input type="checkbox" checked={internal} onChange={(e) => setInternal(e.target.checked)} />
                {t("threads.internal", { n: hidden })}
              </label>
            )}
            {shown.map((m, i) => (
              <MessageView key={m.id ?? i} thread={id} message={m} results={results} doubts={doubts} agents={agents} named={m === named} />
            ))}
            {shown.length === 0 && !open && <Empty title={t("threads.noMessages")} />}
            {open && <Streaming key={open.run_id} run={open} known={messages} grown={setSize} />}
          </div>
        )}
      </Loaded>
    </div>
  );
}

function Said({ who, run, children, muted, named, link }: { who: string; run?: string; children: React.ReactNode; muted?: boolean; named?: boolean; link?: React.ReactNode }) {
  const { t } = useLanguage();
  return (
    <article aria-current={named ? "true" : undefined} className={`group/said ${muted ? "opacity-80" : ""} ${named ? "-mx-3 rounded-md bg-sunken px-3 py-2" : ""}`}>
      <header className="mb-0.5 flex items-center gap-2 text-dense">
        <h2 className="font-semibold">{who}</h2>
        {run && (
          <Link to="/runs/$id" params={{ id: run }} className="inline-flex min-h-6 items-center px-1 text-muted hover:underline">
            {t("threads.steps")}
          </Link>
        )}
        {link}
      </header>
      <div className="flex flex-col gap-2">{children}</div>
    </article>
  );
}

function MessageView({ thread, message, results, doubts, agents, named }: { thread: string; message: Message; results: Map<string, Message>; doubts: Map<string, Call>; agents: Map<string, string>; named: boolean }) {
  const { t } = useLanguage();
  const m = message;
  const text = textOf(m.content);
  const thinking = m.content.map((b) => (b.type === "thinking" && "thinking" in b ? b.thinking : "")).join("");
  const other = m.content.filter((b) => b.type !== "text" && b.type !== "thinking" && b.type !== "tool_use" && b.type !== "tool_result");
  if (m.metadata?.compaction) {
    return (
      <details className="border-y border-line py-1 text-muted">
        <summary className="cursor-pointer text-center">{t("threads.summary")}</summary>
        <p className="prose-model">{text}</p>
      </details>
    );
  }
  return (
    <Said who={m.role === "assistant" ? (m.metadata?.sender_agent_id ?? agents.get(m.metadata?.run_id ?? "") ?? t("role.assistant")) : t(`role.${m.role}` as Key)} run={m.role === "assistant" ? m.metadata?.run_id : undefined} muted={m.visibility === "internal"} named={named} link={
        m.id && (
          <>
            <MessageLink thread={thread} message={m.id} />
            <ForkMessage thread={thread} message={m.id} />
          </>
        )
      }>
      {thinking && (
        <details className="text-muted">
          <summary className="cursor-pointer">{t("run.reasoning")}</summary>
          <p className="prose-model">{thinking}</p>
        </details>
      )}
      {text && (m.role === "user" ? <p className="prose-model panel px-3 py-2">{text}</p> : <Markdown text={text} />)}
      {other.map((b, i) => (
        <span key={i} className="mono text-muted">
          {b.type}
        </span>
      ))}
      {m.tool_calls?.map((c) => {
        const result = results.get(c.id);
        return <CallView key={c.id} name={c.name} args={c.arguments} result={result ? textOf(result.content) : undefined} run={m.metadata?.run_id} id={c.id} doubt={doubts.get(`${m.metadata?.run_id ?? ""}/${c.id}`)} />;
      })}
      {m.metadata?.interrupted && <p className="text-wait">{t("threads.interrupted")}</p>}
    </Said>
  );
}

/** MessageLink is the address of a message, to send to others. */
function MessageLink({ thread, message }: { thread: string; message: string }) {
  const { t } = useLanguage();
  return (
    <Link to="/threads/$id/messages/$message" params={{ id: thread, message }} replace aria-label={t("threads.messageLink")} title={t("threads.messageLink")} className="inline-flex size-6 items-center justify-center rounded-sm text-muted opacity-0 group-hover/said:opacity-100 hover:text-text focus-visible:opacity-100 [@media(hover:none)]:opacity-100">
      <Hash aria-hidden className="size-3.5" />
    </Link>
  );
}

/** ForkMessage takes the conversation up on a new thread, from a message. */
function ForkMessage({ thread, message }: { thread: string; message: string }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const may = useMay("run");
  const fork = useMutation({
    mutationFn: () => ask(api.POST("/v1/threads/{thread_id}/fork", { params: { path: { thread_id: thread } }, body: { message_id: message } })),
    onSuccess: (made) => void navigate({ to: "/threads/$id", params: { id: made.id } }),
  });
  return (
    <>
      <button
        type="button"
        aria-label={t("fork.message")}
        title={may ? t("fork.message") : t("may.run")}
        aria-disabled={may ? undefined : true}
        disabled={fork.isPending}
        onClick={() => may && fork.mutate()}
        className="inline-flex size-6 items-center justify-center rounded-sm text-muted opacity-0 group-hover/said:opacity-100 hover:text-text focus-visible:opacity-100 [@media(hover:none)]:opacity-100"
      >
        <GitFork aria-hidden className="size-3.5" />
      </button>
      {fork.error && (
        <span role="alert" className="text-fail [overflow-wrap:anywhere]">
          {fork.error.message}
        </span>
      )}
    </>
  );
}

function CallView({ name, args, result, run, id, doubt }: { name: string; args: unknown; result?: string; run?: string; id: string; doubt?: Call }) {
  const { t } = useLanguage();
  return (
    <details className="group panel">
      <summary className="touch flex min-h-8 cursor-pointer list-none items-center gap-2 px-3 [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className="size-3.5 shrink-0 text-muted group-open:rotate-90" />
        <Wrench aria-hidden className="size-3.5 shrink-0 text-muted" />
        <span className="mono max-w-3/4 shrink-0 truncate">{name}</span>
        {doubt && <Badge look={lookOf(doubt)} />}
        <span className="min-w-0 truncate text-muted">{result === undefined ? t("threads.noResult") : result.slice(0, 120)}</span>
      </summary>
      <div className="flex flex-col gap-2 border-t border-line p-3">
        {run && doubt && <Settlement run={run} call={doubt} />}
        <Drawn tool={name} args={args} result={result} />
        <Json value={args} label={t("call.arguments")} />
        {result !== undefined && <Json value={result} label={t("call.result")} />}
        {run && (
          <Link to="/runs/$id/calls/$call" params={{ id: run, call: id }} className="link">
            {t("threads.callDetail")}
          </Link>
        )}
      </div>
    </details>
  );
}

/** Streaming shows the steps of an open run whose messages are not there yet. */
function Streaming({ run, known, grown }: { run: Run; known: Message[]; grown: (size: number) => void }) {
  const { t } = useLanguage();
  const { fold } = useEvents(run.run_id, run.status);
  const ids = new Set(known.map((m) => m.id));
  const steps = fold.steps.filter((s) => !ids.has(s.messageId));
  const size = steps.reduce((n, s) => n + s.text.length + s.reasoning.length + s.calls.length, 0);
  useEffect(() => grown(size), [size, grown]);
  const waits = run.status === "waiting";
  return (
    <>
      {steps.map((s) => (
        <StepView key={s.messageId} step={s} fold={fold} run={run} />
      ))}
      <p role="status" className="flex items-center gap-2 text-muted">
        <Badge look={lookOfRun(stateOf(run))} />
        {waits &&
          run.waiting?.tickets.map((ticket) => (
            <Link key={ticket.ticket_id} to="/approvals/$run/$ticket" params={{ run: run.run_id, ticket: ticket.ticket_id }} className="link font-medium">
              {t("approvals.decideTool", { tool: ticket.tool_name })}
            </Link>
          ))}
      </p>
    </>
  );
}

function StepView({ step, fold, run }: { step: FoldedStep; fold: Fold; run: Run }) {
  const { t } = useLanguage();
  if (!step.text && !step.reasoning && step.calls.length === 0) return null;
  return (
    <Said who={run.agent_id || t("role.assistant")} run={run.run_id}>
      {step.reasoning && !step.text && <p className="prose-model text-muted">{step.reasoning}</p>}
      {step.text && <Markdown text={step.text} />}
      {step.calls.map((id) => {
        const c = fold.calls.get(id);
        return c && <CallView key={id} id={id} name={c.name} args={c.args ?? c.partial} result={c.result ? JSON.stringify(c.result.data) : undefined} run={run.run_id} />;
      })}
    </Said>
  );
}

function Queued({ id }: { id: string }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const polling = usePolling(2000);
  const may = useMay("run");
  const query = useQuery({ ...pendingQuery(id), refetchInterval: polling });
  const withdraw = useMutation({
    mutationFn: (p: Pending) => api.DELETE("/v1/threads/{thread_id}/pending/{pending_id}", { params: { path: { thread_id: id, pending_id: p.pending_id }, query: { revision: p.revision } } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["thread", id, "pending"] }),
  });
  const items = query.data?.items.filter((p) => p.messages.length > 0) ?? [];
  if (items.length === 0) return null;
  return (
    <section aria-label={t("threads.queued")} className="border-t border-line bg-sunken px-4 py-2">
      <h2 className="text-dense font-semibold text-muted">{t("threads.queued")}</h2>
      <ul>
        {items.map((p) => (
          <li key={p.pending_id} className="flex items-center gap-2">
            <span className="truncate">{p.messages.map((m) => textOf(m.content)).join(" ")}</span>
            <Button kind="quiet" className="ml-auto" why={may ? undefined : t("may.run")} onClick={() => withdraw.mutate(p)}>
              {t("threads.withdraw")}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const modes = ["queue", "steer", "interrupt_then_queue"] as const;

function Composer({ id, agent, busy }: { id: string; agent: string; busy: boolean }) {
  const { t } = useLanguage();
  const may = useMay("run");
  const client = useQueryClient();
  const draft = `awaken.draft ${id}`;
  const [text, setText] = useState(() => sessionStorage.getItem(draft) ?? ""); // a reload does not lose it
  const [mode, setMode] = useState<(typeof modes)[number]>("queue");
  useEffect(() => {
    if (text) sessionStorage.setItem(draft, text);
    else sessionStorage.removeItem(draft);
  }, [draft, text]);
  const send = useMutation({
    mutationFn: (content: string) => api.POST("/v1/threads/{thread_id}/messages", { params: { path: { thread_id: id } }, body: { agent_id: agent, messages: [{ role: "user", content }], ...(busy ? { mode } : {}) } }),
    onSuccess: () => {
      setText("");
      return client.invalidateQueries({ queryKey: ["thread", id] });
    },
  });
  return (
    <form
      className="border-t border-line bg-panel p-3"
      onSubmit={(e) => {
        e.preventDefault();
        if (text.trim() && may && !send.isPending) send.mutate(text);
      }}
    >
      {send.error && (
        <p role="alert" className="mb-2 text-fail [overflow-wrap:anywhere]">
          {send.error.message}
        </p>
      )}
      <div className="mx-auto flex max-w-3xl flex-wrap items-end gap-2 px-1">
        <textarea
          rows={Math.min(8, text.split("\n").length + 1)}
          className="field min-w-0 flex-1 basis-60 resize-none"
          aria-label={t("threads.message")}
          placeholder={t("threads.placeholder")}
          value={text}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) e.currentTarget.form?.requestSubmit();
          }}
        />
        {busy && (
          <select className="field" aria-label={t("threads.mode")} value={mode} onChange={(e) => setMode(e.target.value as typeof mode)}>
            {modes.map((m) => (
              <option key={m} value={m}>
                {t(`mode.${m}` as Key)}
              </option>
            ))}
          </select>
        )}
        <Button kind="primary" type="submit" why={!may ? t("may.run") : text.trim() === "" ? t("why.noMessage") : undefined} disabled={send.isPending}>
          {t("threads.send")} <kbd className="mono opacity-80 max-sm:hidden">⌘⏎</kbd>
        </Button>
      </div>
    </form>
  );
}
