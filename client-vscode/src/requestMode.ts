// How new requests are sent: as chosen in this workspace, else by the user's setting.

import * as vscode from "vscode";

import type { Mode } from "./panel/messages";

const KEY = "planloom.mode";

export function requestMode(extension: vscode.ExtensionContext): Mode {
  const setting = vscode.workspace.getConfiguration("planloom.composer").get<Mode>("mode");
  return extension.workspaceState.get<Mode>(KEY) ?? setting ?? "auto";
}

export async function keepRequestMode(extension: vscode.ExtensionContext, mode: Mode): Promise<void> {
  await extension.workspaceState.update(KEY, mode);
}
