// The commands on proposed changes: show, apply and skip them, in the title of their diff, by keys and in the palette.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import { displayedFirst } from "../plan/views";
import type { Approval, ApprovalFile, RespondParams } from "../protocol";
import { diffKey, unseenOf } from "../webview/cards/unseen";
import { t } from "../words";
import { confirmed } from "./dialogs";

/** How long a diff must be shown before it can be applied: it may come up below a click. */
const ARM_MS = 250;

interface Waiting {
  approval: Approval;
  file: ApprovalFile;
}

export const REVIEW_COMMANDS: Readonly<Record<string, (ctx: Ctx) => unknown>> = {
  "planloom.ui.applyChange": (ctx) => onShown(ctx, ({ approval }) => apply(ctx, approval)),
  "planloom.ui.skipChange": (ctx) => onShown(ctx, ({ approval }) => skip(ctx, approval)),
  "planloom.ui.previousChange": (ctx) => step(ctx, -1),
  "planloom.ui.nextChange": (ctx) => step(ctx, 1),
  "planloom.ui.completeMerge": (ctx) => ctx.merges.complete(),
};

/** The files that wait for an answer, of all plans, the displayed plan first. */
function waiting({ state }: Ctx): readonly Waiting[] {
  return displayedFirst(state).flatMap(({ plan }) =>
    plan.pending.approvals.flatMap((approval) =>
      approval.files
        .filter(({ change }) => change === "edit" || change === "create" || change === "delete")
        .map((file) => ({ approval, file })),
    ),
  );
}

/** The place of the file whose diff is in front; -1 if none of them is. */
function placeInFront({ diffs }: Ctx, all: readonly Waiting[]): number {
  const shown = diffs.inFront();
  return all.findIndex(({ approval, file }) => approval.approvalId === shown?.approvalId && file.uri === shown.uri);
}

function onShown(ctx: Ctx, act: (shown: Waiting) => unknown): unknown {
  const all = waiting(ctx);
  const shown = all[placeInFront(ctx, all)];
  return shown === undefined
    ? ctx.notify("info", t("No proposed change is shown. Show the next one first."))
    : act(shown);
}

async function step(ctx: Ctx, by: 1 | -1): Promise<void> {
  const all = waiting(ctx);
  const place = placeInFront(ctx, all);
  const next = all[place < 0 ? 0 : (place + by + all.length) % all.length];
  if (next === undefined) return void (await vscode.window.showInformationMessage(t("No change waits for you.")));
  await ctx.diffs.show(next.approval.approvalId, next.file, false);
}

async function apply(ctx: Ctx, approval: Approval): Promise<void> {
  if (Date.now() - ctx.diffs.shownAt < ARM_MS) return;
  const seen = ctx.diffs.seen.map(({ approvalId, uri }) => diffKey(approvalId, uri));
  const unseen = unseenOf(approval, [], seen);
  if (unseen !== undefined) {
    const detail = t("Not seen yet: {0}", unseen);
    if (!(await confirmed(t("Apply without having seen everything?"), detail, t("Apply")))) return;
  }
  respond(ctx, { approvalId: approval.approvalId, decision: "allow" });
}

async function skip(ctx: Ctx, { approvalId }: Approval): Promise<void> {
  const reason = await vscode.window.showInputBox({
    title: t("Skip These Changes"),
    prompt: t("Why? The model reads it (optional)."),
  });
  if (reason !== undefined) respond(ctx, { approvalId, decision: "deny", reason: reason || undefined });
}

function respond(ctx: Ctx, params: RespondParams): void {
  ctx.perform({ kind: "decide", method: "planloom/approval/respond", params });
}
