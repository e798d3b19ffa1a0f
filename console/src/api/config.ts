import { queryOptions } from "@tanstack/react-query";
import { api, ask, base, headers } from "./client";
import { ApiError, failureOf } from "./errors";
import type { components } from "./schema";
import { warningsOf, type Warning } from "./warnings";

export type Doc = Record<string, unknown>;
export type Meta = components["schemas"]["DocumentMeta"];
export type Problem = components["schemas"]["ConfigProblem"];
export type Namespace = "agents" | "providers" | "models" | "model-pools" | "mcp-servers" | "a2a-servers" | "skills" | "tools";

/** A document with the revision that it was read at, and what the server warned about it then. */
export interface Read {
  doc: Doc;
  etag: string;
  warnings?: Warning[];
}

/** call sends a request for documents, whose types depend on the namespace, and returns the body, the revision and the warnings. */
export async function call(method: string, path: string, body?: unknown, more: Record<string, string> = {}, signal?: AbortSignal): Promise<{ data: unknown; etag: string; warnings: Warning[] }> {
  let res: Response;
  try {
    res = await fetch(base + path, {
      method,
      credentials: "same-origin",
      signal,
      headers: { Accept: "application/json", ...headers(), ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...more },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (err) {
    if (err instanceof DOMException) throw err;
    throw new ApiError(0, { error: String(err) }, "");
  }
  if (!res.ok) throw await failureOf(res);
  const text = await res.text();
  return { data: text ? JSON.parse(text) : undefined, etag: res.headers.get("ETag") ?? "", warnings: warningsOf(res.headers) };
}

const leaving = new Set<string>(); // documents that are being removed: the page of one does not ask for it meanwhile

/** present returns whether a document can be asked for, for queries about it. id is "" for one that is being made. */
export const present = (ns: Namespace, id: string) => () => id !== "" && !leaving.has(`${ns}/${id}`);

const at = (ns: Namespace, id: string) => `/v1/config/${ns}/${encodeURIComponent(id)}`;

/** documentsQuery lists the documents of a namespace, with their metadata. */
export const documentsQuery = (ns: Namespace) =>
  queryOptions({
    queryKey: ["config", ns, "list"],
    queryFn: async ({ signal }) => {
      const [list, metas] = await Promise.all([documents(ns, signal), call("GET", `/v1/config/${ns}/meta`, undefined, {}, signal)]);
      const by = new Map((metas.data as { id: string; meta: Meta }[]).map((m) => [m.id, m.meta]));
      return list.map((doc) => ({ doc, meta: by.get(String(doc.id)) }));
    },
  });

async function documents(ns: Namespace, signal: AbortSignal): Promise<Doc[]> {
  const out: Doc[] = [];
  let cursor = "";
  do {
    const { data } = await call("GET", `/v1/config/${ns}?limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, undefined, {}, signal);
    const page = data as { items: Doc[]; next_cursor?: string };
    out.push(...page.items);
    cursor = page.next_cursor ?? "";
  } while (cursor);
  return out;
}

/** documentQuery reads what is edited: the draft, if there is one. */
export const documentQuery = (ns: Namespace, id: string) =>
  queryOptions({
    queryKey: ["config", ns, "document", id],
    enabled: present(ns, id),
    queryFn: async ({ signal }): Promise<Read> => {
      const { data, ...read } = await call("GET", at(ns, id), undefined, {}, signal);
      return { doc: data as Doc, ...read };
    },
  });

/** liveQuery reads what new runs use, or null. */
export const liveQuery = (ns: Namespace, id: string) =>
  queryOptions({
    queryKey: ["config", ns, "live", id],
    enabled: present(ns, id),
    queryFn: async ({ signal }): Promise<Doc | null> => {
      try {
        return (await call("GET", `${at(ns, id)}?state=live`, undefined, {}, signal)).data as Doc;
      } catch (err) {
        if (err instanceof ApiError && err.status === 404) return null;
        throw err;
      }
    },
  });

export const metaQuery = (ns: Namespace, id: string) =>
  queryOptions({ queryKey: ["config", ns, "meta", id], enabled: present(ns, id), queryFn: async ({ signal }) => (await call("GET", `${at(ns, id)}/meta`, undefined, {}, signal)).data as Meta });

export const schemaQuery = (ns: Namespace) =>
  queryOptions({ queryKey: ["schema", ns], queryFn: async ({ signal }) => (await call("GET", `/v1/config/${ns}/$schema`, undefined, {}, signal)).data as Doc, staleTime: Infinity });

export const capabilitiesQuery = queryOptions({ queryKey: ["config", "capabilities"], queryFn: ({ signal }) => ask(api.GET("/v1/capabilities", { signal })) });

export const draftsQuery = queryOptions({ queryKey: ["config", "drafts"], queryFn: ({ signal }) => ask(api.GET("/v1/registry/drafts", { signal })) });

/** validate returns all problems of a document. */
export async function validate(ns: Namespace, id: string, doc: Doc): Promise<Problem[]> {
  try {
    const { data } = await call("POST", `/v1/config/${ns}/validate${id ? `?id=${encodeURIComponent(id)}` : ""}`, doc);
    return (data as { problems?: Problem[] }).problems ?? [];
  } catch (err) {
    if (err instanceof ApiError && (err.status === 400 || err.status === 422)) return problemsOf(err);
    throw err;
  }
}

export const problemsOf = (err: unknown): Problem[] => (err instanceof ApiError ? ((err.body as { problems?: Problem[] }).problems ?? []) : []);

/** save writes a document: as a draft, or for new runs. A built-in document keeps what it is made of, so only its changed fields are written. */
export async function save(ns: Namespace, id: string, doc: Doc, how: { publish: boolean; etag?: string; builtin?: boolean; live?: Doc | null; headers?: Record<string, string> }): Promise<Read> {
  const match = { ...how.headers, ...(how.etag && { "If-Match": how.etag }) };
  if (!id) {
    const { data, ...read } = await call("POST", `/v1/config/${ns}${how.publish ? "" : "?publish=false"}`, doc, how.headers);
    return { doc: data as Doc, ...read };
  }
  if (how.builtin && how.publish && how.live && (ns === "agents" || ns === "skills" || ns === "tools")) {
    const patch: Doc = {};
    for (const name of new Set([...Object.keys(doc), ...Object.keys(how.live)])) {
      if (name !== "id" && JSON.stringify(doc[name]) !== JSON.stringify(how.live[name])) patch[name] = doc[name] ?? null;
    }
    const { data, ...read } = await call("PATCH", `${at(ns, id)}/overrides`, patch, match);
    return { doc: data as Doc, ...read };
  }
  const { data, ...read } = await call("PUT", `${at(ns, id)}${how.publish ? "" : "?publish=false"}`, doc, match);
  return { doc: data as Doc, ...read };
}

/** remove removes a document, and then leaves its page. */
export async function remove(ns: Namespace, id: string, leave: () => Promise<void>) {
  leaving.add(`${ns}/${id}`);
  try {
    await call("DELETE", at(ns, id));
    await leave();
  } finally {
    leaving.delete(`${ns}/${id}`);
  }
}

export const discardDraft = (ns: Namespace, id: string) => call("DELETE", `/v1/registry/drafts/${ns}/${encodeURIComponent(id)}`);
export const removalPreview = async (ns: Namespace, id: string) => (await call("GET", `${at(ns, id)}/removal-preview`)).data as components["schemas"]["ConfigRemoval"];

/** override replaces fields of a built-in document, at once and for new runs. */
export async function override(ns: Namespace, id: string, patch: Doc, etag?: string): Promise<Read> {
  const { data, ...read } = await call("PATCH", `${at(ns, id)}/overrides`, patch, etag ? { "If-Match": etag } : {});
  return { doc: data as Doc, ...read };
}

/** revert gives a field of a built-in document back the value that it came with. */
export async function revert(ns: Namespace, id: string, field: string, etag?: string): Promise<Read> {
  const { data, ...read } = await call("DELETE", `${at(ns, id)}/overrides/${encodeURIComponent(field)}`, undefined, etag ? { "If-Match": etag } : {});
  return { doc: data as Doc, ...read };
}
