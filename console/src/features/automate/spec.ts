import { ApiError } from "../../api/errors";

/** Changed says that a document was changed by others since its edit began. */
export class Changed extends Error {}

/** replace replaces a document whose spec is still the one that an edit began with, whatever else has happened to it meanwhile. */
export async function replace<D extends { revision: number }>(read: () => Promise<D>, unchanged: (now: D) => boolean, write: (now: D) => Promise<D>): Promise<D> {
  for (let tries = 0; ; tries++) {
    const now = await read();
    if (!unchanged(now)) throw new Changed();
    try {
      return await write(now);
    } catch (err) {
      if (!(err instanceof ApiError && err.status === 409) || tries === 3) throw err;
    }
  }
}

/** fieldOf returns the field that an error of the server is about: its messages begin with it. */
export function fieldOf(error: Error | null): string {
  if (!(error instanceof ApiError) || error.status !== 400) return "";
  const text = error.message;
  if (/^(run\.)?agent_id|^agent .*not found/.test(text)) return "agent_id";
  if (/^at least one message|^(run: )?messages/.test(text)) return "messages";
  if (/^cron and at/.test(text)) return "cron";
  return /^(?:run: ?|run\.)?([a-z_]+)(?=[ .:[])/.exec(text)?.[1] ?? "";
}
