// What commands have printed: gets it for the panel, opens it as a document, types a command into a terminal. The
// figures of all plans are a document of the same kind.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import type { CommandOutput } from "../protocol";
import { pieces } from "../webview/text/hiddenCharacters";
import { t } from "../words";
import { nameOf } from "./allPlans";

const SCHEME = "planloom-output";
const STATISTICS = "/statistics.md";

/** A command of a finished call. */
interface Place {
  readonly planId: string;
  readonly stepId: string;
  readonly callId: string;
}

/** Send the panel what the commands of a step have printed. */
export async function sendOutput(
  ctx: Ctx,
  { planId, stepId, key }: { planId: string; stepId: string; key: string },
): Promise<void> {
  const found = await ctx.request("planloom/step/output", { planId, stepId }).catch(() => undefined);
  ctx.panel.post({ kind: "output", key, commands: [...(found?.commands ?? [])] });
}

/** Provides the documents of outputs, which are read-only, and read again when their tab comes back with the window. */
export function provideOutputs(ctx: Ctx): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: async ({ path, query }) => {
      if (path === STATISTICS) {
        return (await ctx.ask("planloom/stats", {}))?.text ?? "";
      }
      const [planId = "", stepId = "", callId = ""] = query.split("&").map(decodeURIComponent);
      // A tab that comes back with the window may be there before the server.
      const read = await ctx.request("planloom/step/output", { planId, stepId }).catch(() => undefined);
      const found = read?.commands.find((each) => each.callId === callId);
      return found === undefined ? "" : `$ ${found.command}\n${found.output ?? ""}`;
    },
  });
}

/** Open what a command has printed as a document. */
export async function openOutput(ctx: Ctx, place: Place): Promise<void> {
  const found = await commandAt(ctx, place);
  if (found === undefined) return;
  const query = [place.planId, place.stepId, place.callId].map(encodeURIComponent).join("&");
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${nameOf(found.command)}.log`, query });
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
}

/** Open the figures of all plans as a document, which is read anew each time. */
export async function showStatistics(): Promise<void> {
  const uri = vscode.Uri.from({ scheme: SCHEME, path: STATISTICS, query: String(Date.now()) });
  await vscode.window.showTextDocument(uri, { preview: true });
}

/** Type a command into a new terminal in its folder. The user runs it: nothing that ends a line is sent. */
export async function runInTerminal(ctx: Ctx, place: Place): Promise<void> {
  const found = await commandAt(ctx, place);
  if (found === undefined) return;
  if (!isOneLine(found.command)) {
    await vscode.env.clipboard.writeText(found.command);
    ctx.notify(
      "info",
      t("The command has several lines or hidden characters, so it was copied instead. Read it before you paste it."),
    );
    return;
  }
  const cwd = folderOf(found);
  const terminal = vscode.window.createTerminal({ name: "Planloom", ...(cwd === undefined ? {} : { cwd }) });
  terminal.show();
  terminal.sendText(found.command, false);
}

async function commandAt(ctx: Ctx, { planId, stepId, callId }: Place): Promise<CommandOutput | undefined> {
  const found = await ctx.ask("planloom/step/output", { planId, stepId });
  return found?.commands.find((each) => each.callId === callId);
}

/** Whether a terminal shows the whole command and runs none of it before Enter. */
function isOneLine(command: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
  return !/[\u0000-\u001f\u007f-\u009f]/.test(command) && pieces(command).every((piece) => piece.kind === "text");
}

/** The folder of a command. Among several workspace folders its path begins with the name of one. */
function folderOf({ cwd = "" }: CommandOutput): vscode.Uri | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const [first, ...rest] = cwd.split("/");
  const named = folders.length > 1 ? folders.find((folder) => folder.name === first) : undefined;
  const root = named ?? folders[0];
  return root === undefined ? undefined : vscode.Uri.joinPath(root.uri, named === undefined ? cwd : rest.join("/"));
}
