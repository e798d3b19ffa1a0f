// Bundles the page of the starter in the working directory into its dist/.
import { cpSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";

const { build } = createRequire(`${process.cwd()}/package.json`)("esbuild"); // the starter's
mkdirSync("dist", { recursive: true });
cpSync("index.html", "dist/index.html");
await build({
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
});
