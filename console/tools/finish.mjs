// Finishes a build: compressed copies beside the files that compress well, and the hash of the sources.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { sum } from "./sum.mjs";

const dist = process.env.CONSOLE_DIST ?? "../server/console/dist";
let plain = 0;
let zipped = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const name = join(entry.parentPath ?? entry.path, entry.name);
  if (!entry.isFile() || !/\.(js|css|svg)$/.test(name)) continue;
  const data = readFileSync(name);
  const gz = gzipSync(data, { level: 9 });
  writeFileSync(name + ".gz", gz);
  writeFileSync(name + ".br", brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: data.length } }));
  plain += data.length;
  zipped += gz.length;
}
writeFileSync(join(dist, "..", "dist.sum"), sum() + "\n");
console.log(`${(plain / 1024).toFixed(0)} KB, ${(zipped / 1024).toFixed(0)} KB with gzip`);
