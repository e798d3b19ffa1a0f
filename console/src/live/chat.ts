import { createParser } from "eventsource-parser";
import { useCallback, useEffect, useRef, useState } from "react";
import { base, headers } from "../api/client";
import { failureOf } from "../api/errors";

/** A call in an answer. */
export interface ChatTool {
  id: string;
  name: string;
  input?: unknown;
  output?: unknown;
  error?: string;
  denied?: boolean;
  /** The question that it waits with, until it is answered. */
  approval?: string;
  question?: string;
}

export interface ChatFile {
  name: string;
  type: string;
  /** As a data: URL. */
  url: string;
}

export interface Turn {
  id: string;
  role: "user" | "assistant";
  text: string;
  tools: ChatTool[];
  files?: ChatFile[];
  run?: string;
  ms?: number;
  tokens?: number;
  cost?: number;
  error?: string;
  /** What the answer waits for, if not for a question of one of its calls. */
  waits?: boolean;
  /** Where the current step began, for an answer that is begun again. */
  step?: { text: number; tools: number };
}

interface Part {
  type: string;
  messageId?: string;
  delta?: string;
  toolCallId?: string;
  toolName?: string;
  approvalId?: string;
  id?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  data?: { toolCallId?: string; message?: string };
  finishReason?: string;
  messageMetadata?: { runId?: string; usage?: { totalTokens?: number }; costUsd?: number };
}

/** apply adds a part of an answer to it. */
export function apply(turn: Turn, p: Part): Turn {
  const id = p.toolCallId ?? p.data?.toolCallId ?? "";
  const tool = (change: Partial<ChatTool>): Turn => ({ ...turn, tools: turn.tools.some((x) => x.id === id) ? turn.tools.map((x) => (x.id === id ? { ...x, ...change } : x)) : [...turn.tools, { id, name: p.toolName ?? "", ...change }] });
  switch (p.type) {
    case "start":
      return { ...turn, id: p.messageId ?? turn.id, run: p.messageMetadata?.runId ?? turn.run, waits: false };
    case "start-step":
      return { ...turn, step: { text: turn.text.length, tools: turn.tools.length } };
    case "data-stream-reset":
      return turn.step ? { ...turn, text: turn.text.slice(0, turn.step.text), tools: turn.tools.slice(0, turn.step.tools) } : turn;
    case "text-start":
      return turn.text ? { ...turn, text: `${turn.text}\n\n` } : turn;
    case "text-delta":
      return { ...turn, text: turn.text + (p.delta ?? "") };
    case "tool-input-available":
      return tool({ name: p.toolName ?? "", input: p.input });
    case "tool-output-available":
      return tool({ output: p.output, approval: undefined });
    case "tool-output-error":
      return tool({ error: p.errorText, approval: undefined });
    case "tool-output-denied":
      return tool({ denied: true, approval: undefined });
    case "tool-approval-request":
      return tool({ approval: p.approvalId });
    case "data-suspension":
      return id ? tool({ question: p.data?.message }) : turn;
    case "error":
      return { ...turn, error: p.errorText };
    case "finish":
      return { ...turn, tokens: p.messageMetadata?.usage?.totalTokens, cost: p.messageMetadata?.costUsd, waits: (p.finishReason === "tool-calls" || p.finishReason === "other") && !turn.tools.some((x) => x.approval) };
    default:
      return turn;
  }
}

interface State {
  thread: string;
  turns: Turn[];
}

const fresh = (prefix: string): State => ({ thread: `${prefix}-${Math.random().toString(36).slice(2, 12)}`, turns: [] });

function recall(keep: string | undefined, prefix: string): State {
  try {
    return keep ? ((JSON.parse(sessionStorage.getItem(keep) ?? "null") as State | null) ?? fresh(prefix)) : fresh(prefix);
  } catch {
    return fresh(prefix);
  }
}

export interface Chat extends State {
  busy: boolean;
  send: (text: string, more?: Record<string, unknown>, files?: ChatFile[]) => Promise<void>;
  decide: (tool: ChatTool, approved: boolean, more?: Record<string, unknown>) => Promise<void>;
  stop: () => void;
  clear: () => void;
}

/** useChat talks to an agent over the AI SDK protocol, at a route of the server. keep names where the tab keeps the conversation for a reload. */
export function useChat(path: string, prefix: string, keep?: string): Chat {
  const [state, setState] = useState<State>(() => recall(keep, prefix));
  const [busy, setBusy] = useState(false);
  const now = useRef(state);
  const stopper = useRef<AbortController>(null);
  const put = useCallback((next: State) => {
    now.current = next;
    setState(next);
  }, []);
  useEffect(() => {
    if (keep && !busy) sessionStorage.setItem(keep, JSON.stringify(state));
  }, [keep, state, busy]);
  useEffect(() => () => stopper.current?.abort(), []);

  /** stream sends messages and adds what comes back to the last turn. */
  const stream = useCallback(
    async (messages: unknown[], more: Record<string, unknown>) => {
      const began = performance.now();
      const { thread, turns } = now.current;
      const before = turns.slice(0, -1);
      let answer = turns.at(-1)!;
      const show = () => now.current.thread === thread && put({ thread, turns: [...before, answer] });
      setBusy(true);
      stopper.current = new AbortController();
      try {
        const res = await fetch(base + path, {
          method: "POST",
          credentials: "same-origin",
          signal: stopper.current.signal,
          headers: { ...headers(), "Content-Type": "application/json", Accept: "text/event-stream" },
          body: JSON.stringify({ ...more, threadId: thread, messages }),
        });
        if (!res.ok || !res.body) throw await failureOf(res);
        const parser = createParser({
          onEvent: (e) => {
            if (e.data === "[DONE]") return;
            answer = apply(answer, JSON.parse(e.data) as Part);
            if (path.includes("/agent-previews/")) answer = { ...answer, run: undefined }; // it is in no list of runs
            show();
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
      answer = { ...answer, ms: (answer.ms ?? 0) + performance.now() - began };
      show();
      setBusy(false);
    },
    [path, put],
  );

  const send = useCallback(
    async (text: string, more: Record<string, unknown> = {}, files: ChatFile[] = []) => {
      const { thread, turns } = now.current;
      const user: Turn = { id: `${thread}-${turns.length}`, role: "user", text, tools: [], files };
      put({ thread, turns: [...turns, user, { id: `${thread}-${turns.length + 1}`, role: "assistant", text: "", tools: [] }] });
      await stream([{ id: user.id, role: "user", parts: [...(text ? [{ type: "text", text }] : []), ...files.map((f) => ({ type: "file", mediaType: f.type, filename: f.name, url: f.url }))] }], more);
    },
    [put, stream],
  );

  const decide = useCallback(
    async (tool: ChatTool, approved: boolean, more: Record<string, unknown> = {}) => {
      const turn = now.current.turns.at(-1);
      if (!turn || !tool.approval) return;
      await stream([{ id: turn.id, role: "assistant", parts: [{ type: `tool-${tool.name}`, toolCallId: tool.id, state: "approval-responded", input: tool.input, approval: { id: tool.approval, approved } }] }], more);
    },
    [stream],
  );

  return {
    ...state,
    busy,
    send,
    decide,
    stop: () => stopper.current?.abort(),
    clear: () => {
      stopper.current?.abort();
      put(fresh(prefix));
    },
  };
}
