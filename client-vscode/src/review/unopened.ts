// Files that no tab shows when the server edits them are saved afterwards, so that a long plan leaves no heap of tabs.

import * as vscode from "vscode";

import { PROPOSAL } from "./proposals";

export class Unopened {
  private readonly files = new Set<string>();

  /** Note which of these files no tab shows, before the editor edits them. */
  note(uris: readonly string[]): void {
    if (vscode.workspace.getConfiguration("planloom.edits").get("save") === "never") return;
    for (const uri of uris.map(normal)) if (tabsOf(uri).length === 0) this.files.add(uri);
  }

  /** Save those of these files whose edit is recorded, and close the tabs that the editor has opened for them. */
  async settle(uris: readonly string[]): Promise<void> {
    const files = uris.map(normal).filter((uri) => this.files.delete(uri));
    // At once, since the editor opens a tab for what stays unsaved for a moment.
    const saved = await Promise.all(files.map(save));
    const tabs = files.filter((_, place) => saved[place]).flatMap(tabsOf);
    // A tab in front is one that the user has opened meanwhile.
    await vscode.window.tabGroups.close(
      tabs.filter((tab) => !tab.isActive && !tab.isDirty),
      true,
    );
  }
}

/** Save a file if it has unsaved text; whether it has none any more. */
async function save(uri: string): Promise<boolean> {
  if (vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri)?.isDirty !== true) return true;
  // Opened by an extension it stays open for a while, so that other tools can look at it for the step's checks.
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  return document.save();
}

function normal(uri: string): string {
  return vscode.Uri.parse(uri).toString();
}

function tabsOf(uri: string): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => shows(tab, uri));
}

function shows({ input }: vscode.Tab, uri: string): boolean {
  if (input instanceof vscode.TabInputText) return input.uri.toString() === uri;
  // A file beside its proposed text is not one that the user has opened: that tab closes with the answer.
  if (input instanceof vscode.TabInputTextDiff && input.modified.scheme !== PROPOSAL)
    return input.original.toString() === uri || input.modified.toString() === uri;
  return false;
}
