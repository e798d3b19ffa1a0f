import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";

export type Summary = components["schemas"]["ThreadSummary"];
export type Message = components["schemas"]["Message"];
export type Run = components["schemas"]["Run"];
export type Pending = components["schemas"]["Pending"];

export interface ThreadFilter {
  user_id?: string;
  root?: boolean;
  agent_id?: string;
  status?: "running" | "waiting" | "done";
}

/** foundQuery finds threads whose title or id contains a text. */
export const foundQuery = (q: string) =>
  queryOptions({
    queryKey: ["threads", "found", q],
    queryFn: async ({ signal }) => {
      const found = await ask(api.GET("/v1/search", { params: { query: { q, limit: 50 } }, signal }));
      return { items: found.items.filter((i) => i.kind === "thread"), partial: found.partial };
    },
  });

export const threadsQuery = (filter: ThreadFilter) =>
  infiniteQueryOptions({
    queryKey: ["threads", "list", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/threads/summaries", { params: { query: { ...filter, limit: 100, cursor: pageParam || undefined } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => (page.has_more ? page.next_cursor : undefined),
  });

const at = (id: string) => ({ path: { thread_id: id } });

export const threadQuery = (id: string) => queryOptions({ queryKey: ["thread", id, "record"], queryFn: ({ signal }) => ask(api.GET("/v1/threads/{thread_id}", { params: at(id), signal })) });

/** messagesQuery reads the newest messages of a thread, and older ones on demand. */
export const messagesQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["thread", id, "messages"],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/threads/{thread_id}/messages", { params: { ...at(id), query: { order: "desc", limit: 100, visibility: "all", cursor: pageParam || undefined } as never }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => (page.has_more ? page.next_cursor : undefined),
  });

export const threadRunsQuery = (id: string) =>
  queryOptions({ queryKey: ["thread", id, "runs"], queryFn: ({ signal }) => ask(api.GET("/v1/threads/{thread_id}/runs", { params: { ...at(id), query: { limit: 20 } }, signal })) });

export const pendingQuery = (id: string) => queryOptions({ queryKey: ["thread", id, "pending"], queryFn: ({ signal }) => ask(api.GET("/v1/threads/{thread_id}/pending", { params: at(id), signal })) });

/** textOf returns the text of a message's blocks. */
export function textOf(blocks: components["schemas"]["Block"][]): string {
  return blocks.map((b) => (b.type === "text" && "text" in b ? b.text : "")).join("");
}
