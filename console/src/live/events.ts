import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { api, ask } from "../api/client";
import type { components } from "../api/schema";
import { cursorIn, emptyFold, fold, type Fold } from "./fold";
import { useLog } from "./log";

const MOST = 50_000;
const POLL = 3000;

export interface Followed {
  fold: Fold;
  loaded: boolean;
  error: unknown;
}

/** useEvents reads the log of a run, and follows it while the run is at work. Of all tabs, only the one that was looked at last has a stream
 * for that; the others ask for what is new now and then. */
export function useEvents(id: string, status: components["schemas"]["Run"]["status"]): Followed {
  const client = useQueryClient();
  const [state, setState] = useState<Followed>({ fold: emptyFold, loaded: false, error: null });
  const last = useRef("0-0");
  const reading = useRef(false);
  const add = useCallback((events: Fold["events"]) => setState((s) => ({ fold: fold(s.fold, events), loaded: true, error: null })), []);

  // catchUp reads what is new, all of it at first.
  const catchUp = useCallback(
    async (signal: AbortSignal) => {
      if (reading.current) return;
      reading.current = true;
      try {
        for (let read = 0; read < MOST; ) {
          const page = await ask(api.GET("/v1/runs/{run_id}/events", { params: { path: { run_id: id }, query: { cursor: last.current, limit: 200 } }, signal }));
          const end = page.items.at(-1);
          if (end) last.current = cursorIn(end, "run") || last.current;
          add(page.items);
          read += page.items.length;
          if (!page.has_more || !page.next_cursor) break;
          last.current = page.next_cursor;
        }
      } catch (error) {
        if (!signal.aborted) setState((s) => (s.loaded ? s : { ...s, error }));
      } finally {
        reading.current = false;
      }
    },
    [id, add],
  );

  const [from, setFrom] = useState("");
  const timer = useRef(0);
  const works = status === "running" || status === "created";
  const following = useLog(works && from ? `/v1/runs/${encodeURIComponent(id)}/events/stream` : null, from, (events) => {
    const end = events.at(-1);
    if (end) last.current = cursorIn(end, "run") || last.current;
    add(events);
    // The timeline has what the log does not say. It is asked again when something was committed, not for every delta.
    if (!timer.current && events.some((e) => !/Delta/.test(e.event_kind))) {
      timer.current = window.setTimeout(() => {
        timer.current = 0;
        void client.invalidateQueries({ queryKey: ["run", id] });
      }, 400);
    }
  });
  useEffect(() => () => window.clearTimeout(timer.current), []);
  useEffect(() => {
    const stop = new AbortController();
    void catchUp(stop.signal).then(() => !stop.signal.aborted && setFrom(last.current));
    return () => stop.abort();
  }, [catchUp, status]);
  useEffect(() => {
    if (!works || following === "live") return;
    const stop = new AbortController();
    const poll = window.setInterval(() => void catchUp(stop.signal), POLL);
    return () => {
      window.clearInterval(poll);
      stop.abort();
    };
  }, [works, following, catchUp]);
  return state;
}
