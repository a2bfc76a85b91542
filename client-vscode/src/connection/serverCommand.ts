// Finds what starts the server: the user's own command, the bundled server in a Python that fits, or, in a package that
// bundles none, the `planloom` that is installed.

import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";

import type { ServerState } from "../panel/messages";
import { t } from "../words";
import {
  type Command,
  findPython,
  installedServer,
  type RememberedPython,
  readBundle,
  startCommand,
  stillFits,
  toRemember,
} from "./python";

const PYTHON_KEY = "planloom.python";

/** The command, or the state that says why there is none; `wanted` names the Pythons that would fit. */
export type Found =
  | { readonly command: Command }
  | { readonly command?: undefined; readonly server: ServerState; readonly wanted?: string };

/** The command that starts the server. `cwd` is the folder in which Pythons are asked for their version. */
export async function serverCommand(extension: vscode.ExtensionContext, cwd: string): Promise<Found> {
  const settings = vscode.workspace.getConfiguration("planloom.server");
  const own = settings.inspect<string[]>("command")?.globalValue ?? [];
  const [program, ...args] = own;
  if (program !== undefined) return { command: { command: program, args } };
  const bundle = readBundle(extension.extensionPath);
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  if (bundle === undefined) {
    const installed = installedServer(process.env.PATH ?? "", homedir(), folders);
    if (installed !== undefined) return { command: installed };
    const detail = t(
      "This package carries no server, and no planloom is on PATH. Install the server with `uv tool install .` or `pipx install .` in a copy of Planloom's repository, then restart; or set planloom.server.command, or install the package for your platform.",
    );
    return { server: { kind: "stopped", detail } };
  }
  const setting = settings.inspect<string>("python")?.globalValue ?? "";
  const { globalState } = extension;
  const cache = join(extension.globalStorageUri.fsPath, "pycache");
  const again = stillFits(globalState.get<RememberedPython>(PYTHON_KEY), setting, bundle, folders);
  if (again !== undefined) return { command: startCommand(again, bundle, cache) };
  const found = await findPython(setting, await pythonsOfExtension(), bundle, folders, cwd);
  if (found.kind === "found") {
    void globalState.update(PYTHON_KEY, toRemember(setting, found.python, found.version));
    return { command: startCommand(found.python, bundle, cache) };
  }
  const wanted = t("Planloom needs Python {0}.", bundle.pythons.join(", "));
  const tried = found.tried.length === 0 ? t("None was found.") : t("Found: {0}.", found.tried.join(", "));
  return { server: { kind: "noPython", detail: `${wanted} ${tried}` }, wanted };
}

/** The interpreters that the Python extension knows. The search leaves out those inside an opened folder. */
async function pythonsOfExtension(): Promise<readonly string[]> {
  const python = vscode.extensions.getExtension("ms-python.python");
  if (python === undefined) return [];
  try {
    const api: unknown = await python.activate();
    if (typeof api !== "object" || api === null || !("environments" in api)) return [];
    const { known } = api.environments as { known?: readonly { executable?: { uri?: vscode.Uri } }[] };
    return (known ?? []).flatMap((each) => (each.executable?.uri === undefined ? [] : [each.executable.uri.fsPath]));
  } catch {
    return [];
  }
}
