import { useMemo, useState } from "react";
import { api, ask } from "../../api/client";
import { useLanguage } from "../../i18n/i18n";
import { same } from "../../ui/diff";
import { useDraft } from "../../ui/draft";
import { Labelled, NumberField, Panel } from "../../ui/labelled";
import { Door, type Opened } from "./door";
import { DescriptionField, Form, FormPage, IdField, PausedTick, useSaving } from "./form";
import { Tick } from "./parts";
import { triggerQuery, type Trigger } from "./queries";
import { replace } from "./spec";
import { TemplateFields, templateFields, useLacks } from "./template";

/** What a trigger says, as its form edits it. */
type Spec = Pick<Trigger, "description" | "run" | "thread_from" | "require_signature" | "trust_payload" | "per_minute" | "max_bytes">;

const specOf = ({ description, run, thread_from, require_signature, trust_payload, per_minute, max_bytes }: Trigger): Spec => ({ description, run, thread_from, require_signature, trust_payload, per_minute, max_bytes });

/** TriggerForm makes a trigger, whose URL and secret are shown once, or changes one. */
export function TriggerForm() {
  const fresh = useMemo<Spec>(() => ({ run: { agent_id: "", messages: [{ role: "user", content: "{{payload}}" }] } }), []);
  return <FormPage kind="triggers" setting="server.Config.Triggers" query={triggerQuery} form={(id, doc) => <Fields id={id} saved={doc ? specOf(doc) : fresh} />} />;
}

function put(id: string, spec: Spec, base: Spec) {
  const params = { path: { trigger_id: id } };
  return replace(
    () => ask(api.GET("/v1/triggers/{trigger_id}", { params })),
    (now) => same(specOf(now as Trigger), base),
    (now) => ask(api.PUT("/v1/triggers/{trigger_id}", { params, body: { ...spec, paused: now.paused, expected_revision: now.revision } })),
  );
}

const fields = ["thread_from", "per_minute", "max_bytes", ...templateFields];

function Fields({ id, saved }: { id?: string; saved: Spec }) {
  const { t } = useLanguage();
  const draft = useDraft(`triggers/${id ?? ""}`, saved, true);
  const [made, setMade] = useState<{ id: string; opened: Opened }>(); // shown once; only this page has it
  const { value, set } = draft;
  const saving = useSaving({
    kind: "triggers",
    id,
    draft,
    specOf,
    stays: true,
    write: async (name, paused) => {
      const { secret, url = "", ...g } = id === undefined ? await ask(api.POST("/v1/triggers", { body: { ...value, id: name || undefined, paused } })) : await put(id, value, draft.base);
      if (secret) setMade({ id: g.id, opened: { title: t("triggers.made", { id: g.id }), url, secret } });
      return g as Trigger;
    },
  });
  const { wrong } = saving;
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <Form saving={saving} draft={draft} why={useLacks(value.run)} fields={fields} keeps busy={made !== undefined}>
        <Panel title={t("automate.name")}>
          <IdField saving={saving} />
          <DescriptionField saving={saving} value={value.description} set={set} />
        </Panel>
        <TemplateFields value={value.run} set={(run) => set({ run })} wrong={wrong} hint={t("triggers.messageHint", { word: "{{payload}}" })} threadHint={t("triggers.threadHint")}>
          <Labelled label={t("triggers.threadFrom")} hint={t("triggers.threadFromHint")} bad={wrong("thread_from")}>
            {(props) => <input {...props} className="field mono w-full" autoComplete="off" placeholder="/issue/id" value={value.thread_from ?? ""} onChange={(e) => set({ thread_from: e.target.value || undefined })} />}
          </Labelled>
        </TemplateFields>
        <Panel title={t("triggers.who")}>
          <Tick label={t("triggers.require")} hint={t("triggers.requireHint")} checked={value.require_signature ?? false} onChange={(require_signature) => set({ require_signature })} />
          <Tick label={t("triggers.trust")} hint={t("triggers.trustHint")} warn={t("triggers.trustWarning")} checked={value.trust_payload ?? false} onChange={(trust_payload) => set({ trust_payload })} />
          <div className="grid gap-3 sm:grid-cols-2">
            <NumberField label={t("triggers.perMinute")} hint={t("triggers.perMinuteHint")} min={1} step="1" value={value.per_minute} onChange={(per_minute) => set({ per_minute })} bad={wrong("per_minute")} />
            <NumberField label={t("triggers.maxBytes")} hint={t("triggers.maxBytesHint")} min={1} step="1" value={value.max_bytes} onChange={(max_bytes) => set({ max_bytes })} bad={wrong("max_bytes")} />
          </div>
          <PausedTick saving={saving} />
        </Panel>
      </Form>
      {made && <Door opened={made.opened} signed={value.require_signature === true} close={() => void saving.leave(made.id)} />}
    </div>
  );
}
