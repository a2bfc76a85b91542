// The commands of the editor's palette, menus and keys, in one table.

import * as vscode from "vscode";
import { reviewPlan } from "../chat/register";
import type { Ctx } from "../ctx";
import { chooseModel } from "../models/setUp";
import type { DecisionMethod, FromPanel } from "../panel/messages";
import type { Plan, Requests } from "../protocol";
import { t } from "../words";
import { showAllChanges } from "./actions";
import { addChanges, addFiles, addSelection, addTerminal, selectedLines } from "./adding";
import { showAllPlans } from "./allPlans";
import { answerWaiting } from "./answering";
import { DOCUMENT_COMMANDS } from "./documentCommands";
import { showStatistics } from "./outputs";
import { REVIEW_COMMANDS } from "./reviewCommands";
import { showRules } from "./rules";
import { deleteTemplate, planTemplate, saveTemplate } from "./templates";

/** A selection longer than this is not a request, so it is attached. */
const LONGEST_REQUEST = 4000;
/** The languages in which a person writes what is to be done; a selection in any other is code. */
const PROSE = new Set(["markdown", "plaintext", "restructuredtext", "asciidoc", "org", "git-commit", "scminput"]);

type Run = (ctx: Ctx, ...args: readonly unknown[]) => unknown;

const COMMANDS: Readonly<Record<string, Run>> = {
  "planloom.ui.plan": (ctx) => ctx.panel.compose(selected()),
  "planloom.ui.addSelection": addSelection,
  "planloom.ui.addFiles": addFiles,
  "planloom.ui.addChanges": addChanges,
  "planloom.ui.addTerminal": addTerminal,
  "planloom.ui.approve": decision(({ planId, version }) => ["planloom/plan/approve", { planId, version }]),
  "planloom.ui.reject": (ctx) => onPlan(ctx, (plan) => reject(ctx, plan)),
  "planloom.ui.direct": decision(({ planId }) => ["planloom/plan/direct", { planId }]),
  "planloom.ui.pause": decision(({ planId }) => ["planloom/plan/pause", { planId }]),
  "planloom.ui.resume": decision(({ planId }) => ["planloom/plan/resume", { planId }]),
  "planloom.ui.cancel": decision(({ planId }) => ["planloom/plan/cancel", { planId }]),
  "planloom.ui.undo": decision(({ planId }) => ["planloom/plan/undo", { planId }]),
  "planloom.ui.planTemplate": planTemplate,
  "planloom.ui.saveTemplate": saveTemplate,
  "planloom.ui.deleteTemplate": deleteTemplate,
  "planloom.ui.answer": answerWaiting,
  "planloom.ui.showChanges": showAllChanges,
  "planloom.ui.showPlan": showAllPlans,
  "planloom.ui.showGraph": (ctx) => ctx.panel.turnGraph(),
  "planloom.ui.showRules": showRules,
  "planloom.ui.showStatistics": showStatistics,
  "planloom.ui.showLog": (ctx) => ctx.log.show(),
  "planloom.ui.chooseModel": chooseModel,
  "planloom.ui.restart": (ctx) => ctx.start(),
  "planloom.ui.focus": reviewPlan,
  ...REVIEW_COMMANDS,
  ...DOCUMENT_COMMANDS,
};

export function registerCommands(ctx: Ctx): vscode.Disposable[] {
  return Object.entries(COMMANDS).map(([id, run]) =>
    vscode.commands.registerCommand(id, (...args: unknown[]) => run(ctx, ...args)),
  );
}

/** Decide about the displayed plan by a request. */
function decision<M extends DecisionMethod>(about: (plan: Plan) => readonly [M, Requests[M]["params"]]): Run {
  return (ctx) =>
    onPlan(ctx, (plan) => {
      const [method, params] = about(plan);
      ctx.perform({ kind: "decide", method, params } as FromPanel);
    });
}

function onPlan(ctx: Ctx, act: (plan: Plan) => unknown): unknown {
  const view = ctx.current();
  return view === undefined ? ctx.notify("info", t("There is no plan yet. Plan a task first.")) : act(view.plan);
}

async function reject(ctx: Ctx, { planId }: Plan): Promise<void> {
  const reason = await vscode.window.showInputBox({
    title: t("Reject Plan"),
    prompt: t("Why not? The reason helps the next draft (optional)."),
  });
  if (reason !== undefined)
    ctx.perform({ kind: "decide", method: "planloom/plan/reject", params: { planId, reason: reason || undefined } });
}

/** What is selected: words as the request, code as a reference to its lines, which a request about it follows. */
function selected(): { text?: string; references?: string[] } {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.selection.isEmpty) return {};
  const text = editor.document.getText(editor.selection).trim();
  if (text === "") return {};
  const references = selectedLines(editor);
  const isProse = PROSE.has(editor.document.languageId) && text.length <= LONGEST_REQUEST;
  return isProse || references === undefined
    ? { text: text.length > LONGEST_REQUEST ? "@selection " : text }
    : { references };
}
