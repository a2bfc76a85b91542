// Marks the lines that the server has just changed in the editors that show them, until somebody edits the file.

import * as vscode from "vscode";

import { isFile } from "../connection/workspaceFiles";
import { changedLines } from "../text/changedLines";

const KEPT_MS = 30_000;

export class Marks implements vscode.Disposable {
  private readonly written = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    // High contrast themes have no backgrounds.
    borderWidth: "0 0 0 2px",
    borderStyle: "solid",
    borderColor: new vscode.ThemeColor("editorGutter.addedBackground"),
  });
  private readonly marked = new Map<string, { ranges: vscode.Range[]; timer: ReturnType<typeof setTimeout> }>();
  private applying = 0;
  private readonly owned = [
    this.written,
    vscode.workspace.onDidChangeTextDocument((event) => this.onChanged(event)),
    vscode.window.onDidChangeVisibleTextEditors((editors) => {
      for (const editor of editors) this.draw(editor);
    }),
  ];

  /** Whether the server edits files in this moment. */
  get isApplying(): boolean {
    return this.applying > 0;
  }

  /** What changes while `apply` runs is marked. */
  async during<R>(apply: () => PromiseLike<R>): Promise<R> {
    this.applying++;
    try {
      return await apply();
    } finally {
      this.applying--;
    }
  }

  dispose(): void {
    for (const { timer } of this.marked.values()) clearTimeout(timer);
    for (const each of this.owned) each.dispose();
  }

  private onChanged({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (contentChanges.length === 0 || !isFile(document.uri)) return;
    const key = document.uri.toString();
    if (!this.isApplying) {
      this.clear(key);
      return;
    }
    const lines = changedLines(
      contentChanges.map(({ range, text }) => ({ startLine: range.start.line, endLine: range.end.line, text })),
      this.marked.get(key)?.ranges.map(({ start, end }) => [start.line, end.line] as const),
    );
    clearTimeout(this.marked.get(key)?.timer);
    this.marked.set(key, {
      ranges: lines.map(([first, last]) => new vscode.Range(first, 0, last, 0)),
      timer: setTimeout(() => this.clear(key), KEPT_MS),
    });
    this.drawAll(key);
  }

  private clear(key: string): void {
    const kept = this.marked.get(key);
    if (kept === undefined) return;
    clearTimeout(kept.timer);
    this.marked.delete(key);
    this.drawAll(key);
  }

  private drawAll(key: string): void {
    for (const editor of vscode.window.visibleTextEditors)
      if (editor.document.uri.toString() === key) this.draw(editor);
  }

  private draw(editor: vscode.TextEditor): void {
    editor.setDecorations(this.written, this.marked.get(editor.document.uri.toString())?.ranges ?? []);
  }
}
