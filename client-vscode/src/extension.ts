// The entry point: creates the context, registers the commands, starts the server.

import * as vscode from "vscode";

import { registerChat } from "./chat/register";
import { perform } from "./commands/actions";
import { registerCommands } from "./commands/commands";
import { Ctx } from "./ctx";
import { speak } from "./words";

let ctx: Ctx | undefined;

export function activate(extension: vscode.ExtensionContext): void {
  const began = performance.now();
  speak(vscode.env.language, vscode.l10n.bundle ?? {});
  ctx = new Ctx(extension, perform);
  extension.subscriptions.push(ctx, ...registerCommands(ctx), ...registerChat(ctx));
  ctx.log.info(`Activated in ${(performance.now() - began).toFixed(1)} ms`);
  void ctx.start();
}

export async function deactivate(): Promise<void> {
  await ctx?.stop();
}
