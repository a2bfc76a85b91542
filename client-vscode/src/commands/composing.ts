// What the extension does for the composer while a request is written.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import type { ReferenceItem } from "../protocol";
import { linesOf, referenceTo } from "../references";

/** Send the panel what would become of a text. Where the rules are not sure, the user's setting decides. */
export async function detect(ctx: Ctx, { requestId, text }: { requestId: number; text: string }): Promise<void> {
  const detection = await ctx.request("planloom/detect", { text }).catch(() => undefined);
  if (detection === undefined) return;
  const unsure = vscode.workspace.getConfiguration("planloom.planning").get<string>("whenUnsure");
  const planned = detection.ambiguous && unsure !== undefined ? unsure === "plan" : detection.planned;
  ctx.panel.post({ kind: "detection", requestId, detection, planned });
}

/** The workspace's symbols whose name matches what is typed behind `@`; one is attached by its file and lines. */
export async function symbolsAt(text: string, offset: number, most: number): Promise<readonly ReferenceItem[]> {
  const typed = /(?:^|[\s([{])@([\p{L}_$][\p{L}\p{N}_$]+)$/u.exec(text.slice(0, offset))?.[1];
  if (typed === undefined) return [];
  const found = await vscode.commands
    .executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", typed)
    .then(
      (symbols) => symbols ?? [],
      () => [],
    );
  return found
    .filter(({ location }) => vscode.workspace.getWorkspaceFolder(location.uri) !== undefined)
    .slice(0, most)
    .map(({ name, location: { uri, range } }) => {
      const reference = referenceTo(
        vscode.workspace.asRelativePath(uri).replaceAll("\\", "/"),
        linesOf(range.start, range.end),
      );
      return {
        label: name,
        insertText: reference,
        detail: reference.slice(1),
        kind: "symbol",
        replace: [offset - typed.length - 1, offset],
      };
    });
}
