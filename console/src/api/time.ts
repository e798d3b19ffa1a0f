/** toMs returns a time of the API in milliseconds: the API has seconds, milliseconds and RFC 3339. */
export function toMs(time: number | string | undefined | null): number | undefined {
  if (time === undefined || time === null || time === 0 || time === "") return undefined;
  if (typeof time === "string") {
    const ms = Date.parse(time);
    return Number.isNaN(ms) ? undefined : ms;
  }
  return time < 1e11 ? time * 1000 : time;
}

let offset = 0;

/** learnClock notes the server's clock, so that ages are right on machines whose clock is not. */
export function learnClock(serverNow: number) {
  offset = serverNow - Date.now();
}

/** now is the time of the server's clock. */
export const now = () => Date.now() + offset;
