import { queryOptions, useQuery, type QueryClient } from "@tanstack/react-query";
import { api, ask, base, headers } from "../api/client";
import { failureOf } from "../api/errors";
import type { components } from "../api/schema";
import { learnClock } from "../api/time";

export type Session = components["schemas"]["SessionBody"];
export type Ability = keyof Session["may"];

/** sessionQuery asks what the caller may do here, and what this server has. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async ({ signal }) => {
    const session = await ask(api.GET("/v1/session", { signal }));
    learnClock(session.now_ms);
    return session;
  },
  staleTime: 5 * 60_000,
});

/** useSession returns the session once it is known. The shell shows no page before. */
export const useSession = () => useQuery(sessionQuery).data;

/** useMay returns whether the caller has an ability. */
export const useMay = (ability: Ability) => useSession()?.may[ability] ?? false;

/** signIn exchanges a key for a cookie. The page does not keep the key. */
export async function signIn(client: QueryClient, key: string) {
  const res = await fetch(`${base}/v1/session`, { method: "POST", headers: { ...headers(), Authorization: `Bearer ${key}` } });
  if (!res.ok) throw await failureOf(res);
  const session = (await res.json()) as Session;
  learnClock(session.now_ms);
  client.clear();
  client.setQueryData(sessionQuery.queryKey, session);
}

export async function signOut(client: QueryClient) {
  await api.DELETE("/v1/session");
  client.clear();
  await client.invalidateQueries();
}
