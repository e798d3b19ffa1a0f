// Strips the types of the tests, and nothing else: packages stay what they are.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
await build({
  entryPoints: readdirSync("src").filter((f) => f.endsWith(".test.ts")).map((f) => `src/${f}`),
  outdir: "dist",
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
});
