// Lets the user pick a plan, or the Python of the server.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import { planStatus } from "../plan/statusWords";
import type { PlanSummary } from "../protocol";
import { moment, t } from "../words";

/** Let the user pick a plan of the ledger. */
export async function choosePlan(ctx: Ctx): Promise<void> {
  const answer = await ctx.ask("planloom/plan/list", { limit: 50 });
  if (answer === undefined) return;
  if (answer.plans.length === 0) return ctx.notify("info", t("There are no plans yet."));
  const items = answer.plans.map((plan) => ({
    label: plan.request.split("\n")[0]?.slice(0, 120) ?? plan.planId,
    description: describe(plan),
    detail: moment(plan.updatedAt),
    planId: plan.planId,
  }));
  const choice = await vscode.window.showQuickPick(items, {
    title: t("Show Plan"),
    placeHolder: t("Newest first"),
    matchOnDescription: true,
  });
  if (choice === undefined) return;
  await ctx.show(choice.planId);
  await ctx.panel.reveal();
}

function describe({ status, progress: { completed, total } }: PlanSummary): string {
  const partly = status === "completed" && completed < total;
  return `${partly ? t("Partly done") : planStatus(status)} · ${completed}/${total}`;
}

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
