// Drives every journey in a real workbench and prints the figures: node run.mjs TOOLS VSIX SHOTS [NAME_PART]
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { JOURNEYS } from "./journeys.mjs";
import { looks, storm } from "./scripted.mjs";
import { startWorkbench } from "./workbench.mjs";

const [tools, vsix, shots, only = ""] = process.argv.slice(2);
const failures = [];
const failed = join(import.meta.dirname, "../../dist/e2e");
const began = Date.now();
const lap = (line) => console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`);

function workspace(files) {
  const folder = mkdtempSync(join(tmpdir(), "planloom-work-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

async function journey(workbench, { name, files, run }) {
  const folder = workspace(files);
  try {
    const window = await workbench.open(folder);
    const result = await run({ window, folder, shots });
    lap(`ok    ${name}`);
    return result;
  } catch (error) {
    failures.push(name);
    lap(`FAIL  ${name}: ${error.stack}`);
    await workbench.context.pages()[0]?.screenshot({ path: join(failed, `failed-${failures.length}.png`) }).catch(() => undefined);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function session(options, journeys) {
  const workbench = await startWorkbench({ tools, vsix, ...options });
  const results = [];
  try {
    for (const each of journeys) if (each.name.includes(only)) results.push(await journey(workbench, each));
    if (workbench.outside.length > 0) failures.push(`requests left the machine: ${workbench.outside.join(", ")}`);
    return { results, log: workbench.log() };
  } finally {
    if (failures.length > 0) console.log(workbench.log().split("\n").slice(-60).join("\n"));
    await workbench.stop();
  }
}

mkdirSync(shots, { recursive: true });
mkdirSync(failed, { recursive: true });
const real = await session({}, JOURNEYS);
const fake = join(import.meta.dirname, "fake-server.mjs");
const scripted = await session({ machine: { "planloom.server.command": [process.execPath, fake] } }, [looks, storm]);

const numbers = (log, pattern) => [...log.matchAll(pattern)].map(([, value]) => Number(value)).sort((a, b) => a - b);
const spread = (values) => ({ least: values[0], median: values[Math.floor(values.length / 2)], most: values.at(-1) });
const figures = {
  journeys: JOURNEYS.length,
  failures: failures.length,
  vsixMB: Number((statSync(vsix).size / 1e6).toFixed(1)),
  activationMs: spread(numbers(real.log, /Activated in ([\d.]+) ms/g)),
  serverReadyMs: spread(numbers(real.log, /Server ready after (\d+) ms/g)),
  panelUpdateMs: scripted.results.at(-1),
};
console.log(JSON.stringify(figures));
if (failures.length > 0) console.log(`${failures.length} failed:\n${failures.join("\n")}`);
process.exit(failures.length > 0 ? 1 : 0);
