// The list of all plans: shows one of them, exports it into a file, or deletes it.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import { type ListedPlan, listed } from "../plan/planList";
import { PLAN_ICON } from "../plan/signs";
import { ago, t } from "../words";
import { confirmed, exportTarget, isJson, writeAndShow } from "./dialogs";

const LISTED = 500;
const LONGEST_NAME = 40;

type Row = vscode.QuickPickItem & { planId?: string };

/** Let the user choose one of all plans, those that wait first; each can be exported, and deleted once it has ended. */
export async function showAllPlans(ctx: Ctx): Promise<void> {
  const found = await ctx.ask("planloom/plan/list", { limit: LISTED });
  if (found === undefined) return;
  const pick = vscode.window.createQuickPick<Row>();
  pick.title = t("All plans");
  pick.placeholder = t("Search the requests");
  pick.matchOnDescription = true;
  pick.items = rows(listed(found.plans, ctx.state));
  pick.onDidTriggerItemButton(({ item: { planId = "" }, button: { iconPath } }) => {
    pick.hide();
    if (iconPath === EXPORT) void exportPlan(ctx, planId);
    else void deletePlan(ctx, planId).then(() => showAllPlans(ctx));
  });
  pick.onDidAccept(() => {
    const [chosen] = pick.selectedItems;
    pick.hide();
    if (chosen?.planId !== undefined) void ctx.panel.reveal().then(() => ctx.show(chosen.planId ?? ""));
  });
  pick.onDidHide(() => pick.dispose());
  pick.show();
}

const [EXPORT, DELETE] = [new vscode.ThemeIcon("export"), new vscode.ThemeIcon("trash")];

function rows(plans: readonly ListedPlan[]): Row[] {
  const groups = [
    [t("Waiting for you"), plans.filter(({ waits }) => waits)],
    [t("Not ended"), plans.filter(({ waits, live }) => live && !waits)],
    [t("Ended"), plans.filter(({ live }) => !live)],
  ] as const;
  return groups.flatMap(([label, members]) =>
    members.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...members.map(row)],
  );
}

function row({ planId, request, sign, state, live, updatedAt }: ListedPlan): Row {
  return {
    planId,
    // A label would draw the names of icons.
    label: request.trim().replaceAll(/\s+/g, " ").replaceAll("$(", "$ ("),
    iconPath: new vscode.ThemeIcon(PLAN_ICON[sign]),
    description: `${state} · ${ago(updatedAt, Date.now())}`,
    buttons: [
      { iconPath: EXPORT, tooltip: t("Export…") },
      ...(live ? [] : [{ iconPath: DELETE, tooltip: t("Delete…") }]),
    ],
  };
}

/** Delete an ended plan after a question. */
async function deletePlan(ctx: Ctx, planId: string): Promise<void> {
  const detail = t(
    "Its steps, its history and the earlier texts of its files are removed. What it has changed stays, and can no longer be undone.",
  );
  if (!(await confirmed(t("Delete this plan?"), detail, t("Delete")))) return;
  if ((await ctx.ask("planloom/plan/delete", { planId })) !== undefined) ctx.forget(planId);
}

/** Write a plan into a file that the user names, as JSON if its name says so, else as Markdown. */
export async function exportPlan(ctx: Ctx, planId: string): Promise<void> {
  const found = await ctx.ask("planloom/plan/get", { planId });
  if (found?.plan == null) return;
  const name = `${nameOf(found.plan.request)}.md`;
  const target = await exportTarget(t("Export the Plan"), name, { Markdown: ["md"], JSON: ["json"] });
  if (target === undefined) return;
  const format = isJson(target) ? "json" : "markdown";
  const exported = await ctx.ask("planloom/plan/export", { planId, format });
  if (exported === undefined) return;
  await writeAndShow(target, exported.text);
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
