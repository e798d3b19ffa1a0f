import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { api, ask } from "../../api/client";
import { ApiError } from "../../api/errors";
import { useLanguage } from "../../app/i18n/i18n";
import { Labelled, NumberField, Panel } from "../../ui/labelled";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { tell } from "../../ui/savebar";
import { Failure, Skeleton } from "../../ui/state";
import { Door, type Opened } from "./door";
import { useDraft } from "./edit";
import { EditBar, plainLink, Tick } from "./parts";
import { triggerQuery, type Trigger } from "./queries";
import { Changed, fieldOf, replace, same } from "./spec";
import { TemplateFields, useLacks } from "./template";

/** What a trigger says, as its form edits it. */
type Spec = Pick<Trigger, "description" | "run" | "thread_from" | "require_signature" | "trust_payload" | "per_minute" | "max_bytes">;

const specOf = ({ description, run, thread_from, require_signature, trust_payload, per_minute, max_bytes }: Trigger): Spec => ({ description, run, thread_from, require_signature, trust_payload, per_minute, max_bytes });

/** TriggerForm makes a trigger, whose URL and secret are shown once, or changes one. */
export function TriggerForm() {
  const { id } = useParams({ strict: false }) as { id?: string };
  return (
    <Needs ability="admin">
      <Has feature="triggers" setting="server.Config.Triggers">
        {id === undefined ? <New /> : <Existing key={id} id={id} />}
      </Has>
    </Needs>
  );
}

function New() {
  const { t } = useLanguage();
  const fresh = useMemo<Spec>(() => ({ run: { agent_id: "", messages: [{ role: "user", content: "{{payload}}" }] } }), []);
  return (
    <Page crumbs={[{ text: t("nav.triggers"), to: "/triggers" }, { text: t("triggers.new") }]}>
      <Form saved={fresh} />
    </Page>
  );
}

function Existing({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useQuery(triggerQuery(id));
  const crumbs = [{ text: t("nav.triggers"), to: "/triggers" }, { text: id, to: `/triggers/${encodeURIComponent(id)}` }, { text: t("automate.edit") }];
  return <Page crumbs={crumbs}>{query.data ? <Form id={id} saved={specOf(query.data)} /> : query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />}</Page>;
}

function put(id: string, spec: Spec, base: Spec) {
  const params = { path: { trigger_id: id } };
  return replace(
    () => ask(api.GET("/v1/triggers/{trigger_id}", { params })),
    (now) => same(specOf(now as Trigger), base),
    (now) => ask(api.PUT("/v1/triggers/{trigger_id}", { params, body: { ...spec, paused: now.paused, expected_revision: now.revision } })),
  );
}

function Form({ id, saved }: { id?: string; saved: Spec }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const draft = useDraft(`triggers/${id ?? ""}`, saved, true);
  const [name, setName] = useState("");
  const [paused, setPaused] = useState(false);
  const [made, setMade] = useState<{ id: string; opened: Opened }>(); // shown once; only this page has it
  const { value, set } = draft;
  const leave = async (to: string) => {
    setMade(undefined);
    tell(`triggers/${to}`, t("triggers.saved", { id: to }));
    await navigate({ to: "/triggers/$id", params: { id: to }, replace: true, ignoreBlocker: true });
  };
  const write = useMutation({
    mutationFn: async () => {
      const { secret, url = "", ...g } = id === undefined ? await ask(api.POST("/v1/triggers", { body: { ...value, id: name.trim() || undefined, paused } })) : await put(id, value, draft.base);
      if (secret) setMade({ id: g.id, opened: { title: t("triggers.made", { id: g.id }), url, secret } });
      return g as Trigger;
    },
    onSuccess: async (g) => {
      draft.done(specOf(g));
      client.setQueryData(triggerQuery(g.id).queryKey, g);
      void client.invalidateQueries({ queryKey: ["triggers", "list"] });
      if (id !== undefined) await leave(g.id);
    },
    onError: (err) => {
      if (err instanceof Changed && id !== undefined) void client.invalidateQueries({ queryKey: ["triggers", "one", id] });
    },
  });
  const error = write.error instanceof Changed ? null : write.error;
  const taken = error instanceof ApiError && error.code === "conflict" && id === undefined;
  const field = taken ? "id" : fieldOf(error);
  const fields = ["id", "description", "thread_from", "per_minute", "max_bytes", "agent_id", "messages", "thread_id", "user_id", "priority", "overrides", "budget", "output_schema"];
  const wrong = (x: string) => (field === x && error ? error.message : undefined);
  const why = useLacks(value.run) ?? (id !== undefined && !draft.dirty ? t("why.unchanged") : undefined);
  const here = id === undefined ? "/triggers/new" : `/triggers/${id}/edit`;
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <form
        aria-label={id ?? t("triggers.new")}
        className="flex max-w-3xl flex-col gap-4 px-4 pt-4"
        onSubmit={(e) => {
          e.preventDefault();
          if (!why && draft.others.length === 0) write.mutate();
        }}
      >
        <Panel title={t("automate.name")}>
          {id === undefined && (
            <Labelled label={t("automate.id")} hint={t("automate.idHint")} bad={wrong("id")}>
              {(props) => <input {...props} className="field mono w-full" autoComplete="off" value={name} onChange={(e) => setName(e.target.value)} />}
            </Labelled>
          )}
          <Labelled label={t("automate.description")} bad={wrong("description")}>
            {(props) => <input {...props} className="field w-full" value={value.description ?? ""} onChange={(e) => set({ description: e.target.value || undefined })} />}
          </Labelled>
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
          {id === undefined && <Tick label={t("automate.beginPaused")} hint={t("triggers.pausedHint")} checked={paused} onChange={setPaused} />}
        </Panel>
        <EditBar
          draft={draft}
          save={t(id === undefined ? "triggers.make" : "case.save")}
          why={why}
          pending={write.isPending || made !== undefined}
          error={error}
          placed={fields.includes(field)}
          keeps
          made={write.isSuccess}
          stays={(path) => decodeURIComponent(path).endsWith(here)}
          cancel={
            id === undefined ? (
              <Link to="/triggers" className={plainLink}>
                {t("action.cancel")}
              </Link>
            ) : (
              <Link to="/triggers/$id" params={{ id }} className={plainLink}>
                {t("action.cancel")}
              </Link>
            )
          }
        />
      </form>
      {made && <Door opened={made.opened} signed={value.require_signature === true} close={() => void leave(made.id)} />}
    </div>
  );
}
