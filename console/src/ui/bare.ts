const hidden = new Set(["api_key", "client_secret", "token", "bearer_token", "env", "auth", "adapter_options", "config"]);

/** bare returns a document without what may be secret. */
export function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.has(name)).map(([name, v]) => [name, bare(v)]));
}

/** fill returns a document with what bare took away, as it is in another one. */
export function fill(value: unknown, from: unknown): unknown {
  if (Array.isArray(value)) return Array.isArray(from) && from.length === value.length ? value.map((v, i) => fill(v, from[i])) : value;
  if (value === null || typeof value !== "object" || from === null || typeof from !== "object") return value;
  const source = from as Record<string, unknown>;
  const own = Object.fromEntries(Object.entries(value).map(([name, v]) => [name, fill(v, source[name])]));
  return { ...own, ...Object.fromEntries(Object.entries(source).filter(([name]) => hidden.has(name) && !(name in own))) };
}
