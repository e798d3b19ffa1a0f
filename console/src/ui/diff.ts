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
