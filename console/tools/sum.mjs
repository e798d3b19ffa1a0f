// The hash of everything that the console is built from, so that a test without Node.js can tell whether the built files are stale. It is
// computed in the same way by server/console/sum_test.go.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const roots = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts", "public", "src", "tools"];

function files(name) {
  try {
    return readdirSync(name, { withFileTypes: true }).flatMap((e) => files(`${name}/${e.name}`));
  } catch {
    return [name];
  }
}

export function sum() {
  const all = roots.flatMap(files).filter((f) => f !== "src/api/schema.d.ts"); // types are not in the built files
  const lines = all.sort().map((f) => `${createHash("sha256").update(readFileSync(f)).digest("hex")}  ${f}\n`);
  return createHash("sha256").update(lines.join("")).digest("hex");
}
