// The commands on proposed changes: show, apply and skip them, in the title of their diff, by keys and in the palette.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import type { Approval, RespondParams } from "../protocol";
import { reviewable } from "../review/walk";
import { diffKey, endKey, unseenOf } from "../webview/cards/unseen";
import { t } from "../words";
import { answerApproval } from "./actions";
import { confirmed } from "./dialogs";

export const REVIEW_COMMANDS: Readonly<Record<string, (ctx: Ctx) => unknown>> = {
  "planloom.ui.applyChange": (ctx) => onShown(ctx, (approval) => apply(ctx, approval)),
  "planloom.ui.skipChange": (ctx) => onShown(ctx, (approval) => skip(ctx, approval)),
  "planloom.ui.previousChange": (ctx) => step(ctx, -1),
  "planloom.ui.nextChange": (ctx) => step(ctx, 1),
  "planloom.ui.completeMerge": (ctx) => ctx.merges.complete(),
};

/** The place of the approval whose change is in front; -1 if none of them is. */
function placeInFront({ diffs }: Ctx, all: readonly Approval[]): number {
  const shown = diffs.inFront();
  return all.findIndex(({ approvalId }) => approvalId === shown?.approvalId);
}

function onShown(ctx: Ctx, act: (shown: Approval) => unknown): unknown {
  const all = reviewable(ctx.state);
  const shown = all[placeInFront(ctx, all)];
  return shown === undefined
    ? ctx.notify("info", t("No proposed change is shown. Show the next one first."))
    : act(shown);
}

async function step(ctx: Ctx, by: 1 | -1): Promise<void> {
  const all = reviewable(ctx.state);
  const place = placeInFront(ctx, all);
  const next = all[place < 0 ? 0 : (place + by + all.length) % all.length];
  if (next === undefined) return void (await vscode.window.showInformationMessage(t("No change waits for you.")));
  await ctx.diffs.open(next);
}

async function apply(ctx: Ctx, approval: Approval): Promise<void> {
  const { approvalId, files } = approval;
  const inDiffs = ctx.diffs.seen.map((each) => diffKey(each.approvalId, each.uri));
  // Whoever has seen the changes of every file has seen which files they are.
  const all = files.every(({ uri }) => inDiffs.includes(diffKey(approvalId, uri)));
  const unseen = unseenOf(approval, [], all ? [...inDiffs, endKey(approvalId, "files")] : inDiffs);
  if (unseen !== undefined) {
    const detail = t("Not seen yet: {0}", unseen);
    if (!(await confirmed(t("Apply without having seen everything?"), detail, t("Apply")))) return;
  }
  await respond(ctx, approval, { approvalId, decision: "allow" });
}

async function skip(ctx: Ctx, approval: Approval): Promise<void> {
  const reason = await vscode.window.showInputBox({
    title: t("Skip These Changes"),
    prompt: t("Why? The model reads it (optional)."),
  });
  if (reason !== undefined)
    await respond(ctx, approval, { approvalId: approval.approvalId, decision: "deny", reason: reason || undefined });
}

/** Answer a change that is shown in the editor; the plan's next one comes in its place. */
async function respond(ctx: Ctx, approval: Approval, params: RespondParams): Promise<void> {
  ctx.walk.answer(approval);
  if ((await answerApproval(ctx, params)) !== undefined) ctx.walk.look(ctx.state);
}
