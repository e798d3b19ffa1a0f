// Bundles the page of the starter in the working directory into its dist/. Each file is replaced at once, so a page that is loaded meanwhile gets
// the old or the new one, whole.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const { build } = createRequire(`${process.cwd()}/package.json`)("esbuild"); // the starter's
const { outputFiles } = await build({
  entryPoints: ["src/main.tsx"],
  outfile: "dist/main.js",
  bundle: true,
  minify: true,
  format: "esm",
  jsx: "automatic",
  target: "es2022",
  nodePaths: ["node_modules"], // the packages of ../starter/genui.tsx are the starter's
  loader: { ".woff": "dataurl", ".woff2": "dataurl", ".ttf": "dataurl" },
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
  write: false,
});
mkdirSync("dist", { recursive: true });
for (const { path, contents } of [{ path: "dist/index.html", contents: readFileSync("index.html") }, ...outputFiles]) {
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
}
