import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";

type S = components["schemas"];
export type Schedule = S["ScheduleView"];
export type Webhook = S["WebhookView"];
export type Template = S["RunTemplate"];
export type Trigger = Omit<S["TriggerView"], "run"> & { run: Template };
export type Delivery = S["Delivery"];
export type Attempt = S["Attempt"];
export type ScheduleFiring = S["ScheduleFiring"];

/** How often pages ask again: what starts by itself is not in the feed until there is a run. */
const often = 5000;
const limit = 50;

/** all reads every page of a list. */
async function all<T>(page: (cursor: string | undefined) => Promise<{ items: T[]; next_cursor?: string }>): Promise<T[]> {
  const out: T[] = [];
  let cursor: string | undefined;
  do {
    const { items, next_cursor } = await page(cursor);
    out.push(...items);
    cursor = next_cursor || undefined;
  } while (cursor);
  return out;
}

const pages = { initialPageParam: undefined as string | undefined, getNextPageParam: (page: { next_cursor?: string }) => page.next_cursor || undefined, refetchInterval: often };

export const schedulesQuery = queryOptions({ queryKey: ["schedules", "list"], queryFn: ({ signal }) => all((cursor) => ask(api.GET("/v1/schedules", { params: { query: { limit: 200, cursor } }, signal }))), refetchInterval: 2 * often });
export const scheduleQuery = (id: string) => queryOptions({ queryKey: ["schedules", "one", id], queryFn: ({ signal }) => ask(api.GET("/v1/schedules/{schedule_id}", { params: { path: { schedule_id: id } }, signal })), refetchInterval: often });
export const scheduleLog = (id: string) =>
  infiniteQueryOptions({ queryKey: ["schedules", "log", id], queryFn: ({ signal, pageParam }) => ask(api.GET("/v1/schedules/{schedule_id}/firings", { params: { path: { schedule_id: id }, query: { limit, cursor: pageParam } }, signal })), ...pages });

/** upcomingQuery asks for the next ten times of an expression. */
export const upcomingQuery = (cron: string, zone: string, ends: string | undefined) =>
  queryOptions({ queryKey: ["schedules", "preview", cron, zone, ends ?? ""], queryFn: async ({ signal }) => (await ask(api.POST("/v1/schedules/preview", { body: { cron, time_zone: zone || undefined, ends_at: ends }, signal }))).upcoming, enabled: cron.trim() !== "", staleTime: 60_000 });

export const webhooksQuery = queryOptions({ queryKey: ["webhooks", "list"], queryFn: ({ signal }) => all((cursor) => ask(api.GET("/v1/webhooks", { params: { query: { limit: 200, cursor } }, signal }))), refetchInterval: 2 * often });
export const webhookQuery = (id: string) => queryOptions({ queryKey: ["webhooks", "one", id], queryFn: ({ signal }) => ask(api.GET("/v1/webhooks/{webhook_id}", { params: { path: { webhook_id: id } }, signal })), refetchInterval: often });
export const deliveriesQuery = (id: string) =>
  infiniteQueryOptions({ queryKey: ["webhooks", "deliveries", id], queryFn: ({ signal, pageParam }) => ask(api.GET("/v1/webhooks/{webhook_id}/deliveries", { params: { path: { webhook_id: id }, query: { limit, cursor: pageParam } }, signal })), ...pages });

export const triggersQuery = queryOptions({ queryKey: ["triggers", "list"], queryFn: ({ signal }) => all((cursor) => ask(api.GET("/v1/triggers", { params: { query: { limit: 200, cursor } }, signal }))) as Promise<Trigger[]>, refetchInterval: 2 * often });
export const triggerQuery = (id: string) => queryOptions({ queryKey: ["triggers", "one", id], queryFn: ({ signal }) => ask(api.GET("/v1/triggers/{trigger_id}", { params: { path: { trigger_id: id } }, signal })) as Promise<Trigger>, refetchInterval: often });
export const triggerLog = (id: string) =>
  infiniteQueryOptions({ queryKey: ["triggers", "log", id], queryFn: ({ signal, pageParam }) => ask(api.GET("/v1/triggers/{trigger_id}/firings", { params: { path: { trigger_id: id }, query: { limit, cursor: pageParam } }, signal })), ...pages });
