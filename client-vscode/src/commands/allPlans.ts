// The list of all plans: opens it in the panel, deletes a plan, exports one into a file.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import { t } from "../words";

const LISTED = 500;
const LONGEST_NAME = 40;

/** Open the panel with the list of all plans. */
export async function showAllPlans(ctx: Ctx): Promise<void> {
  await ctx.panel.reveal();
  await sendPlans(ctx);
}

/** Delete an ended plan after a question. */
export async function deletePlan(ctx: Ctx, planId: string): Promise<void> {
  const remove = t("Delete");
  const choice = await vscode.window.showWarningMessage(
    t("Delete this plan?"),
    {
      modal: true,
      detail: t(
        "Its steps, its history and the earlier texts of its files are removed. What it has changed stays, and can no longer be undone.",
      ),
    },
    remove,
  );
  if (choice !== remove) return;
  if ((await ctx.ask("planloom/plan/delete", { planId })) === undefined) return;
  ctx.forget(planId);
  await sendPlans(ctx);
}

/** Write a plan into a file that the user names, as JSON if its name says so, else as Markdown. */
export async function exportPlan(ctx: Ctx, planId: string): Promise<void> {
  const found = await ctx.ask("planloom/plan/get", { planId });
  if (found?.plan == null) return;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const name = `${nameOf(found.plan.request)}.md`;
  const target = await vscode.window.showSaveDialog({
    title: t("Export the Plan"),
    saveLabel: t("Export"),
    filters: { Markdown: ["md"], JSON: ["json"] },
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
  });
  if (target === undefined) return;
  const format = target.path.toLowerCase().endsWith(".json") ? "json" : "markdown";
  const exported = await ctx.ask("planloom/plan/export", { planId, format });
  if (exported === undefined) return;
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(exported.text));
  await vscode.window.showTextDocument(target, { preview: true });
}

/** A file name from the words of a request. */
export function nameOf(request: string): string {
  const words = request
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .slice(0, LONGEST_NAME)
    .replaceAll(/^-+|-+$/g, "");
  return words === "" ? "plan" : words;
}

async function sendPlans(ctx: Ctx): Promise<void> {
  const answer = await ctx.ask("planloom/plan/list", { limit: LISTED });
  if (answer !== undefined) ctx.panel.postWhenReady({ kind: "plans", plans: [...answer.plans] });
}
