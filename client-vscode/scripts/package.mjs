// Makes the .vsix of one platform, or that for all without a server: node scripts/package.mjs [--target linux-x64|universal] [--out FILE].
import { execFileSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const client = join(dirname(fileURLToPath(import.meta.url)), "..");
const project = join(client, "..");
const option = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const target = option("--target", `${process.platform}-${process.arch}`);
const out = resolve(option("--out", join(project, "dist", `planloom-${target}.vsix`)));
const python = process.env.PLANLOOM_PYTHON ?? join(project, ".venv/bin/python");
const run = (command, args, cwd = client) =>
  execFileSync(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] });

mkdirSync(dirname(out), { recursive: true });
run(python, ["-m", "supply.bundle", "--target", target], project);
run(process.execPath, ["esbuild.mjs", "--production"]);
run(python, ["-m", "supply.notices"], project);
run(python, ["-m", "supply.sbom"], project);
run(process.execPath, [
  "node_modules/@vscode/vsce/vsce",
  "package",
  "--no-dependencies",
  "--skip-license",
  ...(target === "universal" ? [] : ["--target", target]),
  "--out",
  out,
]);
run(python, ["-m", "supply.archive", out], project);
console.log(`${out} ${(statSync(out).size / 1e6).toFixed(1)} MB`);
