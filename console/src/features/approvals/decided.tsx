import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Check, Download, X } from "lucide-react";
import { useMemo, useState } from "react";
import type { components } from "../../api/schema";
import { useLanguage, type Key } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { Aside } from "../../ui/aside";
import { Button } from "../../ui/button";
import { Filter } from "../../ui/filter";
import { short } from "../../ui/id";
import { Json } from "../../ui/json";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { save } from "../../ui/save";
import { useWho } from "../../ui/settle";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { decisionsQuery, type ApprovalFilter } from "./queries";

type Decided = components["schemas"]["Decided"];

const columns = "grid-cols-[9.5rem_minmax(0,1fr)_minmax(0,1fr)_minmax(0,1.6fr)_6rem_4rem]";

/** Ledger lists what was decided, by whom and why, the newest first. It can be saved. */
export function Ledger() {
  const { t } = useLanguage();
  const who = useWho();
  const search: ApprovalFilter = useSearch({ strict: false });
  const navigate = useNavigate();
  const polling = usePolling();
  const phone = usePhone();
  const query = useInfiniteQuery({ ...decisionsQuery({ tool: search.tool, actor: search.actor }), refetchInterval: polling });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const [open, setOpen] = useState("");
  const shown = items.find((d) => keyOf(d) === open);
  const set = (change: ApprovalFilter) => void navigate({ to: "/approvals", search: (s: ApprovalFilter) => ({ ...s, ...change }), replace: true });
  const filtered = Boolean(search.tool || search.actor);
  return (
    <>
      <div role="search" aria-label={t("runs.filters")} className="flex flex-wrap gap-2 border-b border-line px-4 py-2">
        <Filter value={search.tool ?? ""} onChange={(v) => set({ tool: v || undefined })} label={t("approvals.tool")} />
        <Filter value={search.actor ?? ""} onChange={(v) => set({ actor: v || undefined })} label={t("approvals.who")} />
        {items.length > 0 && (
          <Button className="ml-auto" onClick={() => save("decisions.ndjson", items.map((d) => JSON.stringify(d)).join("\n") + "\n", "application/x-ndjson")}>
            <Download aria-hidden className="size-3.5" />
            {t("action.export")}
          </Button>
        )}
      </div>
      <Loaded query={query} rows={10}>
        {() =>
          items.length === 0 ? (
            <Empty title={t(filtered ? "runs.noMatch" : "approvals.noneDecided")} icon={Check}>
              {t(filtered ? "approvals.exactHint" : "approvals.noneDecidedHint")}
            </Empty>
          ) : (
            <div className="flex min-h-0 flex-1 max-lg:flex-col">
              <div className="flex min-h-0 min-w-0 flex-1 flex-col">
                {!phone && (
                  <div aria-hidden className={`grid ${columns} gap-3 border-b border-line px-4 py-1 text-caption text-muted`}>
                    <span>{t("approvals.decision")}</span>
                    <span>{t("approvals.tool")}</span>
                    <span>{t("approvals.who")}</span>
                    <span>{t("approvals.reason")}</span>
                    <span>{t("runs.run")}</span>
                    <span className="text-right">{t("runs.age")}</span>
                  </div>
                )}
                <Rows
                  items={items}
                  keyOf={keyOf}
                  height={phone ? 84 : 36}
                  label={t("approvals.decided")}
                  more={query.hasNextPage && !query.isFetching ? () => void query.fetchNextPage() : undefined}
                  open={(d) => setOpen(keyOf(d) === open ? "" : keyOf(d))}
                  row={(d) => (phone ? <Card decision={d} /> : <Line decision={d} open={() => setOpen(keyOf(d))} />)}
                />
              </div>
              {shown && (
                <Aside label={t("run.detail")} title={shown.tool_name} close={() => setOpen("")} width="max-lg:max-h-1/2 max-lg:border-t lg:w-[24rem]">
                  <div className="p-4">
                    <p className="mb-2">
                      <Verdict decision={shown} /> · {who(shown.actor)}
                    </p>
                    {shown.reason && <p className="mb-2 [overflow-wrap:anywhere]">{shown.reason}</p>}
                    {shown.remembered && <p className="mb-2 text-muted">{t("approvals.remembered", { scope: t(`remember.${shown.remembered}` as Key) })}</p>}
                    {shown.applied === false && <p className="mb-2 text-wait">{t("approvals.unapplied", { reason: shown.unapplied_reason ?? "" })}</p>}
                    <Json value={shown} label={t("run.detail")} />
                  </div>
                </Aside>
              )}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

const keyOf = (d: Decided) => `${d.run_id}/${d.ticket_id}/${d.at}`;

function Verdict({ decision: d }: { decision: Decided }) {
  const { t } = useLanguage();
  const yes = d.outcome ? d.outcome === "made" : d.action === "resume";
  const Icon = yes ? Check : X;
  const word: Key = d.outcome ? (yes ? "settle.wasMade" : "settle.wasNotMade") : !yes ? "call.refused" : d.payload !== undefined && !d.remembered ? "approvals.answered" : d.arguments !== undefined ? "approvals.approvedEdited" : "call.approved";
  return (
    <span className={`inline-flex items-center gap-1 font-medium whitespace-nowrap ${yes ? "text-ok" : "text-idle"}`}>
      <Icon aria-hidden className="size-3.5 shrink-0" />
      {t(word)}
    </span>
  );
}

function Line({ decision: d, open }: { decision: Decided; open: () => void }) {
  const { t } = useLanguage();
  const who = useWho();
  return (
    <div className={`grid h-full ${columns} items-center gap-3 px-4`}>
      <Verdict decision={d} />
      <button type="button" className="mono truncate text-left hover:underline" onClick={open}>
        {d.tool_name}
      </button>
      <span className="truncate">{who(d.actor)}</span>
      <span className="truncate text-muted" title={d.reason}>
        {d.applied === false ? <span className="text-wait">{t("approvals.unapplied", { reason: d.unapplied_reason ?? "" })}</span> : d.reason}
      </span>
      <Link to="/runs/$id/calls/$call" params={{ id: d.run_id, call: d.tool_call_id }} className="mono link truncate">
        {short(d.run_id)}
      </Link>
      <span className="text-right text-muted">
        <Ago at={d.at} />
      </span>
    </div>
  );
}

function Card({ decision: d }: { decision: Decided }) {
  const who = useWho();
  return (
    <div className="flex h-full flex-col justify-center gap-0.5 px-4">
      <div className="flex items-center gap-2">
        <Verdict decision={d} />
        <Link to="/runs/$id/calls/$call" params={{ id: d.run_id, call: d.tool_call_id }} className="mono link truncate">
          {d.tool_name}
        </Link>
        <span className="ml-auto text-muted">
          <Ago at={d.at} />
        </span>
      </div>
      <span className="truncate">{who(d.actor)}</span>
      <span className="truncate text-muted">{d.reason}</span>
    </div>
  );
}
