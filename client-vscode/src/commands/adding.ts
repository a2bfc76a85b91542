// The commands that add references to the composer: of the editor, the explorer, source control and the terminal.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import { linesOf, referenceTo } from "../references";
import { t } from "../words";
import { confirmed } from "./dialogs";

/** Add the selected lines of the active editor, or its file if nothing is selected. */
export function addSelection(ctx: Ctx): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return tell(ctx, t("No file is open."));
  const path = pathOf(editor.document.uri);
  if (path === undefined) return tell(ctx, outside());
  return ctx.panel.compose({ references: selectedLines(editor) ?? [referenceTo(path)] });
}

/** References to the selected lines of a file of the workspace; undefined if nothing is selected, or in another file. */
export function selectedLines({ document, selections }: vscode.TextEditor): string[] | undefined {
  const path = pathOf(document.uri);
  const chosen = selections.filter((each) => !each.isEmpty);
  if (path === undefined || chosen.length === 0) return undefined;
  return chosen.map(({ start, end }) => referenceTo(path, linesOf(start, end)));
}

/** Add files and folders: those that are selected in the explorer, else the one that the menu was opened on. */
export function addFiles(ctx: Ctx, clicked: unknown, selected: unknown): Promise<void> {
  const uris = urisIn(selected, clicked);
  const active = vscode.window.activeTextEditor?.document.uri;
  return addPaths(ctx, uris.length === 0 && active !== undefined ? [active] : uris);
}

/** Add the changes since the last commit: of the chosen files, or all. */
export function addChanges(ctx: Ctx, ...chosen: readonly unknown[]): Promise<void> {
  const uris = chosen.flatMap((each) => resourcesIn(each));
  return uris.length === 0 ? ctx.panel.compose({ references: ["@git"] }) : addPaths(ctx, uris, "git");
}

/**
 * Add the text that is selected in the terminal. It is sent with the request that has `@terminal`. An extension can
 * read a terminal's selection only through the clipboard, of which it can put back no more than text.
 */
export async function addTerminal(ctx: Ctx): Promise<void> {
  const { clipboard } = vscode.env;
  const before = await clipboard.readText();
  if (before === "" && !(await mayReplaceClipboard())) return;
  // Without a selection nothing is copied: what is not text then stays as it is.
  if (before !== "") await clipboard.writeText("");
  await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
  const text = await clipboard.readText();
  if (before !== "") await clipboard.writeText(before);
  if (text.trim() === "") return tell(ctx, t("Nothing is selected in the terminal."));
  ctx.terminalText = text;
  return ctx.panel.compose({ references: ["@terminal"] });
}

/** Ask whether the terminal's selection may take the place of what may be an image. */
function mayReplaceClipboard(): Promise<boolean> {
  const detail = t("It holds no text, but maybe an image. The terminal's selection is read by copying it.");
  return confirmed(t("Replace what is in the clipboard?"), detail, t("Replace"));
}

const outside = (): string => t("Only files of the opened folders can be attached.");

/** Add what was dropped on the composer; a file of the system comes without its address. */
export async function addDropped(ctx: Ctx, addresses: readonly string[]): Promise<void> {
  const uris = addresses.flatMap((address) => {
    try {
      return [vscode.Uri.parse(address, true)];
    } catch {
      return [];
    }
  });
  return uris.length === 0
    ? tell(ctx, t("Drop files from the explorer: where others lie is not known."))
    : addPaths(ctx, uris);
}

/** Add references to files and folders of the workspace. */
async function addPaths(ctx: Ctx, uris: readonly vscode.Uri[], kind?: "git"): Promise<void> {
  const paths = uris.map(pathOf);
  const known = paths.filter((path) => path !== undefined);
  if (known.length < paths.length) await tell(ctx, outside());
  if (known.length > 0) {
    const references = [...new Set(known.map((path) => referenceTo(path, undefined, kind)))];
    await ctx.panel.compose({ references });
  }
}

/** The path by which requests name a file of the workspace; undefined for any other. */
function pathOf(uri: vscode.Uri): string | undefined {
  if (vscode.workspace.getWorkspaceFolder(uri) === undefined) return undefined;
  const path = vscode.workspace.asRelativePath(uri);
  return path === uri.fsPath ? undefined : path.replaceAll("\\", "/");
}

async function tell(ctx: Ctx, message: string): Promise<void> {
  ctx.notify("info", message);
}

function urisIn(...values: readonly unknown[]): readonly vscode.Uri[] {
  for (const value of values) {
    const found = (Array.isArray(value) ? value : [value]).filter((each) => each instanceof vscode.Uri);
    if (found.length > 0) return found;
  }
  return [];
}

/** The files of what source control passes to a command: a resource, a group of them, a list of either. */
function resourcesIn(value: unknown): readonly vscode.Uri[] {
  if (Array.isArray(value)) return value.flatMap((each) => resourcesIn(each));
  if (typeof value !== "object" || value === null) return [];
  if ("resourceUri" in value) return urisIn(value.resourceUri);
  return "resourceStates" in value ? resourcesIn(value.resourceStates) : [];
}
