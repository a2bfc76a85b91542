// Dialogs of several commands: a modal question that has one button besides Cancel, and a file to export into.

import * as vscode from "vscode";

import { t } from "../words";

/** Ask a modal question; whether the user chose `yes`, the label of its button. */
export async function confirmed(question: string, detail: string, yes: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, yes)) === yes;
}

/** Ask into which file to export; `name` is proposed, in the first folder of the workspace. */
export async function exportTarget(
  title: string,
  name: string,
  filters: Record<string, string[]>,
): Promise<vscode.Uri | undefined> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  return vscode.window.showSaveDialog({
    title,
    saveLabel: t("Export"),
    filters,
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
  });
}

/** Whether the name of a file says that it holds JSON. */
export function isJson({ path }: vscode.Uri): boolean {
  return path.toLowerCase().endsWith(".json");
}

/** Write a text into a file, and show it. */
export async function writeAndShow(file: vscode.Uri, text: string): Promise<void> {
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
  await vscode.window.showTextDocument(file, { preview: true });
}
