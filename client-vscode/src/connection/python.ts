// Finds a Python for the bundled server: by the setting, the Python extension or PATH, never in an opened folder.

import { execFile } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";
import { promisify } from "node:util";
import { t } from "../words";

const run = promisify(execFile);
const NAMES =
  process.platform === "win32"
    ? ["python.exe", "python3.exe"]
    : ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
const PROBE = "import sys; print('%d.%d' % sys.version_info[:2])";
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

export function readBundle(extensionPath: string): Bundle | undefined {
  const folder = join(extensionPath, "bundled");
  const about = join(folder, "bundle.json");
  if (!existsSync(about)) return undefined;
  const read: unknown = JSON.parse(readFileSync(about, "utf8"));
  if (typeof read !== "object" || read === null || !("pythons" in read) || !Array.isArray(read.pythons))
    return undefined;
  return { folder, pythons: read.pythons.map(String) };
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
    const version = await probe(candidate, cwd);
    if (version !== undefined && bundle.pythons.includes(version)) return { kind: "found", python: candidate, version };
    tried.push(`${candidate} (${version ?? t("does not run")})`);
  }
  return { kind: "none", tried };
}

/** The Pythons in the absolute folders of PATH, in their order. */
export function onPath(path: string): readonly string[] {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).filter((file) => existsSync(file));
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

async function probe(python: string, cwd: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(python, ["-I", "-S", "-c", PROBE], {
      cwd,
      env: environment(process.env),
      timeout: PROBE_MS,
    });
    return stdout.trim();
  } catch {
    return undefined;
  }
}
