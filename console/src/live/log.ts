import { useEffect, useRef, useState } from "react";
import type { components } from "../api/schema";
import { ApiError } from "../api/errors";
import { pause, read } from "./sse";

export type Envelope = components["schemas"]["CanonicalEvent"];

/** useLog follows the log of a run or thread from a cursor while the tab is visible, and calls take with what arrived, once per frame of the
 * screen. It resumes after the last event that it has seen. A hidden tab lets go of its connection after a minute. */
export function useLog(path: string | null, from: string, take: (events: Envelope[]) => void): "off" | "live" | "lost" {
  const [status, setStatus] = useState<"off" | "live" | "lost">("off");
  const taker = useRef(take);
  taker.current = take;
  useEffect(() => {
    if (!path) return;
    let cursor = from;
    let waiting: Envelope[] = [];
    let frame = 0;
    let stop: AbortController | null = null;
    let hidden = 0;
    const flush = () => {
      frame = 0;
      const events = waiting;
      waiting = [];
      taker.current(events);
    };
    const follow = async (signal: AbortSignal) => {
      for (let attempt = 0; !signal.aborted; attempt++) {
        try {
          await read(
            `${path}?cursor=${encodeURIComponent(cursor)}`,
            (f) => {
              if (f.id) cursor = f.id;
              if (!f.data) return;
              waiting.push(JSON.parse(f.data) as Envelope);
              frame ||= document.hidden ? window.setTimeout(flush, 200) : requestAnimationFrame(flush);
            },
            signal,
            () => {
              attempt = 0;
              setStatus("live");
            },
          );
          attempt = Math.max(attempt, 1); // it ended: the run is over, or the server stops
        } catch (err) {
          if (signal.aborted) return;
          if (err instanceof ApiError && err.status >= 400 && err.status < 500) return setStatus("off");
        }
        if (signal.aborted) return;
        setStatus("lost");
        await pause(attempt, signal);
      }
    };
    const begin = () => {
      stop = new AbortController();
      void follow(stop.signal);
    };
    const visibility = () => {
      window.clearTimeout(hidden);
      if (document.hidden) hidden = window.setTimeout(() => (stop?.abort(), (stop = null), setStatus("off")), 60_000);
      else if (!stop) begin();
    };
    document.addEventListener("visibilitychange", visibility);
    begin();
    return () => {
      document.removeEventListener("visibilitychange", visibility);
      window.clearTimeout(hidden);
      cancelAnimationFrame(frame);
      stop?.abort();
    };
  }, [path, from]);
  return path ? status : "off";
}
