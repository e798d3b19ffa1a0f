import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, ask } from "../api/client";
import { emptyFold, cursorIn, fold, type Fold } from "./fold";
import { useLog, type Envelope } from "./log";

const MOST = 50_000;

/** useEvents reads the log of a run, and follows it while the run is open. */
export function useEvents(id: string, open: boolean): { fold: Fold; loaded: boolean; error: Error | null; following: "off" | "live" | "lost" } {
  const client = useQueryClient();
  const past = useQuery({
    queryKey: ["events", id],
    queryFn: async ({ signal }) => {
      const events: Envelope[] = [];
      let cursor = "0-0";
      while (events.length < MOST) {
        const page = await ask(api.GET("/v1/runs/{run_id}/events", { params: { path: { run_id: id }, query: { cursor, limit: 200 } }, signal }));
        events.push(...page.items);
        if (!page.has_more || !page.next_cursor) break;
        cursor = page.next_cursor;
      }
      return events;
    },
    staleTime: Infinity,
    gcTime: 0,
  });
  const [state, setState] = useState<Fold>(emptyFold);
  const [from, setFrom] = useState("");
  useEffect(() => {
    if (!past.data) return;
    setState(fold(emptyFold, past.data));
    const last = past.data.at(-1);
    setFrom(last ? cursorIn(last, "run") || "0-0" : "0-0");
  }, [past.data]);
  const timer = useRef(0);
  const following = useLog(open && from ? `/v1/runs/${encodeURIComponent(id)}/events/stream` : null, from, (events) => {
    setState((s) => fold(s, events));
    // The timeline has what the log does not say. It is asked again when something was committed, not for every delta.
    if (!timer.current && events.some((e) => !/Delta/.test(e.event_kind))) {
      timer.current = window.setTimeout(() => {
        timer.current = 0;
        void client.invalidateQueries({ queryKey: ["run", id] });
      }, 400);
    }
  });
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return { fold: state, loaded: past.isSuccess, error: past.error, following };
}
