// Marks the problems that a proposed text would bring in its document, while that shows the text as it was proposed.

import * as vscode from "vscode";

import { fileOf } from "../diffs";
import { EMPTY, type PanelState } from "../plan/views";
import type { ProblemView } from "../protocol";
import { PROPOSAL } from "./proposals";

export class Judgements implements vscode.Disposable {
  private readonly marked = vscode.languages.createDiagnosticCollection("planloom");
  private state: PanelState = EMPTY;
  /** Documents that show another text than the one that was judged. */
  private readonly changed = new Set<string>();
  private readonly registrations = [
    vscode.workspace.onDidOpenTextDocument((document) => this.mark(document)),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => this.marked.delete(uri)),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (contentChanges.length === 0 || document.uri.scheme !== PROPOSAL) return;
      this.changed.add(document.uri.query);
      this.marked.delete(document.uri);
    }),
  ];

  /** Mark what is known by now in the documents that are open. */
  look(state: PanelState): void {
    const before = this.judged();
    this.state = state;
    if (before !== this.judged()) for (const document of vscode.workspace.textDocuments) this.mark(document);
  }

  dispose(): void {
    for (const each of [this.marked, ...this.registrations]) each.dispose();
  }

  private judged(): string {
    return JSON.stringify(
      Object.values(this.state.plans).map(({ approvals }) => approvals?.map(({ judged }) => judged)),
    );
  }

  private mark({ uri }: vscode.TextDocument): void {
    if (uri.scheme !== PROPOSAL || this.changed.has(uri.query)) return;
    const file = fileOf(uri);
    const views = Object.values(this.state.plans).flatMap(({ approvals }) => approvals ?? []);
    const found = views.find(({ approvalId }) => approvalId === file?.approvalId)?.judged?.problems ?? [];
    this.marked.set(uri, found.filter((each) => each.uri === file?.uri).map(diagnosticOf));
  }
}

function diagnosticOf({ line, severity, message }: ProblemView): vscode.Diagnostic {
  const level = severity === "error" ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning;
  return new vscode.Diagnostic(new vscode.Range(line - 1, 0, line - 1, Number.MAX_SAFE_INTEGER), message, level);
}
