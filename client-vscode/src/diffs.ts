// Shows a proposed change in the editor's diff view, on two read-only documents that exist while it waits for approval.

import * as vscode from "vscode";

import type { ApprovalFile, DiffResult } from "./protocol";

const SCHEME = "planloom-diff";

export class Diffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly fetched = new Map<string, Promise<DiffResult>>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  constructor(private readonly fetch: (approvalId: string, uri: string) => Promise<DiffResult>) {}

  async show(approvalId: string, file: ApprovalFile): Promise<void> {
    const path = vscode.Uri.parse(file.newUri ?? file.uri).path;
    const side = (which: "before" | "after"): vscode.Uri =>
      vscode.Uri.from({
        scheme: SCHEME,
        path,
        query: new URLSearchParams({ approvalId, uri: file.uri, side: which }).toString(),
      });
    await this.texts(approvalId, file.uri);
    const name = path.split("/").pop() ?? path;
    const title =
      file.change === "create"
        ? `${name} (new file)`
        : file.change === "delete"
          ? `${name} (deleted)`
          : `${name} (now ↔ proposed)`;
    await vscode.commands.executeCommand("vscode.diff", side("before"), side("after"), title, {
      preview: true,
      preserveFocus: true,
    });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const query = new URLSearchParams(uri.query);
    try {
      const diff = await this.texts(query.get("approvalId") ?? "", query.get("uri") ?? "");
      return (query.get("side") === "before" ? diff.before : diff.after) ?? "";
    } catch {
      return "This change no longer waits for an answer.\n";
    }
  }

  /** Forget the texts of an approval that has been answered. */
  forget(approvalId: string): void {
    for (const key of [...this.fetched.keys()]) if (key.startsWith(`${approvalId} `)) this.fetched.delete(key);
  }

  dispose(): void {
    this.registration.dispose();
    this.fetched.clear();
  }

  private texts(approvalId: string, uri: string): Promise<DiffResult> {
    const key = `${approvalId} ${uri}`;
    const known = this.fetched.get(key);
    if (known !== undefined) return known;
    const fetching = this.fetch(approvalId, uri);
    this.fetched.set(key, fetching);
    fetching.catch(() => this.fetched.delete(key));
    return fetching;
  }
}
