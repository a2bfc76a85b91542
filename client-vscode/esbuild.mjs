// Builds the extension (one CommonJS file for the extension host) and the panel (one module for the webview).

import { cpSync, mkdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const production = process.argv.includes("--production");
const common = { bundle: true, minify: production, sourcemap: !production, logLevel: "warning", legalComments: "none" };

rmSync("out", { recursive: true, force: true });
mkdirSync("out/webview", { recursive: true });
await Promise.all([
  build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "out/extension.js",
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
  }),
  build({
    ...common,
    entryPoints: ["src/webview/main.ts"],
    outfile: "out/webview/main.js",
    platform: "browser",
    format: "iife",
    target: "es2022",
  }),
  build({ ...common, entryPoints: ["src/webview/style.css"], outfile: "out/webview/style.css" }),
]);
for (const name of ["codicon.css", "codicon.ttf"])
  cpSync(`node_modules/@vscode/codicons/dist/${name}`, `out/webview/${name}`);
