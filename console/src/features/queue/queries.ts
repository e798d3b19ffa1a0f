import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";

export type Dispatch = components["schemas"]["ExplainedDispatch"];
export type Queue = components["schemas"]["QueueBody"];
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

export const replicasQuery = queryOptions({ queryKey: ["queue", "replicas"], queryFn: ({ signal }) => ask(api.GET("/v1/system/replicas", { signal })) });
