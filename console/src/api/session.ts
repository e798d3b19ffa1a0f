import { queryOptions, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, ask, base, headers } from "./client";
import { failureOf } from "./errors";
import type { components } from "./schema";
import { learnClock, now } from "./time";

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

/** useGoverns returns whether the caller administers the whole server, and not only a tenant. */
export function useGoverns(): boolean {
  const session = useSession();
  return session?.may.admin === true && session.key?.tenant === "";
}

/** become shows the pages as another caller sees them. What the one before has seen is forgotten. */
function become(client: QueryClient, session: Session) {
  learnClock(session.now_ms);
  client.setQueryData(sessionQuery.queryKey, session);
  client.removeQueries({ predicate: (q) => q.queryKey[0] !== "session" });
}

async function post(key?: string): Promise<Session> {
  const res = await fetch(`${base}/v1/session`, { method: "POST", headers: { ...headers(), ...(key ? { Authorization: `Bearer ${key}` } : {}) } });
  if (!res.ok) throw await failureOf(res);
  return (await res.json()) as Session;
}

/** signIn exchanges a key for a cookie. The page does not keep the key. */
export async function signIn(client: QueryClient, key: string) {
  become(client, await post(key));
}

/** signOut ends the session. What the pages still wait for is given up first: without the session the server would refuse it. */
export async function signOut(client: QueryClient) {
  await client.cancelQueries();
  await api.DELETE("/v1/session");
  become(client, await ask(api.GET("/v1/session")));
}

/** useRenewal extends the cookie before it ends, for as long as the server allows and a tab is open. */
export function useRenewal() {
  const client = useQueryClient();
  const terms = useSession()?.session;
  const ends = terms && terms.expires_ms < terms.last_ms ? terms.expires_ms : 0;
  useEffect(() => {
    if (!ends) return;
    const timer = window.setTimeout(
      () => {
        post().then(
          (session) => client.setQueryData(sessionQuery.queryKey, session),
          () => client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
        );
      },
      Math.min(2 ** 31 - 1, Math.max(10_000, (ends - now()) / 2)),
    );
    return () => window.clearTimeout(timer);
  }, [client, ends]);
}
