// The entry point: creates the context, registers the commands, starts the server.

import type { ExtensionContext } from "vscode";

import { perform } from "./commands/actions";
import { registerCommands } from "./commands/commands";
import { Ctx } from "./ctx";

let ctx: Ctx | undefined;

export function activate(extension: ExtensionContext): void {
  const began = performance.now();
  ctx = new Ctx(extension, perform);
  extension.subscriptions.push(ctx, ...registerCommands(ctx));
  ctx.log.info(`Activated in ${(performance.now() - began).toFixed(1)} ms`);
  void ctx.start();
}

export async function deactivate(): Promise<void> {
  await ctx?.stop();
}
