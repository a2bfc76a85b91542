// The command that answers what waits for the user, in whatever plan: by a list where there is one, else where it is shown.

import * as vscode from "vscode";

import { reviewPlan } from "../chat/register";
import type { Ctx } from "../ctx";
import { displayedFirst, type PlanView, stepView } from "../plan/views";
import type { Approval, Conflict, Plan, Question } from "../protocol";
import { isInEditor } from "../review/walk";
import { t } from "../words";

interface Waiting extends vscode.QuickPickItem {
  answer(): Promise<unknown>;
}

/** Answer what waits; if several things do, the user picks one. */
export async function answerWaiting(ctx: Ctx): Promise<void> {
  const all = displayedFirst(ctx.state).flatMap((view) => waitingOf(ctx, view));
  if (all.length === 0) return ctx.notify("info", t("Nothing waits for you."));
  const [only, ...others] = all;
  const chosen =
    others.length === 0
      ? only
      : await vscode.window.showQuickPick(all, { title: t("Answer"), matchOnDescription: true, matchOnDetail: true });
  await chosen?.answer();
}

function waitingOf(ctx: Ctx, view: PlanView): readonly Waiting[] {
  const { plan } = view;
  const { approvals, questions, recoveries, conflicts } = plan.pending;
  const detail = plan.request.split("\n")[0]?.slice(0, 120) ?? "";
  const label = (stepId: string | null | undefined): string =>
    plan.steps.find((step) => step.stepId === stepId)?.description ?? plan.summary;
  const words = (stepId: string | null | undefined): string => stepView(view, stepId)?.words ?? view.waits ?? "";
  const inPanel = (): Promise<void> => reviewPlan(ctx, plan.planId);
  const names = ({ files }: Conflict): string =>
    files.map(({ uri }) => vscode.Uri.parse(uri).path.split("/").pop()).join(", ");
  type Row = readonly [icon: string, label: string, description: string, answer: () => Promise<unknown>];
  const rows: readonly Row[] = [
    ...questions.map(
      (each): Row => ["question", each.question, words(each.stepId), () => answerQuestion(ctx, plan, each)],
    ),
    ...approvals.map((each): Row => ["checklist", each.title, words(each.stepId), () => review(ctx, each, inPanel)]),
    ...conflicts.map((each): Row => ["git-merge", names(each), words(each.stepId), inPanel]),
    ...recoveries.map(({ stepId }): Row => ["error", label(stepId), words(stepId), inPanel]),
    ...(plan.status === "pending_approval" ? [["list-ordered", plan.summary, view.waits ?? "", inPanel] as const] : []),
  ];
  return rows.map(([icon, label, description, answer]) => ({
    label: `$(${icon}) ${label}`,
    description,
    detail,
    answer,
  }));
}

/** A change is reviewed in the editor; a command or a fetch is judged in its card. */
async function review(ctx: Ctx, approval: Approval, inPanel: () => Promise<void>): Promise<void> {
  await inPanel();
  if (isInEditor(approval)) await ctx.diffs.open(approval);
}

async function answerQuestion(ctx: Ctx, { planId }: Plan, { stepId, question, options }: Question): Promise<void> {
  const own = t("Another answer…");
  const picked =
    options == null || options.length === 0
      ? own
      : await vscode.window.showQuickPick([...options, own], { title: question, ignoreFocusOut: true });
  if (picked === undefined) return;
  const answer =
    picked === own
      ? await vscode.window.showInputBox({ title: question, prompt: t("Your answer"), ignoreFocusOut: true })
      : picked;
  if (answer !== undefined && answer.trim() !== "")
    ctx.perform({ kind: "decide", method: "planloom/step/answer", params: { planId, stepId, answer } });
}
