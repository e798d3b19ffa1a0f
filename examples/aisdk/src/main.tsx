// A chat with tool calls, approvals, progress, agent state, generated interfaces, and answers that continue
// after a reload.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls, type UIMessage } from "ai";
import { useEffect, useMemo, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { Answer, answerFormats, Drawn, drawingTools, GenUI, samples } from "../../starter/genui";

const api = "/v1/ai-sdk";
const agentId = new URLSearchParams(location.search).get("agent") ?? "scenario";

// The chat is a thread. Its id is in the address, so that a reload finds it again.
const id = (() => {
  const here = new URL(location.href);
  let chat = here.searchParams.get("chat");
  if (!chat) {
    chat = crypto.randomUUID();
    here.searchParams.set("chat", chat);
    history.replaceState(null, "", here);
  }
  return chat;
})();

type History = { messages: UIMessage[]; activeRunId?: string };

async function load(): Promise<History> {
  const got = await fetch(`${api}/threads/${id}/messages?limit=200`);
  if (got.status === 404) return { messages: [] }; // the thread has no messages yet
  if (!got.ok) throw new Error(await got.text());
  return got.json();
}

function Chat({ messages: before, activeRunId }: History) {
  const [text, setText] = useState("");
  // The run that the page has to catch up with. Naming it makes the answer complete even if
  // it ended between reading the history and asking for the stream.
  const run = useRef(activeRunId);
  const broken = useRef(false); // the connection was lost during an answer
  const transport = useMemo(
    () =>
      new DefaultChatTransport({
        api: `${api}/chat`,
        body: { agentId },
        prepareReconnectToStreamRequest: () => ({ api: `${api}/chat/${id}/stream${run.current ? `?runId=${run.current}` : ""}` }),
      }),
    [],
  );
  const chat = useChat({
    id,
    messages: before,
    transport,
    sendAutomaticallyWhen: (c) => lastAssistantMessageIsCompleteWithApprovalResponses(c) || lastAssistantMessageIsCompleteWithToolCalls(c),
    onToolCall: ({ toolCall }) => {
      // A tool that the page runs: its output goes back with the next request.
      if (toolCall.toolName === "set_background_color") {
        const { color } = toolCall.input as { color: string };
        document.body.style.background = color;
        void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { color } });
      }
      if (toolCall.toolName === "get_user_location") {
        void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone } });
      }
    },
    onData: (p) => {
      if (p.type === "data-run-info") run.current = (p.data as { runId: string }).runId;
    },
    onFinish: ({ isDisconnect }) => {
      broken.current = isDisconnect;
      if (!isDisconnect) run.current = undefined;
    },
  });

  // Resume after a reload during an answer, or after the connection was lost.
  const resumed = useRef(false);
  useEffect(() => {
    if (run.current && !resumed.current) {
      resumed.current = true;
      void chat.resumeStream();
    }
  }, []);
  useEffect(() => {
    if (chat.error && broken.current) {
      const timer = setTimeout(() => void chat.resumeStream(), 1000);
      return () => clearTimeout(timer);
    }
  }, [chat.error]);

  const busy = chat.status === "submitted" || chat.status === "streaming";
  const stop = async () => {
    // Closing the connection does not stop the run; cancel it explicitly.
    await fetch(`${api}/threads/${id}/cancel`, { method: "POST" });
  };
  return (
    // What the user does in a drawn interface is a message with a data part.
    <GenUI act={(event) => void chat.sendMessage({ parts: [{ type: "data-ui-action", data: event }] })}>
      <header>
        <h1>Awaken chat</h1>
        <select id="agent" value={agentId} aria-label="Agent" onChange={(e) => (location.search = `agent=${e.target.value}`)}>
          {["scenario", ...Object.keys(samples)].map((a) => <option key={a}>{a}</option>)}
        </select>
        <span id="status">{chat.status}</span>
        <button type="button" onClick={() => (location.search = agentId === "scenario" ? "" : `agent=${agentId}`)}>New chat</button>
      </header>
      <ol id="messages">
        {chat.messages.map((m) => (
          <li key={m.id} className={m.role} data-id={m.id}>
            {visible(m).map((p, i) => (
              <Part key={i} part={p} role={m.role} onApproval={chat.addToolApprovalResponse} say={(text) => void chat.sendMessage({ text })} />
            ))}
          </li>
        ))}
      </ol>
      {chat.error && <p id="error" className="failed">{chat.error.message}</p>}
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (!text.trim() || busy) return;
          void chat.sendMessage({ text });
          setText("");
        }}
      >
        <input id="text" type="text" value={text} onChange={(e) => setText(e.target.value)} placeholder={samples[agentId] ? "Ask for something below" : "Try scenario:approval"} aria-label="Message" />
        {busy ? <button id="stop" type="button" onClick={stop}>Stop</button> : <button id="send">Send</button>}
        <button id="again" type="button" disabled={busy || !chat.messages.length} onClick={() => void chat.regenerate()}>Again</button>
      </form>
      <p className="row">
        {samples[agentId]?.map(([label, text]) => (
          <button key={label} type="button" className="sample" disabled={busy} onClick={() => void chat.sendMessage({ text })}>{label}</button>
        ))}
        {!samples[agentId] && ["text", "reasoning", "tool", "approval", "frontend-tool", "state", "slow"].map((w) => (
          <button key={w} type="button" disabled={busy} onClick={() => void chat.sendMessage({ text: `scenario:${w}` })}>{w}</button>
        ))}
        {!samples[agentId] && <button type="button" disabled={busy} onClick={() => void chat.sendMessage({ text: 'RUN_TOOL progress_demo {"steps":5,"delay_ms":200}' })}>progress</button>}
      </p>
    </GenUI>
  );
}

/** The visible parts: a data-stream-reset withdraws the earlier parts of its step, but for data parts with an ID, which are updated in place. */
function visible(m: UIMessage): Any[] {
  let out: Any[] = [];
  let step = 0;
  for (const p of m.parts as Any[]) {
    if (p.type === "step-start") step = out.length;
    if (p.type === "data-stream-reset") out = out.filter((q, i) => i < step || (q.type.startsWith("data-") && q.id));
    else out.push(p);
  }
  return out;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any;

type PartProps = { part: Any; role: string; onApproval: (r: { id: string; approved: boolean; reason?: string }) => void; say: (text: string) => void };

function Part({ part: p, role, onApproval, say }: PartProps) {
  if (p.type === "text" && role === "assistant" && answerFormats[agentId]) return <Answer format={answerFormats[agentId]} text={p.text} streaming={p.state === "streaming"} say={say} />;
  if (p.type === "data-ui-action") {
    const { name, context } = p.data.userAction ?? p.data.action ?? p.data;
    return <span className="action">{name} <code>{JSON.stringify(context)}</code></span>;
  }
  if (p.type === "text") return <span className="text">{p.text}</span>;
  if (p.type === "reasoning") return <p className="reasoning">{p.text}</p>;
  if (p.type === "file" && p.mediaType.startsWith("image/")) return <img src={p.url} alt={p.filename ?? ""} />;
  if (p.type === "source-url") return <p><a href={p.url}>{p.title ?? p.url}</a></p>;
  if (p.type === "data-activity-snapshot" && p.data.activityType === "tool-call-progress") {
    const { progress, message } = p.data.content;
    return <label className="panel progress">{message}<progress value={progress} max={1} /></label>;
  }
  if (p.type === "data-state-snapshot") {
    const made = Object.entries(p.data.extensions).filter(([k]) => !k.startsWith("__") && !k.startsWith("generative_ui."));
    return made.length ? <p className="panel state">{made.map(([k, v]) => <code key={k}>{k} = {JSON.stringify(v)}</code>)}</p> : null;
  }
  if (!p.type.startsWith("tool-")) return null;
  if (drawingTools.includes(p.type.slice(5)) && p.state !== "output-error") {
    return <Drawn tool={p.type.slice(5)} call={p.toolCallId} input={p.input} output={p.output} streaming={p.state === "input-streaming"} />;
  }
  return (
    <div className="tool" data-state={p.state}>
      <strong>{p.type.slice(5)}</strong> <code>{JSON.stringify(p.input ?? {})}</code>
      {p.state === "approval-requested" && (
        <dialog open aria-label="Approval">
          <p>May the agent call <strong>{p.type.slice(5)}</strong> with <code>{JSON.stringify(p.input)}</code>?</p>
          <div className="row">
            <button className="approve" onClick={() => onApproval({ id: p.approval.id, approved: true })}>Allow</button>
            <button className="deny" onClick={() => onApproval({ id: p.approval.id, approved: false, reason: "the user said no" })}>Refuse</button>
          </div>
        </dialog>
      )}
      {p.state === "output-available" && <p>→ <code>{JSON.stringify(p.output)}</code></p>}
      {p.state === "output-error" && <p className="failed">{p.errorText}</p>}
      {p.state === "output-denied" && <p className="failed">refused</p>}
    </div>
  );
}

const root = createRoot(document.getElementById("root")!);
load().then(
  (h) => root.render(<Chat {...h} />),
  (e) => root.render(<p className="failed">{String(e)}</p>),
);
