// A CopilotKit page that talks to the server directly, without a CopilotKit runtime in between.
import { CopilotChat, CopilotKitProvider, useAgent, useAgentContext, useCopilotKit, useFrontendTool, useInterrupt, useRenderTool } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { CopilotA2UI } from "./a2ui";
import { Answer, answerFormats, Drawn, drawingTools, GenUI, samples, type UIEvent } from "../../starter/genui";

// The thread id is in the URL, so that a reload or another tab shows the same thread.
const address = new URL(location.href);
const agentId = address.searchParams.get("agent") ?? "scenario";
const threadId = address.searchParams.get("thread") ?? crypto.randomUUID();
const renderer = address.searchParams.get("renderer"); // copilotkit: CopilotKit's own draws A2UI
address.searchParams.set("thread", threadId);
history.replaceState(null, "", address);

/** The dialog for calls that need approval. There may be several. */
function useApprovals() {
  useInterrupt({
    agentId,
    render: ({ interrupts, resolve }) => (
      <>
        {interrupts.map((i) => (
          <div key={i.id} className="ask" role="alertdialog">
            <div>{i.message}</div>
            <button className="approve" onClick={() => resolve({ approved: true }, i.id)}>Approve</button>
            <button className="edit" onClick={() => resolve({ approved: true, editedArgs: { path: "/tmp/edited" } }, i.id)}>Only /tmp/edited</button>
            <button className="deny" onClick={() => resolve({ approved: false, reason: "the user said no" }, i.id)}>Deny</button>
          </div>
        ))}
      </>
    ),
  });
}

/** Tools that the page runs. */
function usePageTools() {
  useFrontendTool({
    name: "get_user_location",
    description: "Tells where the user is.",
    agentId,
    parameters: z.object({}),
    handler: async () => ({ timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
  });
  useFrontendTool({
    name: "set_background_color",
    description: "Changes the background of the page.",
    agentId,
    parameters: z.object({ color: z.string() }),
    handler: async ({ color }) => {
      document.body.style.background = color;
      return `the background is ${color}`;
    },
  });
}

/** Renders tool calls. */
function useToolCards() {
  useRenderTool({
    name: "*",
    render: ({ name, toolCallId, parameters, args, status, result }) =>
      name === "render_a2ui" && renderer === "copilotkit" && !isError(result) ? (
        <CopilotA2UI agentId={agentId} call={toolCallId} />
      ) : drawingTools.includes(name) && !isError(result) ? (
        <Drawn tool={name} call={toolCallId} input={parameters ?? args} output={parsed(result)} streaming={status === "inProgress"} />
      ) : (
        <div className="tool" data-status={status}>
          <b>{name}</b> <code>{JSON.stringify(parameters ?? args)}</code>
          {result && <div><code>{typeof result === "string" ? result : JSON.stringify(result)}</code></div>}
        </div>
      ),
  });
}

/** The result of a call as a value. */
function parsed(result: unknown): unknown {
  try {
    return typeof result === "string" ? JSON.parse(result) : result;
  } catch {
    return undefined;
  }
}

const isError = (result: unknown) => typeof result === "string" && result !== "" && !result.startsWith("{");

/** Shows what a sub-agent draws, while it draws. */
const growing = ["generative-ui.json-render", "generative-ui.openui-lang"].map((activityType) => ({
  activityType,
  content: z.looseObject({}),
  render: () => null, // the call itself shows the result
}));

/** Sends what the user did in a drawn interface, as CopilotKit's own renderer of A2UI does. */
function useActions() {
  const { copilotkit } = useCopilotKit();
  const { agent } = useAgent({ agentId });
  return async (a2uiAction: UIEvent) => {
    const { a2uiAction: _, ...properties } = copilotkit.properties ?? {};
    try {
      copilotkit.setProperties({ ...properties, a2uiAction });
      await copilotkit.runAgent({ agent });
    } finally {
      copilotkit.setProperties(properties);
    }
  };
}

/** What an agent says: words, or an interface if it answers with those. */
function Said({ content }: { content: string }) {
  const say = useSay();
  return <Answer format={answerFormats[agentId] ?? ""} text={content} streaming={false} say={say} />;
}

/** What the user says: words, or what was done in an interface. */
function Asked({ content }: { content: string }) {
  const [, action] = /^<ui_action>\n(.*)\n<\/ui_action>$/s.exec(content) ?? [];
  if (!action) return <div className="asked"><span>{content}</span></div>;
  const { name, context } = JSON.parse(action);
  return <div className="asked"><span>{name} <code>{JSON.stringify(context)}</code></span></div>;
}

/** Sends a message of the user. */
function useSay() {
  const { copilotkit } = useCopilotKit();
  const { agent } = useAgent({ agentId });
  return (content: string) => {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    void copilotkit.runAgent({ agent });
  };
}

/** Shows the progress of tools. */
const progress = {
  activityType: "tool-call-progress",
  content: z.looseObject({ progress: z.number().optional(), message: z.string().optional() }),
  render: ({ content }: { content: { progress?: number; message?: string } }) => (
    <div className="progress">
      <progress value={content.progress} /> {content.message}
    </div>
  ),
};

/** State that the page and the agent share and both change. */
function Shared() {
  const { agent, isReady } = useAgent({ agentId }); // until it is, the agent is a placeholder, which loses messages
  const say = useSay();
  const counter = Number(agent.state?.counter ?? 0);
  return (
    <aside>
      <h3>Shared state</h3>
      <pre id="state">{JSON.stringify(agent.state ?? {})}</pre>
      <button id="count" disabled={!isReady} onClick={() => agent.setState({ ...agent.state, counter: counter + 10 })}>Count on</button>
      <h3>Agent</h3>
      <select id="agent" value={agentId} aria-label="Agent" onChange={(e) => (location.search = `agent=${e.target.value}`)}>
        {["scenario", ...Object.keys(samples)].map((a) => <option key={a}>{a}</option>)}
      </select>
      <h3>Try</h3>
      <p>
        {samples[agentId]?.map(([label, text]) => (
          <button key={label} type="button" className="sample" disabled={!isReady || agent.isRunning} onClick={() => say(text)}>{label}</button>
        ))}
      </p>
      {!samples[agentId] && <p>scenario:text, scenario:tool, scenario:approval, scenario:approvals, scenario:state, scenario:slow, scenario:frontend-tool</p>}
      {!samples[agentId] && <p>RUN_TOOL progress_demo {"{}"}</p>}
    </aside>
  );
}

function Page() {
  useAgentContext({ description: "the page that the user looks at", value: document.title });
  useApprovals();
  usePageTools();
  useToolCards();
  const act = useActions();
  const messageView = answerFormats[agentId] ? { assistantMessage: { markdownRenderer: Said }, userMessage: { messageRenderer: Asked } } : { userMessage: { messageRenderer: Asked } };
  return (
    <GenUI act={(e) => void act(e)}>
      <main>
        <CopilotChat agentId={agentId} threadId={threadId} messageView={messageView} />
      </main>
      <Shared />
    </GenUI>
  );
}

createRoot(document.getElementById("root")!).render(
  <CopilotKitProvider runtimeUrl="/v1/ag-ui" renderActivityMessages={[progress, ...growing]} enableInspector={false}>
    <Page />
  </CopilotKitProvider>,
);
