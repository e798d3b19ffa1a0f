/** A warning about a document. */
export interface Warning {
  code: string;
  message: string;
}

/** warningsOf returns the warnings in the headers of a response. Browsers join headers of one name by commas. */
export function warningsOf(headers: Headers): Warning[] {
  const all = headers.get("X-Awaken-Warning");
  return (all?.split(/, (?=[a-z][a-z0-9_]*: )/) ?? []).map((w) => {
    const [, code = "", message = w] = /^([a-z][a-z0-9_]*): (.*)$/.exec(w) ?? [];
    return { code, message };
  });
}
