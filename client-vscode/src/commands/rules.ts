// The commands that the user has allowed in the open folders: shows them, and takes back those that are unchecked.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import { plain } from "../webview/text/hiddenCharacters";
import { plural, t } from "../words";

/** Show the rules of the open folders, each checked; what the user unchecks is asked again from then on. */
export async function showRules(ctx: Ctx): Promise<void> {
  const rules = (await ctx.ask("planloom/rules/list", {}))?.rules;
  if (rules === undefined) return;
  if (rules.length === 0) return ctx.notify("info", t("No command is allowed in this folder without a question."));
  const items = rules.map((rule) => ({
    label: plain(rule.text),
    description: vscode.workspace.asRelativePath(vscode.Uri.parse(rule.folder)),
    detail: rule.line,
    picked: true,
    rule,
  }));
  const kept = await vscode.window.showQuickPick(items, {
    title: t("Allowed Commands"),
    placeHolder: t("These run without a question. Uncheck what is to be asked again."),
    canPickMany: true,
    matchOnDetail: true,
  });
  if (kept === undefined) return;
  const gone = rules.filter((rule) => kept.every((item) => item.rule !== rule));
  for (const { folder, text } of gone) await ctx.ask("planloom/rules/revoke", { folder, text });
  if (gone.length > 0)
    ctx.notify("info", plural(gone.length, "1 command is asked again.", "{0} commands are asked again."));
}
