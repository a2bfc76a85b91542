// Drives every journey in a real workbench and prints the figures: node run.mjs TOOLS VSIX SHOTS [NAMES], a regular expression
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ATTENTION } from "./attention.mjs";
import { CHAT } from "./chat.mjs";
import { COMPOSING } from "./composing.mjs";
import { DECISIONS } from "./decisions.mjs";
import { DEMO } from "./demo.mjs";
import { DOCUMENTS } from "./documents.mjs";
import { FIGURES } from "./figures.mjs";
import { FIRST_RUN } from "./firstRun.mjs";
import { GRAPH } from "./graph.mjs";
import { IMAGES } from "./images.mjs";
import { JOURNEYS } from "./journeys.mjs";
import { JUDGING, RENAMING } from "./judging.mjs";
import { startModel, WITH_MODEL } from "./model.mjs";
import { NEW_FILES } from "./newFiles.mjs";
import { NODES } from "./nodes.mjs";
import { RECORDING } from "./recording.mjs";
import { REVIEWING } from "./reviewing.mjs";
import { german, languages, looks, storm, thinking } from "./scripted.mjs";
import { TEMPLATES } from "./templates.mjs";
import { USED } from "./used.mjs";
import { WALKING } from "./walking.mjs";
import { SIXTY_FILES, WINDOWS } from "./windows.mjs";
import { startWorkbench } from "./workbench.mjs";

const JOURNEY_SECONDS = 240;
/** The whole run: it must end whatever hangs. */
const RUN_SECONDS = Number(process.env.E2E_SECONDS ?? 2100);
const ATTEMPTS = 2;

const [tools, vsix, shots, only = ""] = process.argv.slice(2);
const out = join(import.meta.dirname, "../../dist/e2e");
const began = Date.now();
const lap = (line) => console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`);
const [failures, flaky] = [[], []];
const stops = new Set();

function workspace(files) {
  const folder = mkdtempSync(join(tmpdir(), "planloom-work-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

async function within(seconds, what, work) {
  let timer;
  const late = new Promise(
    (_, reject) =>
      (timer = setTimeout(() => reject(new Error(`${what} took more than ${seconds} s.`)), seconds * 1000)),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function attempt(workbench, { files, run, isEmpty = false, ...opened }, more) {
  const folder = workspace(files);
  try {
    const window = await workbench.open(isEmpty ? undefined : folder, opened);
    const result = await run({ window, folder, shots, ...more });
    if (window.barriers.size > 0)
      throw new Error(`Barriers:\n${[...window.barriers].map(([barrier, shot]) => `${shot}: ${barrier}`).join("\n")}`);
    return result;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What there was to see and to read when a journey failed. */
async function keep(workbench, name, number, error) {
  const at = join(out, `${name.replaceAll(/\W+/g, "-")}-${number}`);
  await workbench.context
    .pages()[0]
    ?.screenshot({ path: `${at}.png`, timeout: 10_000 })
    .catch(() => undefined);
  writeFileSync(`${at}.log`, `${error.stack}\n\n${workbench.log()}`);
  return at;
}

async function journey(workbench, each, more) {
  for (let number = 1; number <= ATTEMPTS; number++) {
    try {
      if (number > 1) await more.model?.again();
      more.reset();
      const result = await within(each.seconds ?? JOURNEY_SECONDS, each.name, attempt(workbench, each, more));
      if (number > 1) flaky.push(each.name);
      lap(`${number > 1 ? "FLAKY" : "ok   "} ${each.name}`);
      return result;
    } catch (error) {
      const kept = await keep(workbench, each.name, number, error);
      lap(
        `${number === ATTEMPTS ? "FAIL " : "again"} ${each.name}: ${error.stack}\n          see ${kept}.png and .log`,
      );
    }
  }
  failures.push(each.name);
  return undefined;
}

/** Journeys with these settings of the machine, one after the other. */
async function series(workbench, machine, journeys, more = {}) {
  const reset = () => workbench.setSeries(machine);
  const results = {};
  for (const each of journeys) {
    if (new RegExp(only).test(each.name)) results[each.name] = await journey(workbench, each, { ...more, reset });
  }
  return results;
}

async function giveUp(why) {
  console.log(why);
  await Promise.allSettled([...stops].map((stop) => stop()));
  process.exit(1);
}

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void giveUp(`The run was ended by ${signal}.`));
setTimeout(() => void giveUp(`The whole run took more than ${RUN_SECONDS} s.`), RUN_SECONDS * 1000).unref();

if (only === "") rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
mkdirSync(shots, { recursive: true });
const model = await startModel();
stops.add(model.stop);
const workbench = await startWorkbench({ tools, vsix }).catch((error) => giveUp(error.stack));
stops.add(workbench.stop);
lap("the workbench is up");
const project = join(import.meta.dirname, "..", "..");
const fake = [join(project, ".venv", "bin", "python"), join(project, "tests", "support", "scripted_server.py")];
// Without a choice, a request would be held until a model is found.
const WITHOUT_MODEL = { "planloom.model.provider": "embedded" };
const COVERED = [NEW_FILES, DEMO].flat();
// Most journeys are about the questions of a running plan, also where its approval covers the calls.
const ASKING = { "planloom.approvals.plan": "none" };
const LITERAL = [
  JOURNEYS,
  DECISIONS,
  USED,
  ATTENTION,
  COMPOSING,
  TEMPLATES,
  DOCUMENTS,
  REVIEWING,
  RENAMING,
  WALKING,
  WINDOWS,
].flat();
const DRAFTED = [WITH_MODEL, GRAPH, NODES, IMAGES, JUDGING, FIGURES].flat();
await series(workbench, WITHOUT_MODEL, COVERED);
const { [SIXTY_FILES]: sixtyFilesMs } = await series(workbench, { ...WITHOUT_MODEL, ...ASKING }, LITERAL);
const log = workbench.log();
const QUIET_MODEL = { "planloom.planning.perspectives": "never", "planloom.planning.classifyWithModel": "never" };
await series(workbench, QUIET_MODEL, FIRST_RUN, { model });
await series(workbench, WITHOUT_MODEL, CHAT);
await series(workbench, { ...model.machine, ...ASKING }, DRAFTED, { model });
// The film tests nothing that no other journey does, and takes a minute: it is made for who names it.
if (only !== "") await series(workbench, model.machine, RECORDING, { model });
const scripted = await series(workbench, { "planloom.server.command": fake }, [
  thinking,
  looks,
  languages,
  german,
  storm,
]);
if (workbench.outside.length > 0) failures.push(`requests left the machine: ${workbench.outside.join(", ")}`);
await Promise.allSettled([...stops].map((stop) => stop()));

const numbers = (log, pattern) => [...log.matchAll(pattern)].map(([, value]) => Number(value)).sort((a, b) => a - b);
const spread = (values) => ({ least: values[0], median: values[Math.floor(values.length / 2)], most: values.at(-1) });
const figures = {
  journeys: COVERED.length + LITERAL.length + FIRST_RUN.length + CHAT.length + DRAFTED.length,
  failures: failures.length,
  flaky: flaky.length,
  seconds: Math.round((Date.now() - began) / 1000),
  load: loadavg()[0],
  vsixMB: Number((statSync(vsix).size / 1e6).toFixed(1)),
  activationMs: spread(numbers(log, /Activated in ([\d.]+) ms/g)),
  serverReadyMs: spread(numbers(log, /Server ready after (\d+) ms/g)),
  sixtyFilesMs,
  panelUpdateMs: scripted[storm.name],
};
console.log(JSON.stringify(figures));
if (flaky.length > 0) console.log(`${flaky.length} flaky, passed when tried again:\n${flaky.join("\n")}`);
if (failures.length > 0) console.log(`${failures.length} failed:\n${failures.join("\n")}`);
process.exit(failures.length > 0 ? 1 : 0);
