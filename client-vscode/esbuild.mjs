// Builds the extension (one CommonJS file for the extension host) and the panel (one module for the webview).

import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const production = process.argv.includes("--production");
const common = {
  bundle: true,
  minify: production,
  sourcemap: !production,
  logLevel: "warning",
  // THIRD-PARTY-NOTICES.txt holds the licenses.
  legalComments: "none",
  metafile: true,
};

rmSync("out", { recursive: true, force: true });
mkdirSync("out/webview", { recursive: true });
const built = await Promise.all([
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
const icons = "node_modules/@vscode/codicons";
for (const name of ["codicon.css", "codicon.ttf"]) cpSync(`${icons}/dist/${name}`, `out/webview/${name}`);
for (const name of ["model", "review", "apply"].flatMap((step) => [`${step}-dark`, `${step}-light`]))
  cpSync(`../docs/images/guide-${name}.png`, `out/walkthrough/guide-${name}.png`);

// The packages of which something is in the bundle, for the notices and the bill of materials.
const files = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
const packages = files.flatMap((file) => file.match(/.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []);
mkdirSync("built", { recursive: true });
writeFileSync("built/packages.json", JSON.stringify([...new Set([...packages, icons])].sort()));
