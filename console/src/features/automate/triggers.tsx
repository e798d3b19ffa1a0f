import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Zap } from "lucide-react";
import { useLanguage } from "../../app/i18n/i18n";
import { useMay, useSession } from "../../app/session";
import { Filter } from "../../ui/filter";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { primaryLink, State } from "./parts";
import { triggersQuery, type Trigger } from "./queries";
import { messageOf } from "./template";

/** Triggers lists the triggers: what lets other systems start runs. */
export function Triggers() {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const has = useSession()?.features.triggers === true;
  return (
    <Page
      crumbs={[{ text: t("nav.triggers") }]}
      actions={
        admin &&
        has && (
          <Link to="/triggers/-/new" className={primaryLink}>
            <Plus aria-hidden className="size-3.5" />
            {t("triggers.new")}
          </Link>
        )
      }
    >
      <Needs ability="admin">
        <Has feature="triggers" setting="server.Config.Triggers">
          <List />
        </Has>
      </Needs>
    </Page>
  );
}

function List() {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const phone = usePhone();
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const query = useQuery(triggersQuery);
  const all = query.data ?? [];
  const shown = all.filter((g) => `${g.id} ${g.description ?? ""} ${g.run.agent_id}`.toLowerCase().includes(q.toLowerCase()));
  return (
    <>
      {(all.length > 8 || q) && (
        <div role="search" aria-label={t("runs.filters")} className="border-b border-line px-4 py-2">
          <Filter label={t("connect.search")} value={q} onChange={(v) => void navigate({ to: "/triggers", search: { q: v || undefined }, replace: true })} />
        </div>
      )}
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length ? t("runs.noMatch") : t("triggers.empty")} icon={Zap}>
              {all.length ? (
                t("runs.noMatchHint")
              ) : (
                <>
                  <p>{t("triggers.emptyHint")}</p>
                  <Link to="/triggers/-/new" className={`${primaryLink} mt-3`}>
                    {t("triggers.new")}
                  </Link>
                </>
              )}
            </Empty>
          ) : (
            <Rows items={shown} keyOf={(g) => g.id} height={phone ? 88 : 52} label={t("nav.triggers")} open={(g) => void navigate({ to: "/triggers/$id", params: { id: g.id } })} row={(g) => <Line g={g} phone={phone} />} />
          )
        }
      </Loaded>
    </>
  );
}

function Line({ g, phone }: { g: Trigger; phone: boolean }) {
  const { t } = useLanguage();
  const name = (
    <Link to="/triggers/$id" params={{ id: g.id }} className="truncate font-medium hover:underline" title={g.description || g.id}>
      {g.id}
    </Link>
  );
  const text = g.description || messageOf(g.run);
  const how = t(g.require_signature ? "triggers.signedOnly" : "triggers.byUrl");
  if (phone) {
    return (
      <div className="flex h-full flex-col justify-center gap-0.5 px-4">
        <div className="flex items-center justify-between gap-3">
          {name}
          <State of={g.paused ? "paused" : "active"} />
        </div>
        <span className="truncate">{text}</span>
        <span className="truncate text-muted">
          {g.run.agent_id} · {how}
        </span>
      </div>
    );
  }
  return (
    <div className="grid h-full grid-cols-[minmax(8rem,14rem)_minmax(6rem,10rem)_minmax(10rem,1fr)_minmax(8rem,12rem)_7rem_6rem] items-center gap-3 px-4">
      {name}
      <span className="truncate text-muted">{g.run.agent_id}</span>
      <span className="truncate" title={text}>
        {text}
      </span>
      <span className="min-w-0">
        <span className="block truncate text-muted">{how}</span>
        {g.trust_payload && <span className="block truncate text-dense text-wait">{t("triggers.trusted")}</span>}
      </span>
      <span className="truncate text-muted">{t("triggers.aMinute", { n: g.per_minute ?? 60 })}</span>
      <State of={g.paused ? "paused" : "active"} />
    </div>
  );
}
