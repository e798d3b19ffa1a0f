import createClient, { type Middleware } from "openapi-fetch";
import { ApiError, failureOf } from "./errors";
import type { paths } from "./schema";

/** Where the server is, without a slash at its end: the page's <base>, which the server sets. */
export const base = new URL(".", document.baseURI).href.replace(/\/$/, "");

/** The path of the console, for the router. */
export const basePath = new URL(base).pathname;

const TENANT = "awaken.tenant";
let tenant = sessionStorage.getItem(TENANT) ?? "";

/** The tenant that an administrator of the server looks at; "" is that of the key. */
export const tenantOf = () => tenant;

export function setTenant(name: string) {
  tenant = name;
  if (name) sessionStorage.setItem(TENANT, name);
  else sessionStorage.removeItem(TENANT);
}

export function headers(): Record<string, string> {
  return tenant ? { "X-Awaken-Tenant": tenant } : {};
}

const middleware: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(headers())) request.headers.set(name, value);
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok) throw await failureOf(response);
    return undefined;
  },
  onError({ error }) {
    if (error instanceof ApiError) return error;
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return new ApiError(0, { error: String(error) }, "");
  },
};

export const api = createClient<paths>({ baseUrl: base, credentials: "same-origin", headers: { Accept: "application/json" } });
api.use(middleware);

/** ask returns the data of a request, or fails with an ApiError. */
export async function ask<T>(request: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  return (await request).data as NonNullable<T>;
}
