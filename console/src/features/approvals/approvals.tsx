import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Hand, ShieldAlert } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useLanguage, type Key } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { Check, Choice, Filters } from "../../ui/filter";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";
import { Card } from "./card";
import { Ledger } from "./decided";
import { approvalsQuery, keyOf, ticketOf, type Approval, type ApprovalFilter } from "./queries";
import { like, plain, Several } from "./several";

const reasons = ["tool_permission", "user_input", "budget_exhausted", "pin_unavailable", "restored"];

/** Approvals shows what waits for a person, or what was decided. */
export function Approvals() {
  const { t } = useLanguage();
  const { view } = useSearch({ strict: false }) as ApprovalFilter;
  const { run } = useParams({ strict: false }) as { run?: string };
  if (view !== "decided" || run) return <Waiting />;
  return (
    <Page crumbs={[{ text: t("nav.approvals") }]} actions={<Views view="decided" />}>
      <Ledger />
    </Page>
  );
}

function Views({ view }: { view: "waiting" | "decided" }) {
  const { t } = useLanguage();
  return (
    <nav aria-label={t("queue.view")} className="inline-flex rounded-md border border-border">
      {(["waiting", "decided"] as const).map((v) => (
        <Link key={v} to="/approvals" search={{ view: v === "decided" ? v : undefined }} activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }} data-on={v === view} className="touch inline-flex min-h-8 items-center px-3 first:rounded-l-[5px] last:rounded-r-[5px] data-[on=true]:bg-accent data-[on=true]:font-medium data-[on=true]:text-on-accent">
          {t(`approvals.${v === "waiting" ? "open" : v}`)}
        </Link>
      ))}
    </nav>
  );
}

/** Waiting lists what waits for a person, the oldest first, beside the question that is open. On a phone it is one or the other. */
function Waiting() {
  const { t } = useLanguage();
  const filter: ApprovalFilter = useSearch({ strict: false });
  const { run, ticket } = useParams({ strict: false }) as { run?: string; ticket?: string };
  const polling = usePolling(3000);
  const phone = usePhone();
  const navigate = useNavigate();
  const query = useInfiniteQuery({ ...approvalsQuery(filter), refetchInterval: polling });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  // A question stays open when it leaves the list, so that its reader sees what became of it.
  const key = run !== undefined && ticket !== undefined ? `${run}/${ticket}` : "";
  const found = items.find((a) => keyOf(a) === key);
  const [kept, setKept] = useState<Approval>();
  useEffect(() => {
    if (found) setKept(found);
  }, [found]);
  const first = phone ? undefined : items[0];
  const open = key ? (found ?? (kept && keyOf(kept) === key ? kept : undefined)) : first;
  const total = query.data?.pages[0]?.total ?? 0;
  const set = (change: ApprovalFilter) => void navigate({ to: "/approvals", search: (s: ApprovalFilter) => ({ ...s, ...change }), replace: true });
  const { fetchNextPage, hasNextPage, isFetching } = query;
  useEffect(() => {
    if (key && !found && hasNextPage && !isFetching) void fetchNextPage(); // an address names a question on a later page
  }, [key, found, hasNextPage, isFetching, fetchNextPage]);
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const [selecting, setSelecting] = useState(false);
  const chosen = items.filter((a) => keys.has(keyOf(a)));
  const known = (name: "agent_id" | "tool_name") => [...new Set(items.map((a) => a[name]).filter(Boolean))].sort().map((v) => ({ value: v, text: v }));
  return (
    <Page
      crumbs={phone && key ? [{ text: t("nav.approvals"), to: "/approvals" }, { text: open?.tool_name ?? "" }] : [{ text: t("nav.approvals") }]}
      badge={
        !(phone && key) &&
        total > 0 && (
          <span className="text-wait">
            {t("approvals.waiting", { n: total })}
            {items[0] && (
              <>
                {" · "}
                {t("approvals.oldest")} <Ago at={items[0].requested_at} />
              </>
            )}
          </span>
        )
      }
      actions={!(phone && key) && <Views view="waiting" />}
    >
      {!(phone && key) && (
        <Filters
          active={[filter.agent_id, filter.tool, filter.reason].filter(Boolean).length}
          clear={() => set({ agent_id: undefined, tool: undefined, reason: undefined })}
          end={
            items.some(plain) && (
              <Check
                label={t("approvals.several")}
                checked={selecting}
                onChange={(on) => {
                  setSelecting(on);
                  setKeys(new Set());
                }}
              />
            )
          }
        >
          <Choice label={t("runs.agent")} value={filter.agent_id ?? ""} onChange={(v) => set({ agent_id: v || undefined })} options={known("agent_id")} />
          <Choice label={t("approvals.tool")} value={filter.tool ?? ""} onChange={(v) => set({ tool: v || undefined })} options={known("tool_name")} />
          <Choice label={t("approvals.reason")} value={filter.reason ?? ""} onChange={(v) => set({ reason: v || undefined })} options={reasons.map((r) => ({ value: r, text: t(`reason.${r}` as Key) }))} />
        </Filters>
      )}
      {!(phone && key) && <Several chosen={chosen} clear={() => setKeys(new Set())} />}
      <Loaded query={query}>
        {() =>
          items.length === 0 && !open ? (
            <Empty title={Object.keys(filter).length ? t("runs.noMatch") : t("approvals.empty")} icon={Hand}>
              {t("approvals.emptyHint")}
            </Empty>
          ) : (
            <div className="flex min-h-0 flex-1">
              {!(phone && key) && (
                <ul aria-label={t("nav.approvals")} className="w-full min-w-0 shrink-0 overflow-auto border-line md:w-80 md:border-r">
                  {items.map((a) => (
                    <li key={keyOf(a)} className="flex">
                      {selecting && <Pick approval={a} first={chosen[0]} picked={keys.has(keyOf(a))} pick={(on) => setKeys(on ? new Set([...keys, keyOf(a)]) : new Set([...keys].filter((k) => k !== keyOf(a))))} />}
                      <Link
                        to="/approvals/$run/$ticket"
                        params={{ run: a.run_id, ticket: ticketOf(a) }}
                        search={filter}
                        replace={!phone}
                        aria-current={open && keyOf(open) === keyOf(a) ? "true" : undefined}
                        className="row-link flex min-h-16 min-w-0 flex-1 flex-col justify-center gap-0.5 border-b border-line px-4 py-2 aria-[current]:bg-sunken"
                      >
                        <span className="flex items-center gap-2">
                          <span className="mono truncate font-medium">{a.tool_name || t(`reason.${a.waiting_reason}` as Key)}</span>
                          {a.effect === "effectful" && <ShieldAlert aria-label={t("effect.effectful")} className="size-3.5 shrink-0 text-wait" />}
                          <span className="ml-auto text-muted">
                            <Ago at={a.requested_at} />
                          </span>
                        </span>
                        <span className="truncate text-muted">
                          {a.agent_id} · {a.reason ?? a.suspension?.message ?? ""}
                        </span>
                      </Link>
                    </li>
                  ))}
                  {hasNextPage && (
                    <li className="p-3 text-center">
                      <button type="button" className="link" onClick={() => void fetchNextPage()}>
                        {t("action.more")}
                      </button>
                    </li>
                  )}
                </ul>
              )}
              {(!phone || key) && (
                <div className="min-w-0 flex-1 overflow-auto">
                  {open ? (
                    <Card key={keyOf(open)} approval={open} gone={key !== "" && !found} next={items.find((a) => keyOf(a) !== keyOf(open))} />
                  ) : (
                    <Empty title={t("approvals.gone")} icon={Hand}>
                      {run && (
                        <Link to="/runs/$id" params={{ id: run }} className="link">
                          {t("approvals.toRun")}
                        </Link>
                      )}
                    </Empty>
                  )}
                </div>
              )}
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}

/** Pick chooses a question. Only those that are like the first one can be decided together. */
function Pick({ approval: a, first, picked, pick }: { approval: Approval; first?: Approval; picked: boolean; pick: (on: boolean) => void }) {
  const { t } = useLanguage();
  const why = !plain(a) ? t("approvals.alone") : first && !like(a, first) ? t("approvals.notAlike") : undefined;
  return (
    <label className="flex w-10 shrink-0 items-center justify-center border-b border-line" title={why}>
      <input type="checkbox" checked={picked} disabled={why !== undefined} onChange={(e) => pick(e.target.checked)} aria-label={t("queue.select", { id: a.tool_name || a.waiting_reason })} />
    </label>
  );
}
