// Reads the settings of the editor. Those that only the user may set are sent apart from those that a folder may set.

import * as vscode from "vscode";

import { contributes } from "../../package.json";

/** The settings of the extension itself, which the server does not have. */
const OWN = /^planloom\.(composer|server|trace)\./;
const SERVERS = Object.entries(contributes.configuration.properties).filter(([name]) => !OWN.test(name));

type Scope = "machine" | "machine-overridable" | undefined;

const withScope = (...scopes: readonly Scope[]): readonly string[] =>
  SERVERS.filter(([, declared]) => scopes.includes("scope" in declared ? (declared.scope as Scope) : undefined)).map(
    ([name]) => name.replace("planloom.", ""),
  );

/** Settings of which the user's own values are sent apart: a folder may set none of them, or only narrow them. */
const USERS = withScope("machine", "machine-overridable");

/** Settings that an opened folder may set or narrow. */
const SHARED = withScope(undefined, "machine-overridable");

export type Values = Record<string, unknown>;

/** The user's own values, without defaults: for the others the server reads its configuration file. */
export function userValues(): Values {
  const section = vscode.workspace.getConfiguration("planloom");
  const found: Values = {};
  for (const name of USERS) {
    const value = section.inspect(name)?.globalValue;
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** The defaults of these settings. */
export function defaults(names: readonly string[]): Values {
  const section = vscode.workspace.getConfiguration("planloom");
  return Object.fromEntries(names.map((name) => [name, section.inspect(name)?.defaultValue]));
}

/** The values of the shared settings, if set; VS Code leaves out those that are restricted in an untrusted folder. */
export function sharedValues(scope?: vscode.Uri): Values {
  const section = vscode.workspace.getConfiguration("planloom", scope);
  const found: Values = {};
  for (const name of SHARED) {
    const values = section.inspect(name);
    if (
      values?.globalValue === undefined &&
      values?.workspaceValue === undefined &&
      values?.workspaceFolderValue === undefined
    )
      continue;
    nest(found, name, section.get(name));
  }
  return found;
}

function nest(into: Values, name: string, value: unknown): void {
  const [first = "", ...rest] = name.split(".");
  if (rest.length === 0) into[first] = value;
  else {
    into[first] ??= {};
    nest(into[first] as Values, rest.join("."), value);
  }
}
