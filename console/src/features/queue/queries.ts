import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";

export type Dispatch = components["schemas"]["ExplainedDispatch"];
export type Queue = components["schemas"]["QueueBody"];
export type Limit = components["schemas"]["ProviderLimit"];
export type Worker = components["schemas"]["QueueWorker"];

export const queueQuery = queryOptions({ queryKey: ["queue", "state"], queryFn: ({ signal }) => ask(api.GET("/v1/queue", { signal })) });

export interface DispatchFilter {
  status: string;
  agent_id?: string;
  worker?: string;
}

export const dispatchesQuery = (filter: DispatchFilter) =>
  infiniteQueryOptions({
    queryKey: ["queue", "list", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/dispatches", { params: { query: { ...filter, limit: 100, cursor: pageParam || undefined } as never }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

export const limitsQuery = queryOptions({ queryKey: ["queue", "limits"], queryFn: ({ signal }) => ask(api.GET("/v1/providers/limits", { params: { query: { limit: 200 } }, signal })) });

export const replicasQuery = queryOptions({ queryKey: ["queue", "replicas"], queryFn: ({ signal }) => ask(api.GET("/v1/system/replicas", { signal })) });

/** doubtsQuery returns the calls of a run of which it is not known whether they took effect. */
export const doubtsQuery = (run: string) =>
  queryOptions({
    queryKey: ["run", run, "doubts"],
    queryFn: async ({ signal }) => {
      const page = await ask(api.GET("/v1/runs/{run_id}/timeline", { params: { path: { run_id: run }, query: { limit: 200 } }, signal }));
      return page.calls.filter((c) => c.in_doubt);
    },
    retry: false,
  });
