// Lets the user pick the Python of the server.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import { t } from "../words";

/** Let the user pick the Python that runs the server, and start the server in it. */
export async function choosePython(ctx: Ctx): Promise<void> {
  const picked = await vscode.window.showOpenDialog({
    title: t("Choose a Python, 3.11 or newer"),
    openLabel: t("Use This Python"),
    canSelectMany: false,
  });
  const [file] = picked ?? [];
  if (file === undefined) return;
  await vscode.workspace
    .getConfiguration("planloom.server")
    .update("python", file.fsPath, vscode.ConfigurationTarget.Global);
  await ctx.start();
}
