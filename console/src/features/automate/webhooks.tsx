import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, TriangleAlert, Webhook as Icon } from "lucide-react";
import { useLanguage, type Key } from "../../app/i18n/i18n";
import { useMay, useSession } from "../../app/session";
import { Filter } from "../../ui/filter";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { primaryLink, State } from "./parts";
import { webhooksQuery, type Webhook } from "./queries";

/** Webhooks lists the webhooks: what is told about runs. */
export function Webhooks() {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const has = useSession()?.features.webhooks === true;
  return (
    <Page
      crumbs={[{ text: t("nav.webhooks") }]}
      actions={
        admin &&
        has && (
          <Link to="/webhooks/-/new" className={primaryLink}>
            <Plus aria-hidden className="size-3.5" />
            {t("webhooks.new")}
          </Link>
        )
      }
    >
      <Needs ability="admin">
        <Has feature="webhooks" setting="server.Config.Webhooks">
          <List />
        </Has>
      </Needs>
    </Page>
  );
}

/** useEvents says of what a webhook is told. */
export function useEvents() {
  const { t, locale } = useLanguage();
  return (w: Pick<Webhook, "events">) => ((w.events?.length ?? 0) === 0 ? t("webhooks.allEvents") : new Intl.ListFormat(locale, { type: "unit", style: "short" }).format(w.events!.map((e) => t(`webhooks.${e}` as Key))));
}

function List() {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const phone = usePhone();
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const query = useQuery(webhooksQuery);
  const all = query.data ?? [];
  const shown = all.filter((w) => `${w.id} ${w.description ?? ""} ${w.url} ${w.agents?.join(" ") ?? ""}`.toLowerCase().includes(q.toLowerCase()));
  return (
    <>
      {(all.length > 8 || q) && (
        <div role="search" aria-label={t("runs.filters")} className="border-b border-line px-4 py-2">
          <Filter label={t("connect.search")} value={q} onChange={(v) => void navigate({ to: "/webhooks", search: { q: v || undefined }, replace: true })} />
        </div>
      )}
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length ? t("runs.noMatch") : t("webhooks.empty")} icon={Icon}>
              {all.length ? (
                t("runs.noMatchHint")
              ) : (
                <>
                  <p>{t("webhooks.emptyHint")}</p>
                  <Link to="/webhooks/-/new" className={`${primaryLink} mt-3`}>
                    {t("webhooks.new")}
                  </Link>
                </>
              )}
            </Empty>
          ) : (
            <Rows items={shown} keyOf={(w) => w.id} height={phone ? 88 : 52} label={t("nav.webhooks")} open={(w) => void navigate({ to: "/webhooks/$id", params: { id: w.id } })} row={(w) => <Line w={w} phone={phone} />} />
          )
        }
      </Loaded>
    </>
  );
}

function Line({ w, phone }: { w: Webhook; phone: boolean }) {
  const { t } = useLanguage();
  const events = useEvents()(w);
  const agents = w.agents?.length ? w.agents.join(", ") : t("webhooks.allAgents");
  const name = (
    <Link to="/webhooks/$id" params={{ id: w.id }} className="truncate font-medium hover:underline" title={w.description || w.id}>
      {w.id}
    </Link>
  );
  const state = (
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
  if (phone) {
    return (
      <div className="flex h-full flex-col justify-center gap-0.5 px-4">
        <div className="flex items-center justify-between gap-3">
          {name}
          {state}
        </div>
        <span className="truncate">{w.url}</span>
        <span className="truncate text-muted">
          {events} · {agents}
        </span>
      </div>
    );
  }
  return (
    <div className="grid h-full grid-cols-[minmax(8rem,12rem)_minmax(10rem,1fr)_minmax(8rem,14rem)_minmax(6rem,10rem)_minmax(6rem,13rem)] items-center gap-3 px-4">
      {name}
      <span className="truncate" title={w.url}>
        {w.url}
      </span>
      <span className="truncate text-muted" title={events}>
        {events}
      </span>
      <span className="truncate text-muted" title={agents}>
        {agents}
      </span>
      <span className="min-w-0">
        {state}
        {w.paused_reason && (
          <span className="block truncate text-dense text-muted" title={w.paused_reason}>
            {w.paused_reason}
          </span>
        )}
      </span>
    </div>
  );
}
