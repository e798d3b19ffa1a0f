import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import { timesOf, type Range } from "./range";

export type Series = components["schemas"]["SeriesBody"];
export type Run = components["schemas"]["Run"];

export const metrics = ["cost_usd", "runs", "tokens", "errors", "error_rate", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms"] as const;
export type Metric = (typeof metrics)[number];
export const groupings = ["agent", "model", "tool", "user", "version"] as const;
export type Grouping = (typeof groupings)[number];

export const seriesQuery = (metric: Metric, by: Grouping | "total", range: Range) =>
  queryOptions({
    queryKey: ["stats", metric, by, range],
    queryFn: ({ signal }) => ask(api.GET("/v1/stats/series", { params: { query: { metric, by, ...timesOf(range), step: range.step, limit: 50 } }, signal })),
    refetchInterval: 60_000,
  });

const PAGES = 5;

/** dearestQuery returns the runs of a range that cost most. It looks at the newest thousand that cost anything. */
export const dearestQuery = (range: Range, agent?: string) =>
  queryOptions({
    queryKey: ["stats", "dearest", range, agent ?? ""],
    queryFn: async ({ signal }) => {
      const items: Run[] = [];
      let cursor: string | undefined;
      let pages = 0;
      do {
        const page = await ask(api.GET("/v1/runs", { params: { query: { min_cost_usd: 0.000001, ...timesOf(range), agent_id: agent, limit: 200, cursor } as never }, signal }));
        items.push(...page.items);
        cursor = page.has_more ? (page.next_cursor ?? undefined) : undefined;
      } while (cursor && ++pages < PAGES);
      items.sort((a, b) => (b.cost_usd ?? 0) - (a.cost_usd ?? 0));
      return { items: items.slice(0, 10), partial: cursor !== undefined };
    },
  });

export const budgetQuery = queryOptions({ queryKey: ["stats", "budget"], queryFn: ({ signal }) => ask(api.GET("/v1/budget", { signal })) });
