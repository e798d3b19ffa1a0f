import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, TriangleAlert, Webhook as Icon } from "lucide-react";
import { useLanguage, type Key } from "../../i18n/i18n";
import { ShortList, type Column } from "../../ui/list";
import { AdminPage } from "../../ui/needs";
import { primaryLink, State, Tall } from "./parts";
import { webhooksQuery, type Webhook } from "./queries";

/** Webhooks lists the webhooks: what is told about runs. */
export function Webhooks() {
  const { t } = useLanguage();
  return (
    <AdminPage
      crumbs={[{ text: t("nav.webhooks") }]}
      feature="webhooks"
      setting="server.Config.Webhooks"
      actions={
        <Link to="/webhooks/-/new" className={primaryLink}>
          <Plus aria-hidden className="size-3.5" />
          {t("webhooks.new")}
        </Link>
      }
    >
      <Found />
    </AdminPage>
  );
}

/** useEvents says of what a webhook is told. */
export function useEvents() {
  const { t, locale } = useLanguage();
  return (w: Pick<Webhook, "events">) => ((w.events?.length ?? 0) === 0 ? t("webhooks.allEvents") : new Intl.ListFormat(locale, { type: "unit", style: "short" }).format(w.events!.map((e) => t(`webhooks.${e}` as Key))));
}

function Found() {
  const { t } = useLanguage();
  const events = useEvents();
  const name = (w: Webhook) => (
    <Link to="/webhooks/$id" params={{ id: w.id }} className="truncate font-medium hover:underline" title={w.description || w.id}>
      {w.id}
    </Link>
  );
  const agents = (w: Webhook) => (w.agents?.length ? w.agents.join(", ") : t("webhooks.allAgents"));
  const state = (w: Webhook) => (
    <span className="flex min-w-0 items-center gap-2">
      <State of={w.paused ? "paused" : "active"} />
      {w.lost && (
        <span title={w.lost} className="text-wait">
          <TriangleAlert aria-hidden className="size-3.5" />
          <span className="sr-only">{t("webhooks.lost")}</span>
        </span>
      )}
    </span>
  );
  const columns: Column<Webhook>[] = [
    { word: "automate.name", width: "minmax(8rem,12rem)", look: "flex", cell: name },
    { word: "webhooks.url", width: "minmax(10rem,1fr)", cell: (w) => <span title={w.url}>{w.url}</span> },
    { word: "webhooks.events", width: "minmax(8rem,14rem)", look: "truncate text-muted", cell: (w) => <span title={events(w)}>{events(w)}</span> },
    { word: "nav.agents", width: "minmax(6rem,10rem)", look: "truncate text-muted", cell: (w) => <span title={agents(w)}>{agents(w)}</span> },
    {
      word: "runs.status",
      width: "minmax(6rem,13rem)",
      look: "",
      cell: (w) => (
        <>
          {state(w)}
          {w.paused_reason && (
            <span className="block truncate text-dense text-muted" title={w.paused_reason}>
              {w.paused_reason}
            </span>
          )}
        </>
      ),
    },
  ];
  return (
    <ShortList
      to="/webhooks"
      query={useQuery(webhooksQuery)}
      textOf={(w) => `${w.id} ${w.description ?? ""} ${w.url} ${w.agents?.join(" ") ?? ""}`}
      label={t("nav.webhooks")}
      columns={columns}
      heights={[52, 88]}
      empty={{
        title: "webhooks.empty",
        icon: Icon,
        hint: (
          <>
            <p>{t("webhooks.emptyHint")}</p>
            <Link to="/webhooks/-/new" className={`${primaryLink} mt-3`}>
              {t("webhooks.new")}
            </Link>
          </>
        ),
      }}
      card={(w) => (
        <Tall name={name(w)} state={state(w)} says={w.url}>
          {events(w)} · {agents(w)}
        </Tall>
      )}
    />
  );
}
