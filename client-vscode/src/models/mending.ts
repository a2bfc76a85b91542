// Does what the buttons of an error offer; then the plan that had the error goes on.

import * as vscode from "vscode";

import { leaveDraft } from "../carriedDraft";
import type { Ctx } from "../ctx";
import type { FromPanel } from "../panel/messages";
import type { Mend } from "../protocol";
import { chooseModel, enterKeyOfUsed, setUp, testModel } from "./setUp";

type MendMessage = Extract<FromPanel, { kind: "mend" }>;

/** Do one of the mends. Without a plan, to try again is to test the model. */
export async function doMend(ctx: Ctx, { mend, planId, draft = "" }: MendMessage): Promise<void> {
  if (mend === "folder") await leaveDraft(ctx.extension.globalState, draft, Date.now());
  if ((await MENDS[mend](ctx)) === true) await goOn(ctx, mend, planId);
}

/** What each mend does; whether the plan that had the error can go on at once. */
const MENDS: Readonly<Record<Mend, (ctx: Ctx) => unknown>> = {
  key: enterKeyOfUsed,
  address: (ctx) => setUp(ctx, "address"),
  models: chooseModel,
  startOllama: (ctx) => setUp(ctx, "ollama"),
  getOllamaModel: (ctx) => setUp(ctx, "ollama"),
  again: () => true,
  folder: () => vscode.commands.executeCommand("workbench.action.files.openFolder"),
  trust: () => vscode.commands.executeCommand("workbench.trust.manage"),
  settings: () => vscode.commands.executeCommand("workbench.action.openSettings", "planloom"),
  restart: (ctx) => ctx.start(),
  log: (ctx) => ctx.log.show(),
};

/** Resume a plan that has paused for its model, or draft anew one whose draft failed for it. */
async function goOn(ctx: Ctx, mend: Mend, planId: string | undefined): Promise<void> {
  const plan = planId === undefined ? undefined : ctx.state.plans[planId]?.plan;
  if (plan?.status === "paused") await ctx.ask("planloom/plan/resume", { planId: plan.planId });
  else if (plan?.status === "failed")
    await ctx.ask("planloom/plan/regenerate", { planId: plan.planId, version: plan.version });
  else if (mend === "again") await testModel(ctx);
}
