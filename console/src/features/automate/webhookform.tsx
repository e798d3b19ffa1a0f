import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { agentsQuery } from "../../api/agents";
import { api, ask } from "../../api/client";
import { useLanguage, type Key } from "../../i18n/i18n";
import { same } from "../../ui/diff";
import { useDraft } from "../../ui/draft";
import { Labelled, Panel } from "../../ui/labelled";
import { DescriptionField, Form, FormPage, IdField, PausedTick, useSaving } from "./form";
import { Once, Secret, Tick } from "./parts";
import { webhookQuery, type Webhook } from "./queries";
import { replace } from "./spec";

/** What a webhook says, as its form edits it. */
type Spec = Pick<Webhook, "url" | "description" | "events" | "agents" | "children">;

const specOf = ({ url, description, events, agents, children }: Webhook): Spec => ({ url, description, events, agents, children });
const events = ["run.started", "run.waiting", "run.resumed", "run.finished"] as const;

/** WebhookForm makes a webhook, whose secret is shown once, or changes one. */
export function WebhookForm() {
  const fresh = useMemo<Spec>(() => ({ url: "", events: ["run.waiting", "run.finished"] }), []);
  return <FormPage kind="webhooks" setting="server.Config.Webhooks" query={webhookQuery} form={(id, doc) => <Fields id={id} saved={doc ? specOf(doc) : fresh} />} />;
}

function put(id: string, spec: Spec, base: Spec): Promise<Webhook> {
  const params = { path: { webhook_id: id } };
  return replace(
    () => ask(api.GET("/v1/webhooks/{webhook_id}", { params })),
    (now) => same(specOf(now), base),
    (now) => ask(api.PUT("/v1/webhooks/{webhook_id}", { params, body: { ...spec, paused: now.paused, expected_revision: now.revision } })),
  );
}

function Fields({ id, saved }: { id?: string; saved: Spec }) {
  const { t } = useLanguage();
  const agents = useQuery(agentsQuery);
  const draft = useDraft(`webhooks/${id ?? ""}`, saved, false); // a URL can be a secret
  const [made, setMade] = useState<{ id: string; secret: string }>(); // shown once; only this page has it
  const { value, set } = draft;
  const saving = useSaving({
    kind: "webhooks",
    id,
    draft,
    specOf,
    stays: true,
    write: async (name, paused) => {
      const { secret, ...w } = id === undefined ? await ask(api.POST("/v1/webhooks", { body: { ...value, url: value.url.trim(), id: name || undefined, paused } })) : await put(id, { ...value, url: value.url.trim() }, draft.base);
      if (secret) setMade({ id: w.id, secret });
      return w;
    },
  });
  const { wrong } = saving;
  const chosen = value.events ?? [];
  const ids = [...new Set([...(value.agents ?? []), ...(agents.data ?? []).map((a) => a.id)])].sort();
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <Form saving={saving} draft={draft} why={value.url.trim() ? undefined : t("webhooks.noUrl")} fields={["url", "events", "agents"]} keeps={false} busy={made !== undefined}>
        <Panel title={t("webhooks.receiver")}>
          <IdField saving={saving} />
          <Labelled label={t("webhooks.url")} hint={t("webhooks.urlHint")} bad={wrong("url")}>
            {(props) => <input {...props} className="field mono w-full" autoComplete="off" spellCheck={false} placeholder="https://example.com/awaken" value={value.url} onChange={(e) => set({ url: e.target.value })} />}
          </Labelled>
          <DescriptionField saving={saving} value={value.description} set={set} />
        </Panel>
        <Panel title={t("webhooks.what")}>
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1 font-medium">{t("webhooks.events")}</legend>
            {events.map((e) => (
              <Tick key={e} label={t(`webhooks.${e}` as Key)} hint={`${e} · ${t(`webhooks.hint.${e}` as Key)}`} checked={chosen.includes(e)} onChange={(on) => set({ events: events.filter((x) => (x === e ? on : chosen.includes(x))) })} />
            ))}
            {chosen.length === 0 && <p className="text-dense text-muted">{t("webhooks.noneMeansAll")}</p>}
            {wrong("events") && (
              <p role="alert" className="text-dense text-fail">
                {wrong("events")}
              </p>
            )}
          </fieldset>
          <fieldset>
            <legend className="mb-1 font-medium">{t("nav.agents")}</legend>
            <div className="flex max-h-48 flex-wrap gap-x-4 gap-y-1 overflow-auto">
              {ids.map((a) => (
                <label key={a} className="touch inline-flex min-h-7 items-center gap-1.5">
                  <input type="checkbox" checked={value.agents?.includes(a) ?? false} onChange={(e) => set({ agents: e.target.checked ? [...(value.agents ?? []), a] : value.agents?.filter((x) => x !== a) })} />
                  <span className="mono">{a}</span>
                </label>
              ))}
            </div>
            {(value.agents?.length ?? 0) === 0 && <p className="text-dense text-muted">{t("webhooks.noAgentsMeansAll")}</p>}
            {wrong("agents") && (
              <p role="alert" className="text-dense text-fail">
                {wrong("agents")}
              </p>
            )}
          </fieldset>
          <Tick label={t("webhooks.children")} hint={t("webhooks.childrenHint")} checked={value.children ?? false} onChange={(children) => set({ children })} />
          <PausedTick saving={saving} />
        </Panel>
      </Form>
      {made && (
        <Once title={t("webhooks.made", { id: made.id })} close={() => void saving.leave(made.id)}>
          <Secret label={t("automate.secret")} text={made.secret} hint={t("webhooks.verifyHint")} />
        </Once>
      )}
    </div>
  );
}
