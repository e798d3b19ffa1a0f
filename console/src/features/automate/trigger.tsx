import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Link2, Pause, Pencil, Play, RotateCw, Trash2, Zap } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Labelled } from "../../ui/labelled";
import { Has, Needs } from "../../ui/needs";
import { Overlay } from "../../ui/overlay";
import { Page } from "../../ui/page";
import { useTold } from "../../ui/savebar";
import { Empty, Failure, Skeleton } from "../../ui/state";
import { Door, type Opened } from "./door";
import { Exactly, Fact, OneOf, Pages, plainLink, RunLink, Said, State } from "./parts";
import { triggerLog, triggerQuery, type Trigger } from "./queries";
import { messageOf } from "./template";
import { instantOf, ownZone } from "./zones";

type Firing = components["schemas"]["TriggerFirings"]["items"][number];

/** TriggerPage shows a trigger: which run it starts for whom, and what became of requests. */
export function TriggerPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <Needs ability="admin">
      <Has feature="triggers" setting="server.Config.Triggers">
        <Shown key={id} id={id} />
      </Has>
    </Needs>
  );
}

function Shown({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useQuery(triggerQuery(id));
  const crumbs = [{ text: t("nav.triggers"), to: "/triggers" }, { text: id }];
  const g = query.data;
  if (!g) return <Page crumbs={crumbs}>{query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />}</Page>;
  return <One g={g} crumbs={crumbs} />;
}

function One({ g, crumbs }: { g: Trigger; crumbs: { text: string; to?: string }[] }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [asking, setAsking] = useState<"remove" | "rotate" | "url" | "try">();
  const [opened, setOpened] = useState<Opened>(); // shown once; only this page has it
  const [atOnce, setAtOnce] = useState<"later" | "now">("later");
  const [told] = useTold(`triggers/${g.id}`);
  const params = { path: { trigger_id: g.id } };
  const refresh = () => {
    for (const kind of ["one", "log"]) void client.invalidateQueries({ queryKey: ["triggers", kind, g.id] });
    void client.invalidateQueries({ queryKey: ["triggers", "list"] });
  };
  const pause = useMutation({
    mutationFn: async () => {
      const now = (await ask(api.GET("/v1/triggers/{trigger_id}", { params }))) as Trigger;
      const { description, run, thread_from, require_signature, trust_payload, per_minute, max_bytes, paused, revision } = now;
      await ask(api.PUT("/v1/triggers/{trigger_id}", { params, body: { description, run, thread_from, require_signature, trust_payload, per_minute, max_bytes, paused: !paused, expected_revision: revision } }));
    },
    onSettled: refresh,
  });
  const rotate = useMutation({
    mutationFn: async () => {
      const { url = "", secret } = await ask(api.POST("/v1/triggers/{trigger_id}/rotate", { params, body: { at_once: atOnce === "now" } }));
      setOpened({ title: t("triggers.newSecret"), url, secret });
    },
    onSettled: refresh,
  });
  const remove = useMutation({
    mutationFn: () => api.DELETE("/v1/triggers/{trigger_id}", { params }),
    onSuccess: async () => {
      await navigate({ to: "/triggers" });
      client.removeQueries({ queryKey: ["triggers", "one", g.id] });
      void client.invalidateQueries({ queryKey: ["triggers", "list"] });
    },
  });
  const close = () => setAsking(undefined);
  return (
    <Page
      crumbs={crumbs}
      badge={<State of={g.paused ? "paused" : "active"} />}
      actions={
        <span className="flex flex-wrap items-center justify-end gap-2">
          <Button kind="quiet" aria-label={t("triggers.remove")} title={t("triggers.remove")} onClick={() => setAsking("remove")}>
            <Trash2 aria-hidden className="size-3.5" />
          </Button>
          <Button disabled={rotate.isPending} onClick={() => setAsking("rotate")}>
            <RotateCw aria-hidden className="size-3.5" />
            {t("automate.rotate")}
          </Button>
          <Button disabled={pause.isPending} onClick={() => pause.mutate()}>
            {g.paused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
            {t(g.paused ? "automate.resume" : "automate.pause")}
          </Button>
          <Link to="/triggers/$id/edit" params={{ id: g.id }} className={plainLink}>
            <Pencil aria-hidden className="size-3.5" />
            {t("automate.edit")}
          </Link>
          <Button onClick={() => setAsking("url")}>
            <Link2 aria-hidden className="size-3.5" />
            {t("triggers.newUrl")}
          </Button>
          <Button kind="primary" onClick={() => setAsking("try")}>
            <Play aria-hidden className="size-3.5" />
            {t("triggers.try")}
          </Button>
        </span>
      }
    >
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="flex max-w-4xl flex-col gap-6 p-4">
          <Said error={pause.error ?? rotate.error ?? remove.error}>{told && <span className="text-ok">{told}</span>}</Said>
          <Facts g={g} />
          <section aria-labelledby="log">
            <h2 id="log" className="mb-2 font-semibold">
              {t("triggers.log")}
            </h2>
            <Log id={g.id} />
          </section>
        </div>
      </div>
      {opened && <Door opened={opened} signed={g.require_signature === true} close={() => setOpened(undefined)} />}
      {asking === "url" && <NewUrl g={g} close={close} done={setOpened} />}
      {asking === "try" && <Try g={g} close={close} done={refresh} />}
      <Confirm open={asking === "rotate"} onOpenChange={close} title={t("automate.rotateTitle", { id: g.id })} action={t("automate.rotate")} danger={atOnce === "now"} onConfirm={() => rotate.mutate()}>
        <p>{t("triggers.rotateHint")}</p>
        <OneOf
          label={t("triggers.former")}
          value={atOnce}
          onChange={setAtOnce}
          options={[
            { value: "later", text: t("triggers.later"), hint: t("triggers.laterHint") },
            { value: "now", text: t("triggers.atOnce"), hint: t("triggers.atOnceHint") },
          ]}
        />
      </Confirm>
      <Confirm open={asking === "remove"} onOpenChange={close} title={t("triggers.removeTitle", { id: g.id })} action={t("triggers.remove")} danger onConfirm={() => remove.mutate()}>
        <p>{t("triggers.removeHint")}</p>
      </Confirm>
    </Page>
  );
}

function Facts({ g }: { g: Trigger }) {
  const { t, number } = useLanguage();
  return (
    <dl className="flex flex-col gap-1.5">
      {g.description && <Fact name={t("automate.description")}>{g.description}</Fact>}
      <Fact name={t("automate.agent")}>
        <Link to="/agents/$id/$tab" params={{ id: g.run.agent_id, tab: "basics" }} className="link">
          {g.run.agent_id}
        </Link>
      </Fact>
      <Fact name={t("automate.message")}>
        <span className="prose-model">{messageOf(g.run)}</span>
      </Fact>
      <Fact name={t("triggers.threads")}>
        {g.thread_from ? (
          <>
            {t("triggers.sameThread")} <code className="mono">{g.thread_from}</code>
          </>
        ) : g.run.thread_id ? (
          <Link to="/threads/$id" params={{ id: g.run.thread_id }} className="link mono">
            {g.run.thread_id}
          </Link>
        ) : (
          t("triggers.newThreads")
        )}
      </Fact>
      {g.run.user_id && <Fact name={t("automate.user")}>{g.run.user_id}</Fact>}
      <Fact name={t("triggers.who")}>{t(g.require_signature ? "triggers.whoSigned" : "triggers.whoUrl")}</Fact>
      <Fact name={t("triggers.body")}>{g.trust_payload ? <span className="text-wait">{t("triggers.trustWarning")}</span> : t("triggers.isData")}</Fact>
      <Fact name={t("triggers.limits")}>{t("triggers.limitsOf", { n: g.per_minute ?? 60, kb: number((g.max_bytes ?? 65536) / 1024, { maximumFractionDigits: 1 }) })}</Fact>
      {g.former_until && (
        <Fact name={t("triggers.former")}>
          {t("triggers.formerUntil")} <Exactly at={g.former_until} zone={ownZone()} />
        </Fact>
      )}
      <Fact name={t("automate.secret")}>
        <span className="text-muted">{t("triggers.secretStored")}</span>
      </Fact>
    </dl>
  );
}

/** NewUrl makes another URL of a trigger, which may expire. */
function NewUrl({ g, close, done }: { g: Trigger; close: () => void; done: (opened: Opened) => void }) {
  const { t } = useLanguage();
  const [until, setUntil] = useState("");
  const make = useMutation({
    mutationFn: async () => {
      const { url } = await ask(api.POST("/v1/triggers/{trigger_id}/url", { params: { path: { trigger_id: g.id } }, body: { expires_at: until ? instantOf(until, ownZone()) : undefined } }));
      close();
      done({ title: t("triggers.urlMade"), url });
    },
  });
  return (
    <Overlay open onOpenChange={(o) => !o && close()} title={t("triggers.newUrl")} className="p-4">
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          make.mutate();
        }}
      >
        <h2 className="text-title font-semibold">{t("triggers.newUrl")}</h2>
        <p className="text-muted">{t("triggers.newUrlHint")}</p>
        <Labelled label={t("triggers.expires")} hint={t("triggers.expiresHint", { zone: ownZone() })} bad={make.error?.message}>
          {(props) => <input {...props} type="datetime-local" className="field w-full" value={until} onChange={(e) => setUntil(e.target.value)} />}
        </Labelled>
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{t("action.cancel")}</Button>
          <Button kind="primary" type="submit" disabled={make.isPending}>
            {t("triggers.makeUrl")}
          </Button>
        </div>
      </form>
    </Overlay>
  );
}

/** Try starts a run of a trigger, as a request of another system would. */
function Try({ g, close, done }: { g: Trigger; close: () => void; done: () => void }) {
  const { t } = useLanguage();
  const [payload, setPayload] = useState('{"version": "1.2.0"}');
  const go = useMutation({ mutationFn: () => ask(api.POST("/v1/triggers/{trigger_id}/run", { params: { path: { trigger_id: g.id } }, body: { payload } })), onSettled: done });
  return (
    <Overlay open onOpenChange={(o) => !o && close()} title={t("triggers.try")} className="p-4">
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          go.mutate();
        }}
      >
        <h2 className="text-title font-semibold">{t("triggers.try")}</h2>
        <p className="text-muted">{t("triggers.tryHint")}</p>
        <Labelled label={t("triggers.payload")} bad={go.error?.message}>
          {(props) => <textarea {...props} className="field mono w-full" rows={6} spellCheck={false} value={payload} onChange={(e) => setPayload(e.target.value)} />}
        </Labelled>
        {go.data && (
          <p role="status" className="flex flex-wrap items-center gap-2">
            <State of="started" /> <RunLink id={go.data.run_id} />
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{t("action.close")}</Button>
          <Button kind="primary" type="submit" disabled={go.isPending}>
            {t("triggers.go")}
          </Button>
        </div>
      </form>
    </Overlay>
  );
}

function Log({ id }: { id: string }) {
  const { t, number } = useLanguage();
  const query = useInfiniteQuery(triggerLog(id));
  return (
    <Pages
      query={query}
      label={t("triggers.log")}
      empty={
        <Empty title={t("triggers.noLog")} icon={Zap}>
          <p>{t("triggers.noLogHint")}</p>
        </Empty>
      }
    >
      {(item) => {
        const f = item as Firing;
        return (
          <li key={f.run_id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 py-2">
            <span className="flex w-24 shrink-0">
              <State of={f.outcome} />
            </span>
            <span className="w-52 shrink-0">
              <Exactly at={f.at} zone={ownZone()} />
            </span>
            <span className="min-w-0 flex-1 basis-60 [overflow-wrap:anywhere]">
              {f.outcome === "started" && <RunLink id={f.run_id} />} <span className="text-muted">{t("triggers.bytes", { n: number(f.bytes) })}</span>
              {f.request_id && (
                <span className="mono text-muted" title={t("triggers.requestName")}>
                  {" "}
                  {f.request_id}
                </span>
              )}
              {f.manual && <span className="text-muted"> {t("automate.byHand")}</span>}
              {f.reason && <span className="block text-fail">{f.reason}</span>}
            </span>
          </li>
        );
      }}
    </Pages>
  );
}
