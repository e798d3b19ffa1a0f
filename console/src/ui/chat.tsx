import { Link } from "@tanstack/react-router";
import { Paperclip, Wrench, X } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useLanguage, type Key } from "../i18n/i18n";
import type { ChatFile, ChatTool, Turn } from "../live/chat";
import { Button } from "./button";
import { Json } from "./json";
import { Markdown } from "./markdown";

interface TurnsProps {
  turns: Turn[];
  label: string;
  busy: boolean;
  hint?: ReactNode;
  /** Whether the runs of the answers have no page. */
  unlinked?: boolean;
  decide: (tool: ChatTool, approved: boolean) => void;
  /** Shows a call in another way than its arguments and its result, or returns undefined. */
  show?: (tool: ChatTool) => ReactNode;
}

/** Turns is a conversation with an agent: its answers, the calls that it makes, and what they ask. */
export function Turns({ turns, label, busy, hint, unlinked, decide, show }: TurnsProps) {
  const { t } = useLanguage();
  const log = useRef<HTMLDivElement>(null);
  const end = turns.at(-1);
  const follows = useRef(true);
  useEffect(() => {
    const box = log.current;
    if (box && end && follows.current) box.scrollTop = box.scrollHeight;
  }, [end]);
  return (
    <div
      ref={log}
      tabIndex={0}
      role="log"
      aria-label={label}
      aria-busy={busy}
      onScroll={(e) => (follows.current = e.currentTarget.scrollHeight - e.currentTarget.scrollTop - e.currentTarget.clientHeight < 48)}
      className="flex min-h-0 flex-1 flex-col gap-4 overflow-auto p-4"
    >
      {turns.length === 0 && <div className="text-muted">{hint}</div>}
      {turns.map((turn) => (
        <article key={turn.id}>
          <h3 className="text-dense font-semibold text-muted">{t(`role.${turn.role}` as Key)}</h3>
          {turn.tools.map((x) => (
            <Call key={x.id} tool={x} busy={busy} last={turn === end} decide={decide} show={show} />
          ))}
          {turn.text && (turn.role === "assistant" ? <Markdown text={turn.text} /> : <p className="prose-model">{turn.text}</p>)}
          {(turn.files ?? []).map((f) => (
            <p key={f.name} className="flex items-center gap-1.5 text-muted">
              <Paperclip aria-hidden className="size-3.5" />
              {f.name}
            </p>
          ))}
          {turn.error && (
            <p role="alert" className="text-fail [overflow-wrap:anywhere]">
              {turn.error}
            </p>
          )}
          {turn.role === "assistant" && <Facts turn={unlinked ? { ...turn, run: undefined } : turn} />}
        </article>
      ))}
    </div>
  );
}

/** Facts says what an answer took, and leads to its run. */
export function Facts({ turn }: { turn: Turn }) {
  const { t, span, money } = useLanguage();
  if (turn.ms === undefined) return null;
  return (
    <p className="mt-1 flex flex-wrap items-center gap-x-2 text-dense text-muted">
      <span>{span(turn.ms)}</span>
      {turn.cost !== undefined && turn.cost > 0 && <span>{money(turn.cost)}</span>}
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
  );
}

function Call({ tool, busy, last, decide, show }: { tool: ChatTool; busy: boolean; last: boolean } & Pick<TurnsProps, "decide" | "show">) {
  const { t } = useLanguage();
  const own = show?.(tool);
  const asks = tool.approval !== undefined && last;
  return (
    <>
      <details className="panel my-1" open={asks && !own ? true : undefined}>
        <summary className="flex min-h-8 cursor-pointer list-none items-center gap-2 px-2">
          <Wrench aria-hidden className="size-3.5 shrink-0 text-muted" />
          <span className="mono truncate">{tool.name}</span>
          {tool.error && <span className="truncate text-fail">{tool.error}</span>}
          {tool.denied && <span className="text-muted">{t("chat.refused")}</span>}
          {tool.output !== undefined && <span className="text-ok">{t("call.succeeded")}</span>}
          {asks && <span className="text-wait">{t("call.suspended")}</span>}
        </summary>
        <div className="flex flex-col gap-2 border-t border-line p-2">
          <Json value={tool.input} label={t("call.arguments")} />
          {tool.output !== undefined && <Json value={tool.output} label={t("call.result")} />}
        </div>
      </details>
      {own}
      {asks && (
        <div role="group" aria-label={tool.question ?? t("call.suspended")} className="my-1 flex flex-wrap items-center gap-2 rounded-md border border-wait p-2">
          <p className="min-w-40 flex-1 font-medium [overflow-wrap:anywhere]">{tool.question ?? tool.name}</p>
          <Button disabled={busy} onClick={() => decide(tool, false)}>
            {t("chat.refuse")}
          </Button>
          <Button kind="primary" disabled={busy} onClick={() => decide(tool, true)}>
            {t("chat.approve")}
          </Button>
        </div>
      )}
    </>
  );
}

const MAX_FILES = 4;
const MAX_BYTES = 8 << 20;

const read = (file: File) =>
  new Promise<ChatFile>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, type: file.type || "application/octet-stream", url: String(reader.result) });
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });

/** Composer is where a message is written. Enter sends it. */
export function Composer({ label, busy, why, send, stop, children }: { label: string; busy: boolean; why?: string; send: (text: string, files: ChatFile[]) => void; stop: () => void; children?: ReactNode }) {
  const { t } = useLanguage();
  const [text, setText] = useState("");
  const [files, setFiles] = useState<ChatFile[]>([]);
  const [bad, setBad] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const add = async (list: FileList | null) => {
    setBad("");
    const chosen = [...(list ?? [])];
    if (files.length + chosen.length > MAX_FILES || chosen.some((f) => f.size > MAX_BYTES)) {
      setBad(t("chat.filesLimit", { n: MAX_FILES, mb: MAX_BYTES >> 20 }));
      return;
    }
    try {
      const more = await Promise.all(chosen.map(read));
      setFiles((now) => [...now, ...more]);
    } catch (err) {
      setBad((err as Error).message);
    }
  };
  return (
    <form
      className="flex flex-col gap-2 border-t border-line px-4 py-3"
      onSubmit={(e) => {
        e.preventDefault();
        const content = text.trim();
        if ((!content && files.length === 0) || busy || why) return;
        send(content, files);
        setText("");
        setFiles([]);
      }}
    >
      <textarea
        className="field resize-none"
        rows={2}
        aria-label={label}
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
      {files.length > 0 && (
        <ul aria-label={t("chat.files")} className="flex flex-wrap gap-1.5">
          {files.map((f, i) => (
            <li key={f.name + i} className="mono inline-flex max-w-full items-center rounded-sm bg-sunken pl-2">
              <span className="truncate">{f.name}</span>
              <button type="button" aria-label={t("doc.removeFrom", { value: f.name, name: t("chat.files") })} onClick={() => setFiles(files.filter((_, j) => j !== i))} className="inline-flex size-6 items-center justify-center text-muted hover:text-text">
                <X aria-hidden className="size-3.5" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {bad && (
        <p role="alert" className="text-dense text-fail">
          {bad}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <input
          ref={input}
          type="file"
          multiple
          hidden
          onChange={(e) => {
            void add(e.target.files);
            e.target.value = "";
          }}
        />
        <Button kind="quiet" aria-label={t("chat.attach")} title={t("chat.attach")} onClick={() => input.current?.click()}>
          <Paperclip aria-hidden className="size-3.5" />
        </Button>
        <div className="ml-auto flex gap-2">
          {children}
          {busy && <Button onClick={stop}>{t("action.stop")}</Button>}
          <Button kind="primary" type="submit" why={why ?? (text.trim() === "" && files.length === 0 ? t("why.noMessage") : undefined)} disabled={busy}>
            {t("threads.send")}
          </Button>
        </div>
      </div>
    </form>
  );
}
