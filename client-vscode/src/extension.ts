// The entry point: creates the context and registers the commands. The server starts when something needs it: the
// panel, a command, a plan that has not ended, a plan's document, or the light bulb.

import * as vscode from "vscode";

import { takeDraft } from "./carriedDraft";
import { registerChat } from "./chat/register";
import { perform } from "./commands/actions";
import { registerCommands } from "./commands/commands";
import { provideOutputs } from "./commands/outputs";
import { Ctx } from "./ctx";
import { whatNeedsTheServer } from "./needs";
import { speak } from "./words";

let ctx: Ctx | undefined;

export function activate(extension: vscode.ExtensionContext): void {
  const began = performance.now();
  speak(vscode.env.language, vscode.l10n.bundle ?? {});
  ctx = new Ctx(extension, perform);
  extension.subscriptions.push(ctx, ...registerCommands(ctx), provideOutputs(ctx), ...registerChat(ctx));
  ctx.log.info(`Activated in ${(performance.now() - began).toFixed(1)} ms`);
  extension.subscriptions.push(...whatNeedsTheServer(ctx));
  if (vscode.workspace.workspaceFolders !== undefined) void composeCarried(ctx);
}

/** Go on with what was written in a window that had no folder. */
async function composeCarried({ extension, panel }: Ctx): Promise<void> {
  const draft = await takeDraft(extension.globalState, Date.now());
  if (draft !== undefined) await panel.compose({ text: draft });
}

export async function deactivate(): Promise<void> {
  await ctx?.stop();
}
