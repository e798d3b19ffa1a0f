import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask, base, headers } from "../../api/client";
import { failureOf } from "../../api/errors";
import type { components } from "../../api/schema";
import type { TraceSearch } from "./search";

export type Summary = components["schemas"]["TraceSummary"];

export const tracesQuery = (filter: Omit<TraceSearch, "range">) =>
  infiniteQueryOptions({
    queryKey: ["traces", "list", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/traces", { params: { query: { ...filter, limit: 100, cursor: pageParam || undefined } as never }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => (page.has_more ? (page.next_cursor ?? undefined) : undefined),
  });

/** A line of a trace: one thing that a run did. */
export interface Line {
  type: "inference" | "tool" | "suspension" | "handoff" | "delegation" | "background_task" | "evaluation_result";
  run_id: string;
  thread_id: string;
  agent_id: string;
  release_tag?: string;
  step_index?: number;
  started_at_ms?: number;
  ended_at_ms?: number;
  duration_ms: number;
  [field: string]: unknown;
}

const MOST = 20; // pages of 1,000 lines

export interface Trace {
  lines: Line[];
  total: number;
  text: string;
}

/** traceQuery reads the lines of a trace, all of them unless they are very many. */
export const traceQuery = (id: string) =>
  queryOptions({
    queryKey: ["traces", "one", id],
    queryFn: async ({ signal }): Promise<Trace> => {
      const out: Trace = { lines: [], total: 0, text: "" };
      let offset: string | null = "0";
      for (let n = 0; offset !== null && n < MOST; n++) {
        const res: Response = await fetch(`${base}/v1/traces/${encodeURIComponent(id)}?offset=${offset}&limit=1000`, { credentials: "same-origin", headers: { Accept: "application/x-ndjson", ...headers() }, signal });
        if (!res.ok) throw await failureOf(res);
        const text = await res.text();
        out.text += text;
        out.lines.push(...text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Line));
        out.total = Number(res.headers.get("x-trace-total-events") ?? out.lines.length);
        offset = res.headers.get("x-trace-next-offset");
      }
      return out;
    },
  });
