// Bundles the page into dist/.
import { build } from "esbuild";
import { cpSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
mkdirSync(`${here}dist`, { recursive: true });
cpSync(`${here}index.html`, `${here}dist/index.html`);
await build({
  entryPoints: [`${here}src/main.tsx`],
  outfile: `${here}dist/main.js`,
  bundle: true,
  minify: true,
  format: "esm",
  jsx: "automatic",
  target: "es2022",
  loader: { ".woff": "dataurl", ".woff2": "dataurl", ".ttf": "dataurl" },
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});
