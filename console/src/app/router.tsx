import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, notFound, redirect } from "@tanstack/react-router";
import { basePath } from "../api/client";
import type { EvalSearch, LiveSearch } from "../features/evals/search";
import type { RunSearch } from "../features/runs/search";
import type { ThreadSearch } from "../features/threads/search";
import type { TraceAt, TraceSearch } from "../features/traces/search";
import { useLanguage } from "../i18n/i18n";
import type { Times } from "../ui/recent";
import { Empty, Failure, Skeleton } from "../ui/state";
import { Shell } from "./shell";
import { SignIn } from "./signin";

const times: (keyof Times)[] = ["range", "since", "until"];

const traceFilters: (keyof TraceSearch)[] = ["agent_id", "status", "outcome", "waiting_reason", "tool", "version", "user_id", "thread_id", "origin", "in_doubt", "error_code", "min_cost_usd", "min_duration_ms", "max_score", "pinned", "q", ...times];
const liveFilters: (keyof LiveSearch)[] = ["agent_id", "version", "status", "min_score", "max_score", "run", ...times];

const runFilters: (keyof RunSearch)[] = ["status", "outcome", "waiting_reason", "agent_id", "user_id", "thread_id", "tool", "origin", "version", "in_doubt", "since", "until", "min_cost_usd", "q"];

/** pick returns those values of an address that are texts and are known. */
function pick<K extends string>(search: Record<string, unknown>, names: K[]): Partial<Record<K, string>> {
  const out: Partial<Record<K, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === "string" && value !== "") out[name] = value;
    else if (typeof value === "number" || typeof value === "boolean") out[name] = String(value);
  }
  return out;
}

function NotFound() {
  const { t } = useLanguage();
  return (
    <Empty title={t("state.notThere")} top>
      <Link to="/" className="link">
        {t("nav.overview")}
      </Link>
    </Empty>
  );
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
const at = <P extends string>(path: P) => ({ getParentRoute: () => root, path }) as const;

// What makes a document is at /-/new: a document may have any id, such as new.
const overview = createRoute({ ...at("/"), component: lazyRouteComponent(() => import("../features/overview/overview"), "Overview") });
const signIn = createRoute({ ...at("/sign-in"), validateSearch: (s: Record<string, unknown>): { next?: string } => pick(s, ["next"]), component: SignIn });
const runs = createRoute({ ...at("/runs"), validateSearch: (s: Record<string, unknown>): RunSearch => pick(s, runFilters), component: lazyRouteComponent(() => import("../features/runs/runs"), "Runs") });
const runPage = lazyRouteComponent(() => import("../features/runs/run"), "RunPage");
const runSearch = (s: Record<string, unknown>): { tab?: string } => pick(s, ["tab"]);
const run = createRoute({ ...at("/runs/$id"), validateSearch: runSearch, component: runPage });
const runStep = createRoute({ ...at("/runs/$id/steps/$step"), validateSearch: runSearch, component: runPage });
const runCall = createRoute({ ...at("/runs/$id/calls/$call"), validateSearch: runSearch, component: runPage });
const beside = createRoute({ ...at("/runs/$id/beside/$other"), validateSearch: (s: Record<string, unknown>): { step?: string } => pick(s, ["step"]), component: lazyRouteComponent(() => import("../features/runs/beside"), "Beside") });
const fork = createRoute({ ...at("/runs/$id/fork"), validateSearch: (s: Record<string, unknown>): { step?: string } => pick(s, ["step"]), component: lazyRouteComponent(() => import("../features/runs/fork"), "ForkPage") });
const threads = createRoute({ ...at("/threads"), validateSearch: (s: Record<string, unknown>): ThreadSearch => pick(s, ["user_id", "q", "root", "agent_id", "status"]), component: lazyRouteComponent(() => import("../features/threads/threads"), "Threads") });
const threadPage = lazyRouteComponent(() => import("../features/threads/thread"), "ThreadPage");
const newThread = createRoute({ ...at("/threads/-/new"), validateSearch: (s: Record<string, unknown>): { agent_id?: string } => pick(s, ["agent_id"]), component: lazyRouteComponent(() => import("../features/threads/new"), "NewThread") });
const thread = createRoute({ ...at("/threads/$id"), component: threadPage });
const threadMessage = createRoute({ ...at("/threads/$id/messages/$message"), component: threadPage });
const approvalSearch = (s: Record<string, unknown>): { agent_id?: string; tool?: string; reason?: string; user_id?: string; view?: string; actor?: string } => pick(s, ["agent_id", "tool", "reason", "user_id", "view", "actor"]);
const approvalsPage = lazyRouteComponent(() => import("../features/approvals/approvals"), "Approvals");
const approvals = createRoute({ ...at("/approvals"), validateSearch: approvalSearch, component: approvalsPage });
const approval = createRoute({ ...at("/approvals/$run/$ticket"), validateSearch: approvalSearch, component: approvalsPage });
const agents = createRoute({ ...at("/agents"), validateSearch: (s: Record<string, unknown>): { q?: string; model?: string; source?: string } => pick(s, ["q", "model", "source"]), component: lazyRouteComponent(() => import("../features/agents/agents"), "Agents") });
const agentPage = lazyRouteComponent(() => import("../features/agents/agent"), "AgentPage");
const agent = createRoute({ ...at("/agents/$id"), component: agentPage });
const newAgent = createRoute({ ...at("/agents/-/new"), component: agentPage });
const newAgentTab = createRoute({ ...at("/agents/-/new/$tab"), component: agentPage });
const agentTab = createRoute({ ...at("/agents/$id/$tab"), component: agentPage });
const datasets = createRoute({ ...at("/datasets"), validateSearch: (s: Record<string, unknown>): { q?: string } => pick(s, ["q"]), component: lazyRouteComponent(() => import("../features/datasets/datasets"), "Datasets") });
const datasetPage = lazyRouteComponent(() => import("../features/datasets/dataset"), "DatasetPage");
const dataset = createRoute({ ...at("/datasets/$id"), component: datasetPage });
const newCase = createRoute({ ...at("/datasets/$id/new"), component: datasetPage });
const datasetCase = createRoute({ ...at("/datasets/$id/cases/$case"), component: datasetPage });
const evalsPage = lazyRouteComponent(() => import("../features/evals/evals"), "Evals");
const evals = createRoute({ ...at("/evals"), validateSearch: (s: Record<string, unknown>): { dataset?: string; status?: string } => pick(s, ["dataset", "status"]), component: evalsPage });
const newEval = createRoute({ ...at("/evals/new"), validateSearch: (s: Record<string, unknown>): { dataset?: string; baseline?: string; agent?: string; version?: string } => pick(s, ["dataset", "baseline", "agent", "version"]), component: lazyRouteComponent(() => import("../features/evals/start"), "StartEval") });
const online = createRoute({ ...at("/evals/online"), component: lazyRouteComponent(() => import("../features/evals/online"), "Online") });
const liveEvals = createRoute({ ...at("/evals/live"), validateSearch: (s: Record<string, unknown>): LiveSearch => pick(s, liveFilters), component: lazyRouteComponent(() => import("../features/evals/live"), "LiveEvals") });
const evalSearch = (s: Record<string, unknown>): EvalSearch => pick(s, ["baseline", "show", "cell", "q"]);
const reports = createRoute({ ...at("/evals/reports"), validateSearch: evalSearch, component: lazyRouteComponent(() => import("../features/evals/reports"), "Reports") });
const evalResult = createRoute({ ...at("/evals/$id"), validateSearch: evalSearch, component: lazyRouteComponent(() => import("../features/evals/result"), "EvalResult") });
const traces = createRoute({ ...at("/traces"), validateSearch: (s: Record<string, unknown>): TraceSearch => pick(s, traceFilters), component: lazyRouteComponent(() => import("../features/traces/traces"), "Traces") });
const trace = createRoute({ ...at("/traces/$id"), validateSearch: (s: Record<string, unknown>): TraceAt => pick(s, ["at", "eval"]), component: lazyRouteComponent(() => import("../features/traces/trace"), "TracePage") });
const versionsPage = lazyRouteComponent(() => import("../features/versions/versions"), "Versions");
const versions = createRoute({ ...at("/versions"), component: versionsPage });
const version = createRoute({ ...at("/versions/$n"), component: versionsPage });
const searched = { validateSearch: (s: Record<string, unknown>): { q?: string } => pick(s, ["q"]) };
const resources = () => import("../features/connect/resources");
const providers = createRoute({ ...at("/providers"), ...searched, component: lazyRouteComponent(resources, "Providers") });
const newProvider = createRoute({ ...at("/providers/-/new"), component: lazyRouteComponent(resources, "ProviderPage") });
const provider = createRoute({ ...at("/providers/$id"), component: lazyRouteComponent(resources, "ProviderPage") });
const models = createRoute({ ...at("/models"), ...searched, component: lazyRouteComponent(resources, "Models") });
const newModel = createRoute({ ...at("/models/-/new"), component: lazyRouteComponent(resources, "ModelPage") });
const model = createRoute({ ...at("/models/$id"), component: lazyRouteComponent(resources, "ModelPage") });
const pools = createRoute({ ...at("/pools"), ...searched, component: lazyRouteComponent(resources, "Pools") });
const newPool = createRoute({ ...at("/pools/-/new"), component: lazyRouteComponent(resources, "PoolPage") });
const pool = createRoute({ ...at("/pools/$id"), component: lazyRouteComponent(resources, "PoolPage") });
const mcpServers = createRoute({ ...at("/mcp-servers"), ...searched, component: lazyRouteComponent(resources, "McpServers") });
const newMcpServer = createRoute({ ...at("/mcp-servers/-/new"), component: lazyRouteComponent(resources, "McpServerPage") });
const mcpServer = createRoute({ ...at("/mcp-servers/$id"), component: lazyRouteComponent(resources, "McpServerPage") });
const a2aServers = createRoute({ ...at("/a2a-servers"), ...searched, component: lazyRouteComponent(resources, "A2aServers") });
const newA2aServer = createRoute({ ...at("/a2a-servers/-/new"), component: lazyRouteComponent(resources, "A2aServerPage") });
const a2aServer = createRoute({ ...at("/a2a-servers/$id"), component: lazyRouteComponent(resources, "A2aServerPage") });
const skills = createRoute({ ...at("/skills"), ...searched, component: lazyRouteComponent(resources, "Skills") });
const newSkill = createRoute({ ...at("/skills/-/new"), component: lazyRouteComponent(resources, "SkillPage") });
const skill = createRoute({ ...at("/skills/$id"), component: lazyRouteComponent(resources, "SkillPage") });
const tools = createRoute({ ...at("/tools"), validateSearch: (s: Record<string, unknown>): { q?: string; only?: string } => pick(s, ["q", "only"]), component: lazyRouteComponent(() => import("../features/tools/tools"), "Tools") });
const tool = createRoute({ ...at("/tools/$id"), component: lazyRouteComponent(() => import("../features/tools/tool"), "ToolPage") });
const system = createRoute({ ...at("/system"), validateSearch: (s: Record<string, unknown>): { q?: string; only?: string } => pick(s, ["q", "only"]), component: lazyRouteComponent(() => import("../features/system/system"), "System") });
const schedules = createRoute({ ...at("/schedules"), ...searched, component: lazyRouteComponent(() => import("../features/automate/schedules"), "Schedules") });
const scheduleForm = lazyRouteComponent(() => import("../features/automate/scheduleform"), "ScheduleForm");
const newSchedule = createRoute({ ...at("/schedules/-/new"), component: scheduleForm });
const schedule = createRoute({ ...at("/schedules/$id"), component: lazyRouteComponent(() => import("../features/automate/schedule"), "SchedulePage") });
const scheduleEdit = createRoute({ ...at("/schedules/$id/edit"), component: scheduleForm });
const webhooks = createRoute({ ...at("/webhooks"), ...searched, component: lazyRouteComponent(() => import("../features/automate/webhooks"), "Webhooks") });
const webhookForm = lazyRouteComponent(() => import("../features/automate/webhookform"), "WebhookForm");
const newWebhook = createRoute({ ...at("/webhooks/-/new"), component: webhookForm });
const webhook = createRoute({ ...at("/webhooks/$id"), component: lazyRouteComponent(() => import("../features/automate/webhook"), "WebhookPage") });
const webhookEdit = createRoute({ ...at("/webhooks/$id/edit"), component: webhookForm });
const triggers = createRoute({ ...at("/triggers"), ...searched, component: lazyRouteComponent(() => import("../features/automate/triggers"), "Triggers") });
const triggerForm = lazyRouteComponent(() => import("../features/automate/triggerform"), "TriggerForm");
const newTrigger = createRoute({ ...at("/triggers/-/new"), component: triggerForm });
const trigger = createRoute({ ...at("/triggers/$id"), component: lazyRouteComponent(() => import("../features/automate/trigger"), "TriggerPage") });
const triggerEdit = createRoute({ ...at("/triggers/$id/edit"), component: triggerForm });
const compare = createRoute({ ...at("/compare"), validateSearch: (s: Record<string, unknown>): { sides?: string } => pick(s, ["sides"]), component: lazyRouteComponent(() => import("../features/compare/compare"), "Compare") });
const assistant = createRoute({ ...at("/assistant"), component: lazyRouteComponent(() => import("../features/assistant/assistant"), "Assistant") });
const keys = createRoute({ ...at("/keys"), component: lazyRouteComponent(() => import("../features/connect/keys"), "Keys") });

const queueSearch = (s: Record<string, unknown>): { view?: string; agent_id?: string; worker?: string; id?: string } => pick(s, ["view", "agent_id", "worker", "id"]);
const queuePage = lazyRouteComponent(() => import("../features/queue/queue"), "QueuePage");
const queue = createRoute({ ...at("/queue"), validateSearch: queueSearch, component: queuePage });
const deadLetter = createRoute({ ...at("/dead-letters/$dispatch"), validateSearch: queueSearch, component: queuePage });
const cost = createRoute({ ...at("/cost"), validateSearch: (s: Record<string, unknown>): { metric?: string; by?: string; range?: string; from?: string; to?: string; key?: string } => pick(s, ["metric", "by", "range", "from", "to", "key"]), component: lazyRouteComponent(() => import("../features/cost/cost"), "Cost") });
const auditSearch = (s: Record<string, unknown>): { actor?: string; resource?: string; action?: string } & Times => pick(s, ["actor", "resource", "action", ...times]);
const auditPage = lazyRouteComponent(() => import("../features/audit/audit"), "Audit");
const audit = createRoute({ ...at("/audit"), validateSearch: auditSearch, component: auditPage });
const auditEvent = createRoute({ ...at("/audit/$event"), validateSearch: auditSearch, component: auditPage });
const folders: Record<string, string> = { agents: "/agents/$id", providers: "/providers/$id", models: "/models/$id", "model-pools": "/pools/$id", "mcp-servers": "/mcp-servers/$id", "a2a-servers": "/a2a-servers/$id", skills: "/skills/$id", tools: "/tools/$id", schedules: "/schedules/$id", webhooks: "/webhooks/$id", triggers: "/triggers/$id" };

/** The page of a document, by the name that the API and the audit log have for it. */
const configured = createRoute({
  ...at("/config/$namespace/$id"),
  beforeLoad: ({ params: { namespace, id } }) => {
    const to = folders[namespace];
    throw to ? redirect({ to, params: { id }, replace: true } as never) : notFound();
  },
});
const operation = [traces, trace, datasets, dataset, newCase, datasetCase, evals, newEval, online, liveEvals, reports, evalResult, fork, beside, configured, threadMessage, queue, deadLetter, cost, audit, auditEvent] as const;
const automation = [schedules, newSchedule, schedule, scheduleEdit, webhooks, newWebhook, webhook, webhookEdit, triggers, newTrigger, trigger, triggerEdit] as const;

export const router = createRouter({
  routeTree: root.addChildren([overview, signIn, runs, run, runStep, runCall, threads, newThread, thread, approvals, approval, agents, newAgent, newAgentTab, agent, agentTab, versions, version, providers, newProvider, provider, models, newModel, model, pools, newPool, pool, mcpServers, newMcpServer, mcpServer, a2aServers, newA2aServer, a2aServer, skills, newSkill, skill, tools, tool, compare, assistant, keys, system, ...operation, ...automation]),
  basepath: basePath,
  defaultPreload: "intent",
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  defaultPendingComponent: () => <Skeleton />,
  scrollRestoration: true,
  // Values in addresses are texts, so that people can read and write them.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(search)) if (value !== undefined && value !== "") params.set(name, String(value));
    const text = params.toString();
    return text && `?${text}`;
  },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
