import type { components } from "./schema";

type Body = components["schemas"]["ErrorBody"];

/** A request that the server refused or could not answer. */
export class ApiError extends Error {
  /** 0 if there was no response. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly body: Partial<Body>;

  constructor(status: number, body: Partial<Body>, requestId: string) {
    super(body.error ?? `status ${status}`);
    this.name = "ApiError";
    this.status = status;
    this.code = body.code ?? (status === 0 ? "unreachable" : `http_${status}`);
    this.requestId = requestId;
    this.body = body;
  }

  /** Whether the same request may succeed later. */
  get temporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export type Kind = "unreachable" | "signIn" | "noPermission" | "notThere" | "notInThisServer" | "conflict" | "failed";

/** kindOf says what an error means to a person. */
export function kindOf(err: unknown): Kind {
  if (!(err instanceof ApiError)) return "failed";
  switch (err.status) {
    case 0:
    case 502:
      return "unreachable";
    case 401:
      return "signIn";
    case 403:
      return "noPermission";
    case 404:
      return "notThere";
    case 409:
    case 412:
      return "conflict";
    case 503:
      return err.code === "unavailable" || err.code === "not_configured" ? "notInThisServer" : "failed";
    default:
      return "failed";
  }
}

/** failureOf reads the error from a response. */
export async function failureOf(res: Response): Promise<ApiError> {
  let body: Partial<Body> = {};
  try {
    body = (await res.clone().json()) as Partial<Body>;
  } catch {
    // not JSON: a proxy's page, or nothing
  }
  return new ApiError(res.status, body, res.headers.get("X-Request-Id") ?? "");
}
