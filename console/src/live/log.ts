import { useEffect, useRef, useState } from "react";
import type { components } from "../api/schema";
import { ApiError } from "../api/errors";
import { pause, read } from "./sse";

export type Envelope = components["schemas"]["CanonicalEvent"];

const LOCK = "awaken.log";

/** useLog follows the log of a run or thread from a cursor, and calls take with what arrived, once per frame of the screen. It resumes after the
 * last event that it has seen. A browser has six connections to a server for all its tabs, so only the tab that was looked at last has this one:
 * the others are "off". A hidden tab lets go of it after a minute. */
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
      const own = new AbortController();
      stop = own;
      if (!navigator.locks) return void follow(own.signal); // pages that are not on a secure origin have no locks
      const held = navigator.locks.request(LOCK, { steal: true }, () => follow(own.signal));
      held.catch(() => {
        own.abort(); // another tab has taken it
        if (stop === own) {
          stop = null;
          setStatus("off");
        }
      });
    };
    const visibility = () => {
      window.clearTimeout(hidden);
      if (document.hidden) hidden = window.setTimeout(() => (stop?.abort(), (stop = null), setStatus("off")), 60_000);
      else if (!stop) begin();
    };
    document.addEventListener("visibilitychange", visibility);
    window.addEventListener("focus", visibility);
    begin();
    return () => {
      document.removeEventListener("visibilitychange", visibility);
      window.removeEventListener("focus", visibility);
      window.clearTimeout(hidden);
      cancelAnimationFrame(frame);
      stop?.abort();
    };
  }, [path, from]);
  return path ? status : "off";
}
