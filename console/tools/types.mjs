// Writes src/api/schema.d.ts, the types of the API, from the OpenAPI document of the server: of the program that $AWAKEN_BIN names, or of
// one that is built from this repository.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";

// The routes of the protocols have clients of their own.
const foreign = /^\/(?!v1\/)|^\/v1\/(a2a|ag-ui|mcp|chat|responses|conversations|embeddings)(\/|$)|^\/v1\/ai-sdk\/(?!agent-previews)/;

// keepUsed removes the schemas that no path refers to.
function keepUsed(document) {
  const used = new Set();
  const visit = (value) => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (value === null || typeof value !== "object") return;
    const name = /^#\/components\/schemas\/(.+)$/.exec(value.$ref ?? "")?.[1];
    if (name && !used.has(name)) {
      used.add(name);
      visit(document.components.schemas[name]);
    }
    Object.values(value).forEach(visit);
  };
  visit(document.paths);
  for (const name of ["CanonicalEvent", "FeedEvent"]) visit({ $ref: `#/components/schemas/${name}` }); // in streams
  for (const name of Object.keys(document.components.schemas)) if (!used.has(name)) delete document.components.schemas[name];
}

const dir = mkdtempSync(join(tmpdir(), "awaken-types-"));
try {
  let bin = process.env.AWAKEN_BIN;
  if (!bin) {
    bin = join(dir, "awaken");
    execFileSync("go", ["build", "-o", bin, "./cmd/awaken"], { cwd: "..", stdio: "inherit" });
  }
  const server = spawn(bin, ["serve", "--address", "127.0.0.1:0", "--storage-dir", dir, "--log-level", "error"], { cwd: dir, env: { ...process.env, AWAKEN_EXPOSE_TRACE_ROUTES: "true" }, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await new Promise((resolve, reject) => {
      let said = "";
      server.stdout.on("data", (chunk) => {
        const found = /listens on (\S+)/.exec((said += chunk));
        if (found) resolve(found[1]);
      });
      server.on("exit", (code) => reject(new Error(`the server ended with status ${code} before it listened`)));
    });
    const document = await (await fetch(`${url}/openapi.json`)).json();
    document.info.version = "";
    for (const path of Object.keys(document.paths)) if (foreign.test(path)) delete document.paths[path];
    keepUsed(document);
    const text = astToString(await openapiTS(document, { defaultNonNullable: false }));
    writeFileSync("src/api/schema.d.ts", "// Made by `npm run types` from the server's OpenAPI document. Do not edit it.\n\n" + text);
  } finally {
    server.removeAllListeners("exit");
    const gone = new Promise((resolve) => server.on("exit", resolve));
    server.kill();
    await gone;
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
