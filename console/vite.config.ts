import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page has <base href>, which the server sets to where it is served, so all addresses in the built files are relative.
export default defineConfig({
  base: "./",
  plugins: [react(), tailwind()],
  build: {
    outDir: process.env.CONSOLE_DIST ?? "../server/console/dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    sourcemap: false,
  },
  server: { port: 3002, proxy: { "/v1": "http://127.0.0.1:3000", "/openapi.json": "http://127.0.0.1:3000" } },
});
