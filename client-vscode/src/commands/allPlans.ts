// The list of all plans: opens it in the panel, deletes a plan, exports one into a file.

import type { Ctx } from "../ctx";
import { t } from "../words";
import { confirmed, exportTarget, isJson, writeAndShow } from "./dialogs";

const LISTED = 500;
const LONGEST_NAME = 40;

/** Open the panel with the list of all plans. */
export async function showAllPlans(ctx: Ctx): Promise<void> {
  await ctx.panel.reveal();
  await sendPlans(ctx);
}

/** Delete an ended plan after a question. */
export async function deletePlan(ctx: Ctx, planId: string): Promise<void> {
  const detail = t(
    "Its steps, its history and the earlier texts of its files are removed. What it has changed stays, and can no longer be undone.",
  );
  if (!(await confirmed(t("Delete this plan?"), detail, t("Delete")))) return;
  if ((await ctx.ask("planloom/plan/delete", { planId })) === undefined) return;
  ctx.forget(planId);
  await sendPlans(ctx);
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

async function sendPlans(ctx: Ctx): Promise<void> {
  const answer = await ctx.ask("planloom/plan/list", { limit: LISTED });
  if (answer !== undefined) ctx.panel.postWhenReady({ kind: "plans", plans: [...answer.plans] });
}
