import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { toMs } from "../../api/time";
import { useLanguage } from "../../i18n/i18n";
import { usePolling } from "../../live/live";
import { Check } from "../../ui/filter";
import { short } from "../../ui/id";
import { Card, chosen, List, ListFilters, type By, type Column } from "../../ui/list";
import { Page } from "../../ui/page";
import { Restored } from "../../ui/restored";
import { useRunFilters } from "../../ui/runfilter";
import { Badge, lookOfRun, stateOf } from "../../ui/status";
import { Ago } from "../../ui/time";
import { runsQuery, type Run } from "./queries";
import type { RunSearch } from "./search";
import { Several } from "./several";

/** Runs lists runs, the newest first, with the filters of the address. */
export function Runs() {
  const { t, number, money } = useLanguage();
  const search = useSearch({ from: "/runs" });
  const navigate = useNavigate();
  const polling = usePolling();
  const query = useInfiniteQuery({ ...runsQuery(search), placeholderData: keepPreviousData, refetchInterval: polling });
  const items = useMemo(() => query.data?.pages.flatMap((p) => p.items) ?? [], [query.data]);
  const first = query.data?.pages[0];
  const [selecting, setSelecting] = useState(false);
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const pick = useCallback((r: Run) => {
    setSelecting(true);
    setKeys((k) => (k.has(r.run_id) ? new Set([...k].filter((id) => id !== r.run_id)) : new Set([...k, r.run_id])));
  }, []);
  const filters = useRunFilters();
  const by: By<RunSearch>[] = [
    ...filters.states,
    filters.agent,
    { name: "version", word: "runs.version", rare: true },
    { name: "user_id", word: "runs.user", rare: true },
    { name: "tool", word: "runs.tool", rare: true },
    ...filters.origins,
  ];
  const state = (r: Run) => <Badge look={lookOfRun(stateOf(r))} />;
  const name = (r: Run) => (
    <Link to="/runs/$id" params={{ id: r.run_id }} className="mono link truncate" title={r.run_id}>
      {short(r.run_id)}
    </Link>
  );
  const columns: Column<Run>[] = [
    { word: "runs.status", width: "9rem", look: "flex", cell: state },
    { word: "runs.run", width: "8rem", look: "flex", cell: name },
    { word: "runs.agent", width: "minmax(0,1fr)", cell: (r) => r.agent_id },
    {
      word: "runs.thread",
      width: "minmax(0,1.2fr)",
      look: "flex",
      cell: (r) => (
        <Link to="/threads/$id" params={{ id: r.thread_id }} className="mono truncate text-muted hover:underline" title={r.thread_id}>
          {short(r.thread_id)}
        </Link>
      ),
    },
    { word: "runs.steps", width: "4rem", right: true, look: "mono", cell: (r) => number(r.steps) },
    { word: "runs.tokens", width: "5rem", right: true, look: "mono", cell: (r) => number(r.input_tokens + r.output_tokens) },
    { word: "runs.cost", width: "5rem", right: true, look: "mono", cell: (r) => (r.cost_usd ? money(r.cost_usd) : "–") },
    { word: "runs.age", width: "4rem", right: true, look: "text-muted", cell: (r) => <Ago at={toMs(r.created_at)} /> },
  ];
  return (
    <Page crumbs={[{ text: t("nav.runs") }]} badge={first && <span className="text-muted">{t(first.total_at_least ? "runs.countAtLeast" : "runs.count", { n: first.total })}</span>}>
      <Restored />
      <ListFilters
        to="/runs"
        search={search}
        find="runs.search"
        by={by}
        end={
          items.length > 0 && (
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
      />
      <Several chosen={items.filter((r) => keys.has(r.run_id))} clear={() => setKeys(new Set())} />
      <List
        query={query}
        items={items}
        keyOf={(r) => r.run_id}
        label={t("nav.runs")}
        columns={columns}
        heights={[33, 68]}
        open={(r) => void navigate({ to: "/runs/$id", params: { id: r.run_id } })}
        pick={pick}
        before={
          selecting
            ? (r) => (
                <label className="flex w-10 shrink-0 items-center justify-center">
                  <input type="checkbox" checked={keys.has(r.run_id)} onChange={() => pick(r)} aria-label={t("queue.select", { id: short(r.run_id) })} />
                </label>
              )
            : undefined
        }
        filtered={chosen(search) > 0}
        empty={{
          title: "runs.empty",
          hint: (
            <>
              {t("runs.emptyHint")}{" "}
              <Link to="/threads/-/new" className="link">
                {t("threads.new")}
              </Link>
            </>
          ),
        }}
        card={(r) => (
          <Card
            at={toMs(r.created_at)}
            below={
              <>
                <span className="truncate">{r.agent_id}</span>
                <span className="mono truncate">{short(r.thread_id)}</span>
                <span className="mono ml-auto">{r.cost_usd ? money(r.cost_usd) : ""}</span>
              </>
            }
          >
            {state(r)}
            {name(r)}
          </Card>
        )}
      />
    </Page>
  );
}
