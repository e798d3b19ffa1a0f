import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Settings2, Sparkles } from "lucide-react";
import { useState } from "react";
import { api, ask, tenantOf } from "../../api/client";
import { call, capabilitiesQuery, documentsQuery, liveQuery, type Doc } from "../../api/config";
import { useSession } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { useChat, type ChatTool } from "../../live/chat";
import { Button } from "../../ui/button";
import { Composer, Turns } from "../../ui/chat";
import { Code } from "../../ui/code";
import { differences } from "../../ui/diff";
import { Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { pretty, useWhy } from "../../ui/savebar";
import { Empty, Loaded } from "../../ui/state";

const configQuery = queryOptions({ queryKey: ["config", "assistant"], queryFn: ({ signal }) => ask(api.GET("/v1/admin/assistant/config", { signal })) });

interface Info {
  enabled: boolean;
  disabled_reason: string | null;
  model_id: string | null;
  bound_tools: { id: string; label: string; description: string; requires_confirmation: boolean }[];
}

/** Assistant talks to the agent that writes agents. It drafts and checks by itself; what it publishes a person has seen and approved. */
export function Assistant() {
  const { t } = useLanguage();
  const session = useSession();
  const has = session?.features.assistant === true;
  const query = useQuery({ ...capabilitiesQuery, enabled: has && session?.may.config === true });
  const [open, setOpen] = useState(false);
  return (
    <Page
      crumbs={[{ text: t("nav.assistant") }]}
      actions={
        <Needs ability="govern" silent>
          <Button className="lg:hidden" aria-pressed={open} onClick={() => setOpen(!open)}>
            <Settings2 aria-hidden className="size-3.5" />
            {t("assistant.settings")}
          </Button>
        </Needs>
      }
    >
      <Needs ability="govern">
        {has ? (
          <Loaded query={query}>{(c) => <Talk info={(c as unknown as { admin_assistant: Info }).admin_assistant} settings={open} />}</Loaded>
        ) : (
          <Empty title={t("state.notInThisServer")} icon={Sparkles}>
            {t("assistant.absent")}
          </Empty>
        )}
      </Needs>
    </Page>
  );
}

function Talk({ info, settings }: { info: Info; settings: boolean }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const chat = useChat("/v1/admin/assistant/runs", "assistant", `awaken.assistant.${tenantOf()}`);
  const changed = () => void client.invalidateQueries({ queryKey: ["config"] });
  const ideas = [t("assistant.idea1"), t("assistant.idea2"), t("assistant.idea3")];
  return (
    <div className="flex min-h-0 flex-1">
      <section aria-label={t("assistant.chat")} className={`min-w-0 flex-1 flex-col ${settings ? "hidden lg:flex" : "flex"}`}>
        <h2 className="sr-only">{t("assistant.chat")}</h2>
        {!info.enabled && (
          <p role="status" className="border-b border-line bg-sunken px-4 py-2 text-wait">
            {info.disabled_reason} {t("assistant.noModel")}
          </p>
        )}
        <Turns
          turns={chat.turns}
          label={t("assistant.chat")}
          busy={chat.busy}
          unlinked
          decide={(tool, approved) => void chat.decide(tool, approved).then(changed)}
          show={(tool) => <Result tool={tool} />}
          hint={
            <div className="mx-auto flex max-w-md flex-col items-center gap-3 py-10 text-center">
              <Sparkles aria-hidden className="size-6" />
              <p>{t("assistant.hint")}</p>
              <ul className="flex w-full flex-col gap-2">
                {ideas.map((idea) => (
                  <li key={idea}>
                    <Button disabled={!info.enabled} className="h-auto w-full py-1.5 whitespace-normal!" onClick={() => void chat.send(idea).then(changed)}>
                      {idea}
                    </Button>
                  </li>
                ))}
              </ul>
            </div>
          }
        />
        <Composer label={t("assistant.message")} busy={chat.busy} why={info.enabled ? undefined : t("assistant.noModel")} stop={chat.stop} send={(text, files) => void chat.send(text, {}, files).then(changed)}>
          {chat.turns.length > 0 && !chat.busy && (
            <Button kind="quiet" onClick={chat.clear}>
              {t("sandbox.again")}
            </Button>
          )}
        </Composer>
      </section>
      <aside aria-label={t("assistant.settings")} className={`w-96 shrink-0 flex-col gap-6 overflow-auto border-l border-line bg-panel p-4 lg:flex ${settings ? "flex max-lg:w-full" : "hidden"}`}>
        <Policy info={info} />
        <section aria-label={t("assistant.tools")}>
          <h2 className="mb-2 font-semibold">{t("assistant.tools")}</h2>
          <ul className="flex flex-col gap-2">
            {info.bound_tools.map((x) => (
              <li key={x.id}>
                <span className="font-medium">{x.label}</span> {x.requires_confirmation && <span className="text-dense text-wait">{t("assistant.asks")}</span>}
                <p className="text-dense text-muted">{x.description}</p>
              </li>
            ))}
          </ul>
        </section>
      </aside>
    </div>
  );
}

/** Result shows what a call of the assistant did to an agent: a link to the draft, or the difference that is to be published. */
function Result({ tool }: { tool: ChatTool }) {
  const { t } = useLanguage();
  const agent = (tool.input as { agent?: Doc } | undefined)?.agent;
  const id = typeof agent?.id === "string" ? agent.id : "";
  if (!id) return null;
  if (tool.name === "admin_publish_agent" && tool.approval) return <Change id={id} agent={agent!} />;
  const saved = tool.output as { live?: boolean; problems?: { message: string }[] } | undefined;
  if (!saved) return null;
  return (
    <div className="flex flex-col gap-1 py-1">
      {(tool.name === "admin_create_agent_draft" || tool.name === "admin_publish_agent") && (
        <p className="flex flex-wrap gap-x-1.5">
          <span>{t(saved.live ? "assistant.published" : "assistant.drafted")}</span>
          <Link to="/agents/$id/$tab" params={{ id, tab: "basics" }} className="link">
            {id}
          </Link>
        </p>
      )}
      {(saved.problems ?? []).map((p) => (
        <p key={p.message} className="text-dense text-fail [overflow-wrap:anywhere]">
          {p.message}
        </p>
      ))}
    </div>
  );
}

/** Change shows what publishing an agent would change. */
function Change({ id, agent }: { id: string; agent: Doc }) {
  const { t } = useLanguage();
  const list = useQuery(documentsQuery("agents"));
  const known = list.data?.some((d) => d.doc.id === id && d.meta?.live) ?? false;
  const live = useQuery({ ...liveQuery("agents", id), enabled: known });
  if (!list.data || (known && live.data === undefined)) return null;
  // What the agent leaves out and the server fills in is no difference.
  const before = Object.fromEntries(Object.entries(live.data ?? {}).filter(([name]) => agent[name] !== undefined || !filled.has(name)));
  const n = differences(before, agent).length;
  return (
    <section aria-label={t("assistant.change", { id })} className="my-2 flex flex-col gap-2">
      <h4 className="font-medium">
        {t("assistant.change", { id })} <span className="font-normal text-muted">{live.data ? t("edit.diff", { n }) : t("assistant.isNew")}</span>
      </h4>
      <Code label={t("assistant.change", { id })} value={pretty(sorted(agent))} original={live.data ? pretty(before) : undefined} />
    </section>
  );
}

/** sorted returns a document with its fields in the order of the server's. */
const sorted = (doc: Doc): Doc => Object.fromEntries(Object.entries(doc).sort(([a], [b]) => (a < b ? -1 : 1)));

const filled = new Set(["backend", "max_rounds", "max_continuation_retries", "allowed_tool_patterns", "updated_at"]);

/** Policy edits what the assistant keeps to, and its model. */
function Policy({ info }: { info: Info }) {
  const { t } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const query = useQuery(configQuery);
  const capabilities = useQuery(capabilitiesQuery);
  const [edit, setEdit] = useState<{ policy_prompt?: string; model_id?: string }>({});
  const save = useMutation({
    mutationFn: () => call("PUT", "/v1/admin/assistant/config", { policy_prompt: query.data?.policy_prompt ?? "", model_id: query.data?.model_id, ...edit, revision: query.data?.revision ?? 0 }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["config"] });
      setEdit({});
    },
  });
  const caps = capabilities.data as unknown as { models: { id: string }[]; model_pools: { id: string }[] } | undefined;
  const models = [...(caps?.models ?? []), ...(caps?.model_pools ?? [])].map((m) => m.id);
  return (
    <Loaded query={query} rows={4}>
      {(c) => {
        const prompt = edit.policy_prompt ?? c.policy_prompt;
        const model = edit.model_id ?? c.model_id ?? "";
        const dirty = prompt !== c.policy_prompt || model !== (c.model_id ?? "");
        return (
          <form
            aria-label={t("assistant.settings")}
            className="flex flex-col gap-3"
            onSubmit={(e) => {
              e.preventDefault();
              save.mutate();
            }}
          >
            <h2 className="font-semibold">{t("assistant.settings")}</h2>
            <div className="flex flex-col gap-1">
              <label htmlFor="assistant-model" className="font-medium">
                {t("field.model_id")}
              </label>
              <select id="assistant-model" className="field" disabled={why !== undefined} value={model} onChange={(e) => setEdit({ ...edit, model_id: e.target.value })}>
                <option value="">{info.model_id ? t("doc.default", { value: info.model_id }) : t("doc.none")}</option>
                {model && !models.includes(model) && <option>{model}</option>}
                {models.map((m) => (
                  <option key={m}>{m}</option>
                ))}
              </select>
            </div>
            <div className="flex flex-col gap-1">
              <label htmlFor="assistant-policy" className="font-medium">
                {t("assistant.policy")}
              </label>
              <textarea id="assistant-policy" className="field" rows={6} disabled={why !== undefined} aria-describedby="policy-hint" value={prompt} onChange={(e) => setEdit({ ...edit, policy_prompt: e.target.value })} />
            </div>
            <p id="policy-hint" className="text-dense text-muted">
              {t("assistant.policyHint")}
            </p>
            {save.error && (
              <p role="alert" className="text-fail [overflow-wrap:anywhere]">
                {save.error.message}
              </p>
            )}
            <div className="flex items-center gap-2">
              <Button kind="primary" type="submit" why={why} disabled={!dirty || save.isPending}>
                {t("tools.save")}
              </Button>
              <span role="status" className="text-ok">
                {save.isSuccess && !dirty && t("assistant.saved")}
              </span>
            </div>
          </form>
        );
      }}
    </Loaded>
  );
}
