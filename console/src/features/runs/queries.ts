import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import type { RunSearch } from "./search";

export type Run = components["schemas"]["Run"];
export type Timeline = components["schemas"]["TimelinePage"];
export type Step = components["schemas"]["StepRow"];
export type Call = components["schemas"]["CallRow"];

export const runsQuery = (filter: RunSearch) =>
  infiniteQueryOptions({
    queryKey: ["runs", "list", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/runs", { params: { query: { ...filter, limit: 100, cursor: pageParam || undefined } as never }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => (page.has_more ? (page.next_cursor ?? undefined) : undefined),
  });

export const runQuery = (id: string) =>
  queryOptions({ queryKey: ["run", id, "record"], queryFn: ({ signal }) => ask(api.GET("/v1/runs/{run_id}", { params: { path: { run_id: id } }, signal })) });

/** liveVersionQuery reads the version that new runs get. */
export const liveVersionQuery = queryOptions({ queryKey: ["versions", "live"], queryFn: async ({ signal }) => (await ask(api.GET("/v1/registry/versions", { params: { query: { limit: 1 } as never }, signal }))).live });

export const explainQuery = (id: string) =>
  queryOptions({ queryKey: ["run", id, "explain"], queryFn: ({ signal }) => ask(api.GET("/v1/runs/{run_id}/explain", { params: { path: { run_id: id } }, signal })) });

/** forksQuery reads where a run was forked from, and what was forked from it. */
export const forksQuery = (id: string) =>
  queryOptions({ queryKey: ["run", id, "forks"], queryFn: ({ signal }) => ask(api.GET("/v1/runs/{run_id}/forks", { params: { path: { run_id: id } }, signal })), staleTime: 0 }); // forks are made on other pages

export const treeQuery = (id: string) =>
  queryOptions({ queryKey: ["run", id, "tree"], queryFn: ({ signal }) => ask(api.GET("/v1/runs/{run_id}/tree", { params: { path: { run_id: id } }, signal })) });

/** timelineQuery reads the whole timeline, and shows its first page while it reads the others: pages repeat the last step of the page before, and later rows replace earlier ones. */
export const timelineQuery = (id: string) =>
  queryOptions({
    queryKey: ["run", id, "timeline"],
    queryFn: async ({ signal, client, queryKey }) => {
      let all: Timeline | undefined;
      let cursor: string | undefined;
      for (let pages = 0; pages < 200; pages++) {
        const page = await ask(api.GET("/v1/runs/{run_id}/timeline", { params: { path: { run_id: id }, query: { cursor, limit: 200 } }, signal }));
        all = all ? merge(all, page) : page;
        if (!page.has_more) break;
        if (pages === 0 && client.getQueryData(queryKey) === undefined) client.setQueryData(queryKey, all);
        cursor = page.next_cursor;
      }
      return all!;
    },
  });

function replace<T>(a: T[], b: T[], key: (row: T) => string): T[] {
  const rows = new Map(a.map((row) => [key(row), row]));
  for (const row of b) rows.set(key(row), row);
  return [...rows.values()];
}

/** merge adds a page of a timeline to those before it. */
export function merge(a: Timeline, b: Timeline): Timeline {
  return {
    ...b,
    commits: replace(a.commits, b.commits, (c) => `${c.fence}/${c.number}`),
    activations: replace(a.activations, b.activations, (r) => String(r.seq)),
    takeovers: replace(a.takeovers, b.takeovers, (r) => String(r.seq)),
    steps: replace(a.steps, b.steps, (s) => String(s.step)),
    calls: replace(a.calls, b.calls, (c) => `${c.step}/${c.call_id}`),
    waits: replace(a.waits, b.waits, (w) => String(w.seq)),
    resets: replace(a.resets, b.resets, (r) => String(r.seq)),
  };
}
