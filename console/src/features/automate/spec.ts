import { ApiError } from "../../api/errors";

/** tidy removes the fields that are not set, so that documents can be compared. */
export function tidy<T extends object>(value: T): T {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => v !== undefined && v !== "" && v !== false && !(Array.isArray(v) && v.length === 0))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, v && typeof v === "object" && !Array.isArray(v) ? tidy(v as object) : v]),
  ) as T;
}

export const same = (a: object, b: object) => JSON.stringify(tidy(a)) === JSON.stringify(tidy(b));

/** differing names the fields in which two documents differ. */
export function differing(a: object, b: object): string[] {
  const [x, y] = [tidy(a), tidy(b)] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(x), ...Object.keys(y)])].filter((k) => JSON.stringify(x[k]) !== JSON.stringify(y[k])).sort();
}

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
