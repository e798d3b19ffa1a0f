import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "./client";
import type { components } from "./schema";

export type Limit = components["schemas"]["ProviderLimit"];

/** limitsQuery reads the rate limits of all providers, and how much of them is used. Only administrators of the server may. */
export const limitsQuery = queryOptions({ queryKey: ["queue", "limits"], queryFn: ({ signal }) => ask(api.GET("/v1/providers/limits", { params: { query: { limit: 200 } }, signal })) });

/** isLearned reports whether something of a limit was learned from a provider, so that it can be forgotten. */
export const isLearned = (l: Limit) => l.paused_ms > 0 || [l.requests, l.tokens].some((m) => m && m.source !== "configured");

/** forgetLimits forgets the limits and pauses that were learned about a provider: of a model, or of all. */
export const forgetLimits = (provider: string, model?: string) => api.DELETE("/v1/providers/limits", { params: { query: { provider_id: provider, ...(model ? { model } : {}) } } });
