// What starts the server besides the panel and the commands: a plan that has not ended, a plan's document, the light bulb.

import * as vscode from "vscode";

import { fileSchemes, isFile, PLAN_DOCUMENT } from "./connection/workspaceFiles";
import type { Ctx } from "./ctx";

export function whatNeedsTheServer(ctx: Ctx): readonly vscode.Disposable[] {
  const need = (): void => void ctx.needed();
  const isPlan = ({ uri }: vscode.TextDocument): boolean => isFile(uri) && uri.path.endsWith(PLAN_DOCUMENT);
  if (ctx.hasLivePlan || vscode.workspace.textDocuments.some(isPlan)) need();
  return [
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (isPlan(document)) need();
    }),
    vscode.languages.registerCodeActionsProvider(
      fileSchemes().map((scheme) => ({ scheme })),
      { provideCodeActions: (document, range, context) => offered(ctx, document, range, context) },
    ),
  ];
}

/** The line of a comment or of something to do. */
const COMMENT = /^\s*(?:#|\/\/|\/\*|\*|--|;|<!--)|\b(?:TODO|FIXME)\b/;

/**
 * What the server offers on a problem or a comment where the user asks for the light bulb before the server runs; then
 * it is asked directly. Elsewhere it offers nothing, so nobody waits for its start.
 */
async function offered(
  ctx: Ctx,
  document: vscode.TextDocument,
  range: vscode.Range,
  context: vscode.CodeActionContext,
): Promise<(vscode.Command | vscode.CodeAction)[]> {
  if (ctx.server.kind !== "idle" || context.triggerKind !== vscode.CodeActionTriggerKind.Invoke) return [];
  if (context.diagnostics.length === 0 && !COMMENT.test(document.lineAt(range.start.line).text)) return [];
  await ctx.needed();
  return ctx.codeActions(document, range, context);
}
