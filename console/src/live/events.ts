import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { api, ask } from "../api/client";
import type { components } from "../api/schema";
import { cursorIn, emptyFold, fold, type Fold, retract, seqOf } from "./fold";
import { type Envelope, useLog } from "./log";

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
  // What was read of the log is durable. What the stream has added since may be taken back: a process that is killed commits nothing more.
  const durable = useRef({ fold: emptyFold, cursor: "0-0" });
  const live = useRef<Envelope[]>([]);
  const turn = useRef(Promise.resolve());

  // catchUp reads what is new, all of it at first, and shows it instead of what the stream has said about it. A run that is not at work has no more than
  // its log. Reads take turns, so that one that begins when the run ends is not left out because of an older one.
  const catchUp = useCallback(
    (signal: AbortSignal, works: boolean) => {
      const readOn = async () => {
        for (let read = 0; read < MOST && !signal.aborted; ) {
          const page = await ask(api.GET("/v1/runs/{run_id}/events", { params: { path: { run_id: id }, query: { cursor: durable.current.cursor, limit: 200 } }, signal }));
          const end = page.items.at(-1);
          const cursor = (end && cursorIn(end, "run")) || durable.current.cursor;
          durable.current = { fold: fold(durable.current.fold, page.items), cursor };
          live.current = works ? live.current.filter((e) => seqOf(cursorIn(e, "run")) > seqOf(cursor)) : [];
          setState({ fold: fold(durable.current.fold, live.current), loaded: true, error: null });
          read += page.items.length;
          if (!page.has_more || !page.next_cursor) break;
          durable.current.cursor = page.next_cursor;
        }
      };
      turn.current = turn.current.then(readOn).catch((error: unknown) => {
        if (!signal.aborted) setState((s) => (s.loaded ? s : { ...s, error }));
      });
      return turn.current;
    },
    [id],
  );

  const [from, setFrom] = useState("");
  const timer = useRef(0);
  const works = status === "running" || status === "created";
  const following = useLog(works && from ? `/v1/runs/${encodeURIComponent(id)}/events/stream` : null, from, (events) => {
    for (const e of events) {
      const p = e.payload as components["schemas"]["Event"];
      if (p.event_type === "stream_reset") live.current = retract(live.current, p.cursor ?? "");
      else live.current.push(e);
    }
    setState((s) => ({ fold: fold(s.fold, events), loaded: true, error: null }));
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
    void catchUp(stop.signal, works).then(() => !stop.signal.aborted && setFrom(durable.current.cursor));
    return () => stop.abort();
  }, [catchUp, works, status]);
  useEffect(() => {
    if (!works || following === "live") return;
    const stop = new AbortController();
    const poll = async () => {
      for (;;) {
        await new Promise((resolve) => window.setTimeout(resolve, POLL));
        if (stop.signal.aborted) return;
        await catchUp(stop.signal, works);
      }
    };
    void poll();
    return () => stop.abort();
  }, [works, following, catchUp]);
  return state;
}
