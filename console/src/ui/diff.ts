/** A field of a document that differs between two versions. */
export interface Difference {
  path: string;
  before: unknown;
  after: unknown;
}

const isObject = (v: unknown): v is Record<string, unknown> => v !== null && typeof v === "object" && !Array.isArray(v);

/** differences lists the fields that differ, objects field by field, by their JSON Pointer. */
export function differences(before: unknown, after: unknown, path = ""): Difference[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((n) => differences(before[n], after[n], `${path}/${n.replaceAll("~", "~0").replaceAll("/", "~1")}`));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

/** tidy returns a document without fields that say nothing, so that a form that was opened and left changes nothing. */
export function tidy(doc: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(doc).filter(([, v]) => v !== undefined));
}

/** meant returns what a document of a form says: without fields that are not set, in one order. */
function meant<T extends object>(value: T): T {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => v !== undefined && v !== "" && v !== false && !(Array.isArray(v) && v.length === 0))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, v && typeof v === "object" && !Array.isArray(v) ? meant(v as object) : v]),
  ) as T;
}

/** same reports whether two documents of a form say the same. */
export const same = (a: object, b: object) => JSON.stringify(meant(a)) === JSON.stringify(meant(b));

/** differing names the fields in which two documents differ. */
export function differing(a: object, b: object): string[] {
  const [x, y] = [meant(a), meant(b)] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(x), ...Object.keys(y)])].filter((k) => JSON.stringify(x[k]) !== JSON.stringify(y[k])).sort();
}
