// A CopilotKit page that talks to the server directly, without a CopilotKit runtime in between.
import { CopilotChat, CopilotKitProvider, useAgent, useAgentContext, useFrontendTool, useInterrupt, useRenderTool } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";
import { z } from "zod";

const agentId = "scenario";

// The thread id is in the URL, so that a reload or another tab shows the same thread.
const address = new URL(location.href);
const threadId = address.searchParams.get("thread") ?? crypto.randomUUID();
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
    render: ({ name, parameters, args, status, result }) => (
      <div className="tool" data-status={status}>
        <b>{name}</b> <code>{JSON.stringify(parameters ?? args)}</code>
        {result && <div><code>{typeof result === "string" ? result : JSON.stringify(result)}</code></div>}
      </div>
    ),
  });
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
  const { agent } = useAgent({ agentId });
  const counter = Number(agent.state?.counter ?? 0);
  return (
    <aside>
      <h3>Shared state</h3>
      <pre id="state">{JSON.stringify(agent.state ?? {})}</pre>
      <button id="count" onClick={() => agent.setState({ ...agent.state, counter: counter + 10 })}>Count on</button>
      <h3>Try</h3>
      <p>scenario:text, scenario:tool, scenario:approval, scenario:approvals, scenario:state, scenario:slow, scenario:frontend-tool</p>
      <p>RUN_TOOL progress_demo {"{}"}</p>
    </aside>
  );
}

function Page() {
  useAgentContext({ description: "the page that the user looks at", value: document.title });
  useApprovals();
  usePageTools();
  useToolCards();
  return (
    <>
      <main>
        <CopilotChat agentId={agentId} threadId={threadId} />
      </main>
      <Shared />
    </>
  );
}

createRoot(document.getElementById("root")!).render(
  <CopilotKitProvider runtimeUrl="/v1/ag-ui" renderActivityMessages={[progress]} enableInspector={false}>
    <Page />
  </CopilotKitProvider>,
);
