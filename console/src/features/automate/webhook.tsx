import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Pause, Pencil, Play, RotateCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { useTold } from "../../ui/savebar";
import { Empty, Failure, Skeleton } from "../../ui/state";
import { Ago } from "../../ui/time";
import { Fact, Once, Pages, plainLink, RunLink, Said, Secret, State, When } from "./parts";
import { deliveriesQuery, webhookQuery, type Attempt, type Delivery, type Webhook } from "./queries";
import { useEvents } from "./webhooks";

/** WebhookPage shows a webhook: what it is told, and whether it accepted that. */
export function WebhookPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <Needs ability="admin">
      <Has feature="webhooks" setting="server.Config.Webhooks">
        <Shown key={id} id={id} />
      </Has>
    </Needs>
  );
}

function Shown({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useQuery(webhookQuery(id));
  const crumbs = [{ text: t("nav.webhooks"), to: "/webhooks" }, { text: id }];
  const w = query.data;
  if (!w) return <Page crumbs={crumbs}>{query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />}</Page>;
  return <One w={w} crumbs={crumbs} />;
}

function One({ w, crumbs }: { w: Webhook; crumbs: { text: string; to?: string }[] }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [asking, setAsking] = useState<"remove" | "rotate">();
  const [secret, setSecret] = useState(""); // shown once; only this page has it
  const [told] = useTold(`webhooks/${w.id}`);
  const params = { path: { webhook_id: w.id } };
  const refresh = () => {
    for (const kind of ["one", "deliveries"]) void client.invalidateQueries({ queryKey: ["webhooks", kind, w.id] });
    void client.invalidateQueries({ queryKey: ["webhooks", "list"] });
  };
  const pause = useMutation({
    mutationFn: async () => {
      const { url, description, events, agents, children, paused, revision } = await ask(api.GET("/v1/webhooks/{webhook_id}", { params }));
      await ask(api.PUT("/v1/webhooks/{webhook_id}", { params, body: { url, description, events, agents, children, paused: !paused, expected_revision: revision } }));
    },
    onSettled: refresh,
  });
  const test = useMutation({ mutationFn: () => ask(api.POST("/v1/webhooks/{webhook_id}/test", { params })) });
  const rotate = useMutation({
    mutationFn: async () => {
      setSecret((await ask(api.POST("/v1/webhooks/{webhook_id}/rotate", { params }))).secret ?? "");
    },
    onSettled: refresh,
  });
  const remove = useMutation({
    mutationFn: () => api.DELETE("/v1/webhooks/{webhook_id}", { params }),
    onSuccess: async () => {
      await navigate({ to: "/webhooks" });
      client.removeQueries({ queryKey: ["webhooks", "one", w.id] });
      void client.invalidateQueries({ queryKey: ["webhooks", "list"] });
    },
  });
  const error = test.error ?? pause.error ?? rotate.error ?? remove.error;
  const events = useEvents()(w);
  return (
    <Page
      crumbs={crumbs}
      badge={<State of={w.paused ? "paused" : "active"} />}
      actions={
        <span className="flex flex-wrap items-center justify-end gap-2">
          <Button kind="quiet" aria-label={t("webhooks.remove")} title={t("webhooks.remove")} onClick={() => setAsking("remove")}>
            <Trash2 aria-hidden className="size-3.5" />
          </Button>
          <Button onClick={() => setAsking("rotate")} disabled={rotate.isPending}>
            <RotateCw aria-hidden className="size-3.5" />
            {t("automate.rotate")}
          </Button>
          <Button disabled={pause.isPending} onClick={() => pause.mutate()}>
            {w.paused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
            {t(w.paused ? "automate.resume" : "automate.pause")}
          </Button>
          <Link to="/webhooks/$id/edit" params={{ id: w.id }} className={plainLink}>
            <Pencil aria-hidden className="size-3.5" />
            {t("automate.edit")}
          </Link>
          <Button kind="primary" disabled={test.isPending} onClick={() => test.mutate()}>
            <Send aria-hidden className="size-3.5" />
            {t(test.isPending ? "webhooks.testing" : "webhooks.test")}
          </Button>
        </span>
      }
    >
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="flex max-w-4xl flex-col gap-6 p-4">
          {w.paused && w.paused_reason && (
            <div className="rounded-md border border-l-4 border-line border-l-wait bg-panel px-3 py-2">
              <p className="font-medium">{t("webhooks.pausedBy")}</p>
              <p className="text-muted [overflow-wrap:anywhere]">{w.paused_reason}</p>
            </div>
          )}
          {w.lost && (
            <div className="rounded-md border border-l-4 border-line border-l-fail bg-panel px-3 py-2">
              <p className="font-medium">{t("webhooks.lost")}</p>
              <p className="text-muted [overflow-wrap:anywhere]">{w.lost}</p>
            </div>
          )}
          <Said error={error}>
            {test.data ? (
              <>
                <span className="text-muted">{t("webhooks.testSaid")}</span>
                <Result a={test.data} />
              </>
            ) : (
              told && <span className="text-ok">{told}</span>
            )}
          </Said>
          <dl className="flex flex-col gap-1.5">
            {w.description && <Fact name={t("automate.description")}>{w.description}</Fact>}
            <Fact name={t("webhooks.url")}>
              <span className="mono">{w.url}</span>
            </Fact>
            <Fact name={t("webhooks.events")}>{events}</Fact>
            <Fact name={t("nav.agents")}>{w.agents?.length ? w.agents.join(", ") : t("webhooks.allAgents")}</Fact>
            <Fact name={t("webhooks.children")}>{t(w.children ? "webhooks.withChildren" : "webhooks.noChildren")}</Fact>
            <Fact name={t("automate.secret")}>
              <span className="text-muted">{t("webhooks.secretStored")}</span>
            </Fact>
          </dl>
          <section aria-labelledby="deliveries">
            <h2 id="deliveries" className="mb-2 font-semibold">
              {t("webhooks.deliveries")}
            </h2>
            <Deliveries id={w.id} />
          </section>
        </div>
      </div>
      {secret && (
        <Once title={t("webhooks.newSecret")} close={() => setSecret("")}>
          <Secret label={t("automate.secret")} text={secret} hint={t("webhooks.bothHint")} />
        </Once>
      )}
      <Confirm open={asking === "rotate"} onOpenChange={() => setAsking(undefined)} title={t("automate.rotateTitle", { id: w.id })} action={t("automate.rotate")} onConfirm={() => rotate.mutate()}>
        <p>{t("webhooks.rotateHint")}</p>
      </Confirm>
      <Confirm open={asking === "remove"} onOpenChange={() => setAsking(undefined)} title={t("webhooks.removeTitle", { id: w.id })} action={t("webhooks.remove")} danger onConfirm={() => remove.mutate()}>
        <p>{t("webhooks.removeHint")}</p>
      </Confirm>
    </Page>
  );
}

/** Result says what a receiver answered. */
function Result({ a }: { a: Attempt }) {
  const { t, span } = useLanguage();
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-2">
      <State of={a.error ? "failed" : "accepted"} />
      {a.status ? <span className="mono">{a.status}</span> : null}
      <span className="text-muted">{t("webhooks.took", { time: span(a.took_ms) })}</span>
      {a.error && a.error !== `status ${a.status}` && <span className="text-fail [overflow-wrap:anywhere]">{a.error}</span>}
    </span>
  );
}

function Deliveries({ id }: { id: string }) {
  const { t } = useLanguage();
  const query = useInfiniteQuery(deliveriesQuery(id));
  return (
    <Pages
      query={query}
      label={t("webhooks.deliveries")}
      empty={
        <Empty title={t("webhooks.noDeliveries")} icon={Send}>
          <p>{t("webhooks.noDeliveriesHint")}</p>
        </Empty>
      }
    >
      {(item) => <OfRun key={(item as Delivery).run_id} id={id} d={item as Delivery} />}
    </Pages>
  );
}

/** OfRun shows what a webhook was told of a run, with its attempts. */
function OfRun({ id, d }: { id: string; d: Delivery }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: (from: number) => api.POST("/v1/webhooks/{webhook_id}/redeliver", { params: { path: { webhook_id: id } }, body: { run_id: d.run_id, from } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["webhooks", "deliveries", id] }),
  });
  const last = d.attempts.at(-1);
  return (
    <li className="flex flex-col gap-1 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <RunLink id={d.run_id} />
        {last && <Result a={last} />}
        {d.delivered > 0 && <span className="text-muted">{t("webhooks.delivered", { n: d.delivered })}</span>}
        {d.next_at && (
          <span className="text-wait">
            {t("webhooks.nextTry")} <When at={d.next_at} />
          </span>
        )}
        {d.ended && <span className="text-muted [overflow-wrap:anywhere]">{d.ended === "delivered" ? t("webhooks.allSent") : d.ended}</span>}
        <Button className="ml-auto" disabled={again.isPending} aria-label={t("webhooks.againRun", { id: d.run_id })} onClick={() => again.mutate(1)}>
          <RotateCw aria-hidden className="size-3.5" />
          {t("webhooks.again")}
        </Button>
      </div>
      <Said error={again.error}>{again.isSuccess && <span className="text-ok">{t("webhooks.queued")}</span>}</Said>
      {d.attempts.length > 0 && (
        <details>
          <summary className="touch cursor-pointer py-1 text-muted">{t("webhooks.attempts", { n: d.attempts.length })}</summary>
          <ol className="flex flex-col gap-1 py-1 pl-4">
            {d.attempts.toReversed().map((a, i) => (
              <li key={i} className="flex flex-wrap items-center gap-x-3">
                <span className="w-24 shrink-0">{t("webhooks.message", { n: a.message })}</span>
                <span className="w-12 shrink-0 text-muted">
                  <Ago at={a.at} />
                </span>
                <Result a={a} />
                <button type="button" className="link min-h-6" disabled={again.isPending} onClick={() => again.mutate(a.message)}>
                  {t("webhooks.fromHere")}
                </button>
              </li>
            ))}
          </ol>
        </details>
      )}
    </li>
  );
}
