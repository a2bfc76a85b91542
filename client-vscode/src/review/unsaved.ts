// Which files have unsaved text in the editor, for the summary of a plan.

import * as vscode from "vscode";

import { isFile } from "../connection/workspaceFiles";

const SOON_MS = 150;

export class Unsaved implements vscode.Disposable {
  private told: readonly string[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly owned = [
    vscode.workspace.onDidChangeTextDocument(() => this.soon()),
    vscode.workspace.onDidSaveTextDocument(() => this.soon()),
    vscode.workspace.onDidCloseTextDocument(() => this.soon()),
  ];

  /** Calls `onChanged` when another file has unsaved text, or one has none any more. */
  constructor(private readonly onChanged: (uris: readonly string[]) => void) {}

  /** The files with unsaved text. */
  uris(): readonly string[] {
    return vscode.workspace.textDocuments
      .filter(({ uri, isDirty }) => isDirty && isFile(uri))
      .map(({ uri }) => uri.toString());
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const each of this.owned) each.dispose();
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const now = this.uris();
      if (now.length === this.told.length && now.every((uri) => this.told.includes(uri))) return;
      this.told = now;
      this.onChanged(now);
    }, SOON_MS);
  }
}
