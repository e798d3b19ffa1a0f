import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Zap } from "lucide-react";
import { useLanguage } from "../../i18n/i18n";
import { ShortList, type Column } from "../../ui/list";
import { AdminPage } from "../../ui/needs";
import { primaryLink, State, Tall } from "./parts";
import { triggersQuery, type Trigger } from "./queries";
import { messageOf } from "./template";

/** Triggers lists the triggers: what lets other systems start runs. */
export function Triggers() {
  const { t } = useLanguage();
  return (
    <AdminPage
      crumbs={[{ text: t("nav.triggers") }]}
      feature="triggers"
      setting="server.Config.Triggers"
      actions={
        <Link to="/triggers/-/new" className={primaryLink}>
          <Plus aria-hidden className="size-3.5" />
          {t("triggers.new")}
        </Link>
      }
    >
      <Found />
    </AdminPage>
  );
}

function Found() {
  const { t } = useLanguage();
  const name = (g: Trigger) => (
    <Link to="/triggers/$id" params={{ id: g.id }} className="truncate font-medium hover:underline" title={g.description || g.id}>
      {g.id}
    </Link>
  );
  const text = (g: Trigger) => g.description || messageOf(g.run);
  const how = (g: Trigger) => t(g.require_signature ? "triggers.signedOnly" : "triggers.byUrl");
  const state = (g: Trigger) => <State of={g.paused ? "paused" : "active"} />;
  const columns: Column<Trigger>[] = [
    { word: "automate.name", width: "minmax(8rem,14rem)", look: "flex", cell: name },
    { word: "runs.agent", width: "minmax(6rem,10rem)", look: "truncate text-muted", cell: (g) => g.run.agent_id },
    { word: "automate.message", width: "minmax(10rem,1fr)", cell: (g) => <span title={text(g)}>{text(g)}</span> },
    {
      word: "triggers.who",
      width: "minmax(8rem,12rem)",
      look: "",
      cell: (g) => (
        <>
          <span className="block truncate text-muted">{how(g)}</span>
          {g.trust_payload && <span className="block truncate text-dense text-wait">{t("triggers.trusted")}</span>}
        </>
      ),
    },
    { word: "triggers.limits", width: "7rem", look: "truncate text-muted", cell: (g) => t("triggers.aMinute", { n: g.per_minute ?? 60 }) },
    { word: "runs.status", width: "6rem", look: "flex", cell: state },
  ];
  return (
    <ShortList
      to="/triggers"
      query={useQuery(triggersQuery)}
      textOf={(g) => `${g.id} ${g.description ?? ""} ${g.run.agent_id}`}
      label={t("nav.triggers")}
      columns={columns}
      heights={[52, 88]}
      empty={{
        title: "triggers.empty",
        icon: Zap,
        hint: (
          <>
            <p>{t("triggers.emptyHint")}</p>
            <Link to="/triggers/-/new" className={`${primaryLink} mt-3`}>
              {t("triggers.new")}
            </Link>
          </>
        ),
      }}
      card={(g) => (
        <Tall name={name(g)} state={state(g)} says={text(g)}>
          {g.run.agent_id} · {how(g)}
        </Tall>
      )}
    />
  );
}
