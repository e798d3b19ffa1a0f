// Finishes a build: the hash of the sources.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { sum } from "./sum.mjs";

const dist = process.env.CONSOLE_DIST ?? "../server/console/dist";
let plain = 0;
let zipped = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const name = join(entry.parentPath ?? entry.path, entry.name);
  if (!entry.isFile() || !/\.(js|css|svg)$/.test(name)) continue;
  const data = readFileSync(name);
  plain += data.length;
  zipped += gzipSync(data, { level: 9 }).length;
}
writeFileSync(join(dist, "..", "dist.sum"), sum() + "\n");
console.log(`${(plain / 1024).toFixed(0)} KB, ${(zipped / 1024).toFixed(0)} KB with gzip`);
