// The plan as a Markdown document: open it, and keep a copy of it in the workspace.

import * as vscode from "vscode";

import { PLAN_DOCUMENT } from "../connection/workspaceFiles";
import type { Ctx } from "../ctx";
import { t } from "../words";

export const DOCUMENT_COMMANDS: Readonly<Record<string, (ctx: Ctx) => unknown>> = {
  "planloom.ui.openDocument": open,
  "planloom.ui.saveDocument": save,
};

/** Open the document of the displayed plan, where typing edits the plan once it is saved. */
async function open(ctx: Ctx): Promise<void> {
  const uri = await address(ctx);
  if (uri !== undefined) await vscode.window.showTextDocument(uri, { preview: false });
}

/** Write what the document of the displayed plan says into a new file of the workspace, and open that. */
async function save(ctx: Ctx): Promise<void> {
  const uri = await address(ctx);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (uri === undefined || folder === undefined) return;
  const name = await vscode.window.showInputBox({
    title: t("Save Plan in Workspace"),
    prompt: t("Where to, in the workspace folder? It can be kept in git and opened later as a new plan."),
    value: uri.path.slice(uri.path.lastIndexOf("/") + 1),
    validateInput: async (text) => problem(folder, text.trim()),
  });
  if (name === undefined) return;
  const document = await vscode.workspace.openTextDocument(uri);
  const to = vscode.Uri.joinPath(folder, name.trim());
  await vscode.workspace.fs.writeFile(to, new TextEncoder().encode(document.getText()));
  await vscode.window.showTextDocument(to, { preview: false });
}

/** Why a plan cannot be saved under a name; undefined if it can. */
async function problem(folder: vscode.Uri, name: string): Promise<string | undefined> {
  if (!name.endsWith(PLAN_DOCUMENT) || name === PLAN_DOCUMENT) return t("The name must end in {0}.", PLAN_DOCUMENT);
  const to = vscode.Uri.joinPath(folder, name);
  if (!to.path.startsWith(`${folder.path}/`)) return t("This is not in the workspace folder.");
  const exists = await vscode.workspace.fs.stat(to).then(
    () => true,
    () => false,
  );
  return exists ? t("There is a file of this name already.") : undefined;
}

/** The address of the displayed plan's document; undefined if there is none, which the user has been shown. */
async function address(ctx: Ctx): Promise<vscode.Uri | undefined> {
  const view = ctx.current();
  if (view === undefined) {
    ctx.notify("info", t("There is no plan yet. Plan a task first."));
    return undefined;
  }
  const found = await ctx.ask("planloom/plan/document", { planId: view.plan.planId });
  return found === undefined ? undefined : vscode.Uri.parse(found.uri);
}
