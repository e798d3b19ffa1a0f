import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { agentsQuery } from "../../api/agents";
import { api, ask } from "../../api/client";
import { ApiError } from "../../api/errors";
import { useLanguage, type Key } from "../../app/i18n/i18n";
import { Labelled, Panel } from "../../ui/labelled";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { tell } from "../../ui/savebar";
import { Failure, Skeleton } from "../../ui/state";
import { useDraft } from "./edit";
import { EditBar, Once, plainLink, Secret, Tick } from "./parts";
import { webhookQuery, type Webhook } from "./queries";
import { Changed, fieldOf, replace, same } from "./spec";

/** What a webhook says, as its form edits it. */
type Spec = Pick<Webhook, "url" | "description" | "events" | "agents" | "children">;

const specOf = ({ url, description, events, agents, children }: Webhook): Spec => ({ url, description, events, agents, children });
const events = ["run.started", "run.waiting", "run.resumed", "run.finished"] as const;

/** WebhookForm makes a webhook, whose secret is shown once, or changes one. */
export function WebhookForm() {
  const { id } = useParams({ strict: false }) as { id?: string };
  return (
    <Needs ability="admin">
      <Has feature="webhooks" setting="server.Config.Webhooks">
        {id === undefined ? <New /> : <Existing key={id} id={id} />}
      </Has>
    </Needs>
  );
}

function New() {
  const { t } = useLanguage();
  const fresh = useMemo<Spec>(() => ({ url: "", events: ["run.waiting", "run.finished"] }), []);
  return (
    <Page crumbs={[{ text: t("nav.webhooks"), to: "/webhooks" }, { text: t("webhooks.new") }]}>
      <Form saved={fresh} />
    </Page>
  );
}

function Existing({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useQuery(webhookQuery(id));
  const crumbs = [{ text: t("nav.webhooks"), to: "/webhooks" }, { text: id, to: `/webhooks/${encodeURIComponent(id)}` }, { text: t("automate.edit") }];
  return <Page crumbs={crumbs}>{query.data ? <Form id={id} saved={specOf(query.data)} /> : query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />}</Page>;
}

function put(id: string, spec: Spec, base: Spec): Promise<Webhook> {
  const params = { path: { webhook_id: id } };
  return replace(
    () => ask(api.GET("/v1/webhooks/{webhook_id}", { params })),
    (now) => same(specOf(now), base),
    (now) => ask(api.PUT("/v1/webhooks/{webhook_id}", { params, body: { ...spec, paused: now.paused, expected_revision: now.revision } })),
  );
}

function Form({ id, saved }: { id?: string; saved: Spec }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const agents = useQuery(agentsQuery);
  const draft = useDraft(`webhooks/${id ?? ""}`, saved, false); // a URL can be a secret
  const [name, setName] = useState("");
  const [paused, setPaused] = useState(false);
  const [made, setMade] = useState<{ id: string; secret: string }>(); // shown once; only this page has it
  const { value, set } = draft;
  const leave = async (to: string) => {
    setMade(undefined);
    tell(`webhooks/${to}`, t("webhooks.saved", { id: to }));
    await navigate({ to: "/webhooks/$id", params: { id: to }, replace: true, ignoreBlocker: true });
  };
  const write = useMutation({
    mutationFn: async () => {
      const { secret, ...w } = id === undefined ? await ask(api.POST("/v1/webhooks", { body: { ...value, url: value.url.trim(), id: name.trim() || undefined, paused } })) : await put(id, { ...value, url: value.url.trim() }, draft.base);
      if (secret) setMade({ id: w.id, secret });
      return w;
    },
    onSuccess: async (w) => {
      draft.done(specOf(w));
      client.setQueryData(webhookQuery(w.id).queryKey, w);
      void client.invalidateQueries({ queryKey: ["webhooks", "list"] });
      if (id !== undefined) await leave(w.id);
    },
    onError: (err) => {
      if (err instanceof Changed && id !== undefined) void client.invalidateQueries({ queryKey: ["webhooks", "one", id] });
    },
  });
  const error = write.error instanceof Changed ? null : write.error;
  const taken = error instanceof ApiError && error.code === "conflict" && id === undefined;
  const field = taken ? "id" : fieldOf(error);
  const wrong = (x: string) => (field === x && error ? error.message : undefined);
  const chosen = value.events ?? [];
  const why = !value.url.trim() ? t("webhooks.noUrl") : id !== undefined && !draft.dirty ? t("why.unchanged") : undefined;
  const here = id === undefined ? "/webhooks/new" : `/webhooks/${id}/edit`;
  const ids = [...new Set([...(value.agents ?? []), ...(agents.data ?? []).map((a) => a.id)])].sort();
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <form
        aria-label={id ?? t("webhooks.new")}
        className="flex max-w-3xl flex-col gap-4 px-4 pt-4"
        onSubmit={(e) => {
          e.preventDefault();
          if (!why && draft.others.length === 0) write.mutate();
        }}
      >
        <Panel title={t("webhooks.receiver")}>
          {id === undefined && (
            <Labelled label={t("automate.id")} hint={t("automate.idHint")} bad={wrong("id")}>
              {(props) => <input {...props} className="field mono w-full" autoComplete="off" value={name} onChange={(e) => setName(e.target.value)} />}
            </Labelled>
          )}
          <Labelled label={t("webhooks.url")} hint={t("webhooks.urlHint")} bad={wrong("url")}>
            {(props) => <input {...props} className="field mono w-full" autoComplete="off" spellCheck={false} placeholder="https://example.com/awaken" value={value.url} onChange={(e) => set({ url: e.target.value })} />}
          </Labelled>
          <Labelled label={t("automate.description")} bad={wrong("description")}>
            {(props) => <input {...props} className="field w-full" value={value.description ?? ""} onChange={(e) => set({ description: e.target.value || undefined })} />}
          </Labelled>
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
          {id === undefined && <Tick label={t("automate.beginPaused")} hint={t("webhooks.pausedHint")} checked={paused} onChange={setPaused} />}
        </Panel>
        <EditBar
          draft={draft}
          save={t(id === undefined ? "webhooks.make" : "case.save")}
          why={why}
          pending={write.isPending || made !== undefined}
          error={error}
          placed={["id", "url", "description", "events", "agents"].includes(field)}
          keeps={false}
          made={write.isSuccess}
          stays={(path) => decodeURIComponent(path).endsWith(here)}
          cancel={
            id === undefined ? (
              <Link to="/webhooks" className={plainLink}>
                {t("action.cancel")}
              </Link>
            ) : (
              <Link to="/webhooks/$id" params={{ id }} className={plainLink}>
                {t("action.cancel")}
              </Link>
            )
          }
        />
      </form>
      {made && (
        <Once title={t("webhooks.made", { id: made.id })} close={() => void leave(made.id)}>
          <Secret label={t("automate.secret")} text={made.secret} hint={t("webhooks.verifyHint")} />
        </Once>
      )}
    </div>
  );
}
