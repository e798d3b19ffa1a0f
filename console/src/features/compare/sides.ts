/** One side of a comparison. */
export interface Side {
  agent: string;
  /** live, draft or the number of a version. */
  version: string;
  /** "" is that of the agent. */
  model: string;
}

/** The most sides that fit on a page. */
export const MAX = 4;

/** sidesOf reads the sides from an address: agent@version~model, separated by commas. */
export function sidesOf(text: string): Side[] {
  return text
    .split(",")
    .filter(Boolean)
    .slice(0, MAX)
    .map((part) => {
      const [head = "", model = ""] = part.split("~");
      const at = head.lastIndexOf("@");
      return { agent: at < 0 ? head : head.slice(0, at), version: at < 0 ? "live" : head.slice(at + 1) || "live", model };
    });
}

export const textOf = (sides: Side[]) => sides.map((s) => `${s.agent}@${s.version}${s.model && `~${s.model}`}`).join(",");
