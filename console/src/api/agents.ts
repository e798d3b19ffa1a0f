import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "./client";

export interface Agent {
  id: string;
  description?: string;
  model_id?: string;
}

/** agentsQuery lists the agents that a run can have. */
export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: async ({ signal }) => {
    const out: Agent[] = [];
    let cursor: string | undefined;
    do {
      const page = await ask(api.GET("/v1/agents", { params: { query: { limit: 200, cursor } }, signal }));
      out.push(...((page.items ?? []) as unknown as Agent[]));
      cursor = (page as { next_cursor?: string | null }).next_cursor ?? undefined;
    } while (cursor);
    return out;
  },
  staleTime: 60_000,
});
