import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import { base, tenantOf } from "../api/client";
import { Feed, type Change, type FeedState } from "./feed";

/** keysOf returns the queries that a change makes stale. Each begins with the kind of what it is about. */
export function keysOf(change: Change): unknown[][] {
  const keys: unknown[][] = [];
  switch (change.kind) {
    case "run":
      keys.push(["runs"], ["threads"], ["counts"]);
      break;
    case "ticket":
    case "decision":
      keys.push(["approvals"], ["runs"], ["counts"]);
      break;
    case "dispatch":
      keys.push(["queue"]);
      break;
    case "publication":
      keys.push(["config"], ["versions"], ["agents"]);
  }
  if (change.run_id) keys.push(["run", change.run_id]);
  if (change.thread_id) keys.push(["thread", change.thread_id]);
  if (change.kind === "run" && (change.status === "waiting" || change.status === "done")) keys.push(["approvals"]);
  return keys;
}

function invalidate(client: QueryClient, changes: Change[]) {
  const keys = new Map<string, unknown[]>();
  for (const c of changes) for (const k of keysOf(c)) keys.set(JSON.stringify(k), k);
  for (const queryKey of keys.values()) void client.invalidateQueries({ queryKey });
}

const LiveContext = createContext<Feed | null>(null);

/** Live keeps what the page shows up to date while the caller may read. */
export function Live({ who, children }: { who: string; children: ReactNode }) {
  const client = useQueryClient();
  const [feed, setFeed] = useState<Feed | null>(null);
  useEffect(() => {
    const f = new Feed(
      `${base} ${tenantOf()} ${who}`,
      (changes) => invalidate(client, changes),
      () => void client.invalidateQueries(),
    );
    setFeed(f);
    return () => f.close();
  }, [client, who]);
  return <LiveContext value={feed}>{children}</LiveContext>;
}

const connecting: FeedState = { status: "connecting", since: 0 };

export function useFeedState(): FeedState {
  const feed = useContext(LiveContext);
  const watch = useMemo(() => (w: () => void) => feed?.watch(w) ?? (() => {}), [feed]);
  return useSyncExternalStore(watch, () => feed?.state ?? connecting);
}

/** usePolling returns how often a query asks again by itself: never, unless no feed tells it to. */
export function usePolling(ms = 5000): number | false {
  return useFeedState().status === "absent" ? ms : false;
}
