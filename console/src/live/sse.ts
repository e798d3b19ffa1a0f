import { createParser } from "eventsource-parser";
import { base, headers } from "../api/client";
import { failureOf } from "../api/errors";

export interface Frame {
  id?: string;
  event?: string;
  data: string;
}

/** read opens a stream and calls take for each frame until the stream ends, fails, or is aborted. Silence longer than quiet is a failure:
 * servers send heartbeats. */
export async function read(path: string, take: (frame: Frame) => void, signal: AbortSignal, opened: () => void, quiet = 45_000): Promise<void> {
  const stop = new AbortController();
  const abort = () => stop.abort();
  signal.addEventListener("abort", abort);
  let timer = window.setTimeout(abort, quiet);
  try {
    const res = await fetch(base + path, { headers: { ...headers(), Accept: "text/event-stream" }, credentials: "same-origin", cache: "no-store", signal: stop.signal });
    if (!res.ok || !res.body) throw await failureOf(res);
    opened();
    const parser = createParser({ onEvent: take });
    const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      window.clearTimeout(timer);
      timer = window.setTimeout(abort, quiet);
      parser.feed(value);
    }
  } finally {
    window.clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    stop.abort();
  }
}

/** pause waits before a further attempt: longer after each failure, never the same for two pages. */
export function pause(attempt: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(15_000, 500 * 2 ** Math.min(attempt, 5)) * (0.5 + Math.random());
  return new Promise((resolve) => {
    const timer = window.setTimeout(done, ms);
    function done() {
      window.clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
