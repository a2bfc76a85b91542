// Finds a Python for the bundled server, by the setting, the Python extension or PATH, or an installed server where none
// is bundled; never in an opened folder.

import { execFile } from "node:child_process";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { t } from "../words";

const run = promisify(execFile);
const NAMES =
  process.platform === "win32"
    ? ["python.exe", "python3.exe"]
    : ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
const SERVER = process.platform === "win32" ? "planloom.exe" : "planloom";
const PROBE = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)";
const PROBE_MS = 10_000;

/** The bundled server, and the versions of Python that its compiled parts fit. */
interface Bundle {
  folder: string;
  pythons: readonly string[];
}

export interface Command {
  command: string;
  args: readonly string[];
}

type Found = { kind: "found"; python: string; version: string } | { kind: "none"; tried: readonly string[] };

/** The Python that was found last, and for what: asking all candidates anew takes longer than the server's own start. */
export interface RememberedPython {
  /** The setting and PATH by which it was found. */
  readonly by: string;
  readonly python: string;
  readonly version: string;
  /** When its program was last changed, in milliseconds since 1970: a new one may be another version. */
  readonly changed: number;
}

/** A Python to be remembered, found by this setting and PATH. */
export function toRemember(setting: string, python: string, version: string): RememberedPython {
  return { by: foundBy(setting), python, version, changed: statSync(python).mtimeMs };
}

/** The remembered Python, if it would be found again and none of an opened folder is meant. */
export function stillFits(
  remembered: RememberedPython | undefined,
  setting: string,
  bundle: Bundle,
  folders: readonly string[],
): string | undefined {
  if (remembered === undefined || remembered.by !== foundBy(setting)) return undefined;
  if (!bundle.pythons.includes(remembered.version) || (setting === "" && isInside(remembered.python, folders)))
    return undefined;
  const stat = statSync(remembered.python, { throwIfNoEntry: false });
  return stat?.mtimeMs === remembered.changed ? remembered.python : undefined;
}

function foundBy(setting: string): string {
  return `${setting}\n${process.env.PATH ?? ""}`;
}

export function readBundle(extensionPath: string): Bundle | undefined {
  const folder = join(extensionPath, "bundled");
  const about = join(folder, "bundle.json");
  if (!existsSync(about)) return undefined;
  const read = v.safeParse(v.object({ pythons: v.array(v.string()) }), JSON.parse(readFileSync(about, "utf8")));
  return read.success ? { folder, pythons: read.output.pythons } : undefined;
}

/**
 * The command that starts the server, isolated from its surroundings: `-I` leaves out the working folder, PYTHON* and
 * the user's packages, `-S` the interpreter's own packages.
 */
export function startCommand(python: string, bundle: Bundle, cache: string): Command {
  return {
    command: python,
    args: [
      "-I",
      "-S",
      "-X",
      "utf8",
      "-X",
      `pycache_prefix=${cache}`,
      join(bundle.folder, "start.py"),
      "serve",
      "--stdio",
    ],
  };
}

/** The user's environment without the variables that change how Python starts. */
export function environment(from: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(from).filter(([name]) => !/^(PYTHON|VIRTUAL_ENV|CONDA_|ELECTRON_RUN_AS_NODE|VSCODE_)/i.test(name)),
  );
}

/** The first candidate that runs and fits the bundle. If `setting` is not empty, nothing else is tried. */
export async function findPython(
  setting: string,
  fromExtension: readonly string[],
  bundle: Bundle,
  folders: readonly string[],
  cwd: string,
): Promise<Found> {
  const candidates = setting === "" ? [...fromExtension, ...onPath(process.env.PATH ?? "")] : [setting];
  const tried: string[] = [];
  for (const candidate of [...new Set(candidates)]) {
    if (!isAbsolute(candidate) || (setting === "" && isInside(candidate, folders))) continue;
    const { version, program } = (await probe(candidate, cwd)) ?? {};
    if (version !== undefined && bundle.pythons.includes(version)) {
      // What a version manager puts on PATH is a script that looks for the interpreter at each start.
      const own = program !== undefined && isAbsolute(program) && existsSync(program) && !isInside(program, folders);
      return { kind: "found", python: own ? program : candidate, version };
    }
    tried.push(`${candidate} (${version ?? t("does not run")})`);
  }
  return { kind: "none", tried };
}

/** The programs of these names, by default Pythons, in the absolute folders of PATH, in their order. */
export function onPath(path: string, names: readonly string[] = NAMES): readonly string[] {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).filter((file) => existsSync(file));
}

/** The first `planloom` on PATH or where pipx and uv put it, which the PATH of an editor often lacks. */
export function installedServer(path: string, home: string, folders: readonly string[]): Command | undefined {
  const places = [path, join(home, ".local", "bin")].join(delimiter);
  const program = onPath(places, [SERVER]).find((file) => !isInside(file, folders));
  return program === undefined ? undefined : { command: program, args: ["serve", "--stdio"] };
}

/** Whether a file is inside an opened folder, directly or by a link. */
export function isInside(file: string, folders: readonly string[]): boolean {
  const places = [file, resolved(dirname(file)), resolved(file)];
  return folders
    .flatMap((folder) => [folder, resolved(folder)])
    .some((folder) =>
      places.some((place) => place === folder || place.startsWith(folder.endsWith(sep) ? folder : folder + sep)),
    );
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

async function probe(
  python: string,
  cwd: string,
): Promise<{ version: string | undefined; program: string | undefined } | undefined> {
  try {
    const { stdout } = await run(python, ["-I", "-S", "-c", PROBE], {
      cwd,
      env: environment(process.env),
      timeout: PROBE_MS,
    });
    const [version, program] = stdout.trim().split(/\r?\n/);
    return { version, program };
  } catch {
    return undefined;
  }
}
