// Runs a starter, as `npm start` in the neighbouring folders does: builds the page, starts
// `awaken serve --seed demo`, and serves both under one address:
//
//   npm install && npm start        then open http://127.0.0.1:3001
//
// AWAKEN_BIN is the server binary (default: go run ./cmd/awaken), AWAKEN_URL the address of a
// running server to use instead, PORT the port of the page. With AWAKEN_BUILT=1, the page is not built again.
import { spawn } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";

if (process.env.AWAKEN_BUILT !== "1") await import("./build.mjs");

const root = fileURLToPath(new URL("../..", import.meta.url));
const port = Number(process.env.PORT ?? 3001);
const server = new URL(process.env.AWAKEN_URL ?? "http://127.0.0.1:3000");

if (!process.env.AWAKEN_URL) {
  const [program, ...args] = process.env.AWAKEN_BIN ? [process.env.AWAKEN_BIN] : ["go", "run", "./cmd/awaken"];
  const child = spawn(program, [...args, "serve", "--seed", "demo", "--address", server.host], { cwd: root, stdio: "inherit" });
  child.on("exit", (code) => process.exit(code ?? 1));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
}

const types = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

createServer((req, res) => {
  if (req.url.startsWith("/v1/")) {
    // The server's answers, as they come. A page of another origin would need to be one of
    // the server's origins: see "Connect a page" in docs/aisdk.md and docs/agui.md.
    const { host, origin, ...headers } = req.headers;
    const up = request(new URL(req.url, server), { method: req.method, headers }, (got) => {
      res.writeHead(got.statusCode, got.headers);
      got.pipe(res);
      got.on("error", () => res.destroy());
      got.on("aborted", () => res.destroy());
    });
    up.on("error", (e) => (res.headersSent ? res.destroy() : res.writeHead(502).end(`awaken does not answer: ${e.message}`)));
    res.on("close", () => up.destroy());
    req.pipe(up);
    return;
  }
  const name = req.url === "/" || req.url.startsWith("/?") ? "index.html" : req.url.slice(1);
  const file = `dist/${name}`;
  if (!/^[a-z]+\.(html|js|css)$/.test(name) || !existsSync(file)) return res.writeHead(404).end();
  res.writeHead(200, { "content-type": types[name.split(".").pop()] });
  createReadStream(file).pipe(res);
}).listen(port, "127.0.0.1", () => console.log(`The page is at http://127.0.0.1:${port}`));
