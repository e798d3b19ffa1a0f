import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "./client";
import type { components } from "./schema";

export type Call = components["schemas"]["CallRow"];

/** isInDoubt reports whether it is not known whether a call took effect. */
export const isInDoubt = (c: Call) => c.outcome === "in_doubt";

/** callsOf reads the calls of a run that are or were in doubt. Pages repeat the last step of the page before. */
async function callsOf(run: string, signal: AbortSignal): Promise<Call[]> {
  const found = new Map<string, Call>();
  let cursor: string | undefined;
  for (let pages = 0; pages < 200; pages++) {
    const page = await ask(api.GET("/v1/runs/{run_id}/timeline", { params: { path: { run_id: run }, query: { cursor, limit: 200 } }, signal }));
    for (const c of page.calls) if (c.doubt) found.set(`${c.step}/${c.call_id}`, c);
    if (!page.has_more) break;
    cursor = page.next_cursor;
  }
  return [...found.values()];
}

/** doubtsQuery returns the calls of a run that are or were in doubt. */
export const doubtsQuery = (run: string) => queryOptions({ queryKey: ["run", run, "doubts"], queryFn: ({ signal }) => callsOf(run, signal), retry: false });

/** threadDoubtsQuery returns the calls of the runs of a thread that are or were in doubt, each with its run. */
export const threadDoubtsQuery = (thread: string) =>
  queryOptions({
    queryKey: ["thread", thread, "doubts"],
    queryFn: async ({ signal }) => {
      const runs = await ask(api.GET("/v1/runs", { params: { query: { thread_id: thread, in_doubt: true, limit: 20 } }, signal }));
      const calls = await Promise.all(runs.items.map(async (r) => (await callsOf(r.run_id, signal)).map((call) => ({ run: r.run_id, call }))));
      return calls.flat();
    },
    retry: false,
  });
