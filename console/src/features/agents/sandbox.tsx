import { Link } from "@tanstack/react-router";
import { createParser } from "eventsource-parser";
import { Wrench } from "lucide-react";
import { useRef, useState } from "react";
import { base, headers } from "../../api/client";
import type { Doc } from "../../api/config";
import { failureOf } from "../../api/errors";
import { useLanguage, type Key } from "../../app/i18n/i18n";
import { Button } from "../../ui/button";
import { Json } from "../../ui/json";

interface Tool {
  id: string;
  name: string;
  input?: unknown;
  output?: unknown;
  error?: string;
}

export interface Turn {
  id: string;
  role: "user" | "assistant";
  text: string;
  tools: Tool[];
  run?: string;
  ms?: number;
  tokens?: number;
  error?: string;
  waits?: boolean;
}

interface Part {
  type: string;
  delta?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  messageMetadata?: { runId?: string; usage?: { totalTokens?: number } };
}

/** apply adds a part of an answer to it. */
export function apply(turn: Turn, p: Part): Turn {
  const tool = (change: Partial<Tool>): Turn => ({ ...turn, tools: turn.tools.some((x) => x.id === p.toolCallId) ? turn.tools.map((x) => (x.id === p.toolCallId ? { ...x, ...change } : x)) : [...turn.tools, { id: p.toolCallId ?? "", name: p.toolName ?? "", ...change }] });
  switch (p.type) {
    case "start":
      return { ...turn, run: p.messageMetadata?.runId ?? turn.run };
    case "text-delta":
      return { ...turn, text: turn.text + (p.delta ?? "") };
    case "tool-input-available":
      return tool({ name: p.toolName ?? "", input: p.input });
    case "tool-output-available":
      return tool({ output: p.output });
    case "tool-output-error":
      return tool({ error: p.errorText });
    case "tool-approval-request":
      return { ...turn, waits: true };
    case "error":
      return { ...turn, error: p.errorText };
    case "finish":
      return { ...turn, tokens: p.messageMetadata?.usage?.totalTokens };
    default:
      return turn;
  }
}

const fresh = () => ({ thread: `preview-${Math.random().toString(36).slice(2, 12)}`, turns: [] as Turn[] });

/** Sandbox talks to the agent as it is edited, and beside it to the one that runs use. Nothing of it reaches production. */
export function Sandbox({ doc, live, dirty }: { doc: Doc; live?: Doc; dirty: boolean }) {
  const { t, span } = useLanguage();
  const [side, setSide] = useState<"edited" | "live">("edited");
  const [chats, setChats] = useState(() => ({ edited: fresh(), live: fresh() }));
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const stop = useRef<AbortController>(null);
  const both = live !== undefined && dirty;

  const ask = async (where: "edited" | "live", agent: Doc, content: string) => {
    const began = performance.now();
    const { thread, turns } = chats[where];
    const user: Turn = { id: `u${turns.length}`, role: "user", text: content, tools: [] };
    let answer: Turn = { id: `a${turns.length}`, role: "assistant", text: "", tools: [] };
    const put = () => setChats((c) => ({ ...c, [where]: { thread, turns: [...turns, user, answer] } }));
    put();
    try {
      const res = await fetch(`${base}/v1/ai-sdk/agent-previews/runs`, {
        method: "POST",
        credentials: "same-origin",
        signal: stop.current?.signal,
        headers: { ...headers(), "Content-Type": "application/json", Accept: "text/event-stream" },
        body: JSON.stringify({ threadId: thread, agent, messages: [{ id: `${thread}-${turns.length}`, role: "user", parts: [{ type: "text", text: content }] }] }),
      });
      if (!res.ok || !res.body) throw await failureOf(res);
      const parser = createParser({
        onEvent: (e) => {
          if (e.data === "[DONE]") return;
          answer = apply(answer, JSON.parse(e.data) as Part);
          put();
        },
      });
      const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        parser.feed(value);
      }
    } catch (err) {
      if (!(err instanceof DOMException)) answer = { ...answer, error: (err as Error).message };
    }
    answer = { ...answer, ms: performance.now() - began };
    put();
  };

  const send = async () => {
    const content = text.trim();
    if (!content || busy) return;
    setText("");
    setBusy(true);
    stop.current = new AbortController();
    await Promise.all([ask("edited", doc, content), both ? ask("live", live, content) : undefined]);
    setBusy(false);
  };
  const shown = both ? side : "edited";
  const turns = chats[shown].turns;
  return (
    <>
      <header className="flex min-h-10 items-center gap-2 border-b border-line px-4 py-1.5">
        <h2 className="font-semibold">{t("sandbox.title")}</h2>
        {both && (
          <div role="group" aria-label={t("sandbox.which")} className="ml-auto flex gap-1">
            {(["edited", "live"] as const).map((s) => (
              <button key={s} type="button" aria-pressed={shown === s} onClick={() => setSide(s)} className="min-h-6 rounded-sm px-2 text-dense text-muted aria-pressed:bg-sunken aria-pressed:font-medium aria-pressed:text-text">
                {t(`sandbox.${s}` as Key)}
              </button>
            ))}
          </div>
        )}
      </header>
      <div tabIndex={0} role="log" aria-label={t("sandbox.title")} className="flex min-h-0 flex-1 flex-col gap-4 overflow-auto p-4">
        {turns.length === 0 && <p className="text-muted">{t("sandbox.hint")}</p>}
        {turns.map((turn) => (
          <article key={turn.id}>
            <h3 className="text-dense font-semibold text-muted">{t(`role.${turn.role}` as Key)}</h3>
            {turn.tools.map((x) => (
              <details key={x.id} className="panel my-1">
                <summary className="flex min-h-8 cursor-pointer list-none items-center gap-2 px-2">
                  <Wrench aria-hidden className="size-3.5 text-muted" />
                  <span className="mono">{x.name}</span>
                  {x.error && <span className="truncate text-fail">{x.error}</span>}
                </summary>
                <div className="flex flex-col gap-2 border-t border-line p-2">
                  <Json value={x.input} label={t("call.arguments")} />
                  {x.output !== undefined && <Json value={x.output} label={t("call.result")} />}
                </div>
              </details>
            ))}
            {turn.text && <p className="prose-model">{turn.text}</p>}
            {turn.error && (
              <p role="alert" className="text-fail [overflow-wrap:anywhere]">
                {turn.error}
              </p>
            )}
            {turn.role === "assistant" && turn.ms !== undefined && (
              <p className="mt-1 flex items-center gap-2 text-dense text-muted">
                <span>{span(turn.ms)}</span>
                {turn.tokens !== undefined && <span>{t("run.tokens", { n: turn.tokens })}</span>}
                {turn.run && (
                  <Link to="/runs/$id" params={{ id: turn.run }} className="link inline-flex min-h-6 items-center">
                    {t("threads.steps")}
                  </Link>
                )}
                {turn.waits && (
                  <Link to="/approvals" className="link inline-flex min-h-6 items-center">
                    {t("approvals.decide")}
                  </Link>
                )}
              </p>
            )}
          </article>
        ))}
      </div>
      <form
        className="flex flex-col gap-2 border-t border-line p-3"
        onSubmit={(e) => {
          e.preventDefault();
          void send();
        }}
      >
        <textarea
          className="field resize-none"
          rows={2}
          aria-label={t("sandbox.message")}
          placeholder={t("threads.placeholder")}
          value={text}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) {
              e.preventDefault();
              e.currentTarget.form?.requestSubmit();
            }
          }}
        />
        <div className="flex justify-end gap-2">
          {turns.length > 0 && !busy && (
            <Button kind="quiet" onClick={() => setChats({ edited: fresh(), live: fresh() })}>
              {t("sandbox.again")}
            </Button>
          )}
          {busy && <Button onClick={() => stop.current?.abort()}>{t("action.stop")}</Button>}
          <Button kind="primary" type="submit" disabled={busy || text.trim() === ""}>
            {t("threads.send")}
          </Button>
        </div>
      </form>
    </>
  );
}
