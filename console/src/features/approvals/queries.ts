import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";

export type Approval = components["schemas"]["Approval"];

/** waitingQuery counts what waits for a person. */
export const waitingQuery = queryOptions({
  queryKey: ["approvals", "count"],
  queryFn: ({ signal }) => ask(api.GET("/v1/approvals", { params: { query: { limit: 1, order: "oldest", context: 0 } }, signal })),
});

export interface ApprovalFilter {
  agent_id?: string;
  tool?: string;
  reason?: string;
  user_id?: string;
  view?: string;
  actor?: string;
}

/** decisionsQuery lists what was decided, the newest first. */
export const decisionsQuery = (filter: { tool?: string; actor?: string }) =>
  infiniteQueryOptions({
    queryKey: ["approvals", "decided", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/decisions", { params: { query: { ...filter, limit: 100, cursor: pageParam || undefined } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

/** approvalsQuery lists what waits for a person, the oldest first. */
export const approvalsQuery = ({ view: _view, actor: _actor, ...filter }: ApprovalFilter) =>
  infiniteQueryOptions({
    queryKey: ["approvals", "list", filter],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/v1/approvals", { params: { query: { ...filter, order: "oldest", limit: 50, cursor: pageParam || undefined } as never }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => (page.has_more ? (page.next_cursor ?? undefined) : undefined),
  });

/** keyOf returns what tells an item apart: a run that waits for budget or its version has no ticket. */
export const keyOf = (a: Approval) => `${a.run_id}/${a.ticket_id || a.waiting_reason}`;
/** inDoubtOf reports whether a question is about a call, or a step of one, of which it is not known whether it took effect. */
export const inDoubtOf = (a: Approval) => a.suspension?.action === "tool:in_doubt" || a.suspension?.action === "tool:step_in_doubt";
export const ticketOf = (a: Approval) => a.ticket_id || a.waiting_reason;
