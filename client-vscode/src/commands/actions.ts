// Carries out each message of the panel, by a request to the server or a command of the editor.

import * as vscode from "vscode";

import { saveFiles } from "../connection/editor";
import { isFile } from "../connection/workspaceFiles";
import type { Ctx } from "../ctx";
import { doMend } from "../models/mending";
import { chooseModel, modelAtHand, setUp } from "../models/setUp";
import type { Decided, FromPanel } from "../panel/messages";
import type { Context, CreateParams, RespondParams, UndoParams } from "../protocol";
import { keepRequestMode } from "../requestMode";
import { plural, t } from "../words";
import { addDropped } from "./adding";
import { exportPlan, showAllPlans } from "./allPlans";
import { detect, symbolsAt } from "./composing";
import { confirmed } from "./dialogs";
import { openOutput, runInTerminal, sendOutput } from "./outputs";
import { preview, sendTemplates } from "./templates";

const COMPLETIONS = 30;
const SYMBOLS = 10;

type Kind = FromPanel["kind"];
type Of<K extends Kind> = Extract<FromPanel, { kind: K }>;

/** What each message of the panel does. */
const ACTIONS: { readonly [K in Kind]: (ctx: Ctx, message: Of<K>) => unknown } = {
  ready: () => undefined,
  create: (ctx, message) => settle(ctx, message, modelled(ctx, message)),
  message: (ctx, message) => settle(ctx, message, say(ctx, message)),
  decide: (ctx, message) => settle(ctx, message, decide(ctx, message)),
  complete,
  detect: (ctx, message) => {
    // Whoever writes in the composer is not taken from there.
    ctx.walk.end();
    return detect(ctx, message);
  },
  image: keepImage,
  dropped: (ctx, { uris }) => addDropped(ctx, uris),
  templates: sendTemplates,
  tools: sendTools,
  previewTemplate: preview,
  mode: (ctx, { mode }) => keepRequestMode(ctx.extension, mode),
  diff,
  changes,
  preview: (ctx, { approvalId, uri }) => ctx.proposals.review(approvalId, uri),
  leaveOut: (ctx, { approvalId, uri, hunks }) => ctx.proposals.leaveOut(approvalId, uri, hunks),
  save: (ctx, { uris }) => save(ctx, uris),
  merge: (ctx, { planId, editId, uri }) => ctx.merges.show(planId, editId, uri),
  open,
  show: (ctx, { what }) => SHOWN[what](ctx),
  setUp: (ctx, { way }) => setUp(ctx, way),
  mend: doMend,
  review: (ctx, { planId, review }) => ctx.reviews.set(planId, review),
  saveAndGoOn: (_, { planId }) => vscode.commands.executeCommand("planloom.saveFiles", planId),
  select: (ctx, { planId }) => ctx.show(planId),
  output: sendOutput,
  openOutput,
  runInTerminal,
  export: (ctx, { planId }) => exportPlan(ctx, planId),
};

const SHOWN: Readonly<Record<Of<"show">["what"], (ctx: Ctx) => unknown>> = {
  log: (ctx) => ctx.log.show(),
  restart: (ctx) => ctx.start(),
  plans: showAllPlans,
  models: chooseModel,
  settings: () => vscode.commands.executeCommand("workbench.action.openSettings", "planloom.approvals"),
  python: choosePython,
  document: () => vscode.commands.executeCommand("planloom.ui.openDocument"),
};

export async function perform(ctx: Ctx, message: FromPanel): Promise<void> {
  await (ACTIONS[message.kind] as (ctx: Ctx, message: FromPanel) => unknown)(ctx, message);
}

/** Send the panel the tools that a step can call. */
async function sendTools(ctx: Ctx): Promise<void> {
  const found = await ctx.ask("planloom/tool/list", {});
  if (found !== undefined) ctx.panel.post({ kind: "tools", tools: [...found.tools] });
}

/** Send the panel the outcome of its request, even if it throws: the form that sent it waits for that. */
async function settle(
  ctx: Ctx,
  { requestId }: { requestId?: number | undefined },
  request: Promise<object | undefined>,
): Promise<void> {
  let ok = false;
  try {
    ok = (await request) !== undefined;
  } finally {
    if (requestId !== undefined) ctx.panel.post({ kind: "settled", requestId, ok });
  }
}

/** Send one decision about a plan to the server; undefined if the server refused it, which the user has been shown. */
async function decide(ctx: Ctx, { method, params }: Decided): Promise<object | undefined> {
  switch (method) {
    case "planloom/plan/approve":
      if (ctx.server.kind === "running" && !ctx.server.trusted) {
        await vscode.commands.executeCommand("workbench.trust.manage");
        return undefined;
      }
      ctx.walk.begin(params.planId);
      return ctx.ask(method, { review: ctx.reviews.get(params.planId), ...params });
    case "planloom/plan/direct":
      if (!(await mayLeave(ctx, params.planId))) return undefined;
      ctx.walk.begin(params.planId);
      return ctx.ask(method, params);
    case "planloom/plan/undo":
      return undo(ctx, params);
    case "planloom/approval/respond":
      // Whoever answers in the panel goes on reviewing there.
      ctx.walk.end();
      return answerApproval(ctx, params);
    default:
      return ctx.ask(method, params);
  }
}

/** Answer an approval with the texts as the user has changed them; undefined if the server refused it. */
export function answerApproval(ctx: Ctx, params: RespondParams): Promise<object | undefined> {
  const edits = params.decision === "allow" ? ctx.proposals.edits(params.approvalId, params.files) : [];
  return ctx.ask("planloom/approval/respond", { ...params, ...(edits.length === 0 ? {} : { edits }) });
}

/** What a message of the panel has of images: where they are kept. The server keeps those that are no files. */
interface Images {
  images?: string[] | undefined;
}

/** Have the server keep an image, and tell the panel where; nothing if it was refused, which the user has been shown. */
async function keepImage(ctx: Ctx, { requestId, data }: Of<"image">): Promise<void> {
  const kept = await ctx.ask("planloom/attachment/keep", { data });
  ctx.panel.post({ kind: "image", requestId, uri: kept?.uri });
}

/** Whether a plan may be left for a direct run: the user is asked about one that was worked on. */
async function mayLeave(ctx: Ctx, planId: string): Promise<boolean> {
  if (ctx.state.plans[planId]?.workedOn !== true) return true;
  const detail = t("The request is carried out without the plan's steps, and what you have changed in them is lost.");
  return confirmed(t("Leave this plan?"), detail, t("Execute directly"));
}

/** The active file and its selections, to which `@selection` and `@diagnostics` refer. */
function editorContext(): Context {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !isFile(editor.document.uri)) return {};
  const position = ({ line, character }: vscode.Position): { line: number; character: number } => ({ line, character });
  return {
    uri: editor.document.uri.toString(),
    selections: editor.selections.map(({ start, end }) => ({ start: position(start), end: position(end) })),
  };
}

/** Send a request; where no model is found it is held, and stays in the composer. A template has its steps. */
async function modelled(ctx: Ctx, message: Of<"create">): Promise<object | undefined> {
  if (message.templateId != null || (await modelAtHand(ctx))) return create(ctx, message);
  await ctx.hold(message);
  return undefined;
}

/** Send a request; a file that may hold secrets is attached only if the user agrees. */
async function create(
  ctx: Ctx,
  {
    text,
    mode,
    sessionId,
    templateId,
    parameters,
    images,
  }: Pick<CreateParams, "text" | "mode" | "sessionId" | "templateId" | "parameters"> & Images,
): Promise<object | undefined> {
  const attached = await attachedTo(ctx, text, images);
  if (attached === undefined) return undefined;
  const result = await ctx.ask("planloom/plan/create", {
    text,
    mode,
    ...attached,
    sessionId,
    templateId,
    parameters,
  });
  if (result === undefined) return undefined;
  ctx.walk.begin(result.plan.planId);
  await ctx.show(result.plan.planId);
  return result;
}

/** What goes with a text: the editor's context, images, and secrets that the user agrees to; undefined if they gave up. */
async function attachedTo(
  ctx: Ctx,
  text: string,
  images: Images["images"],
): Promise<Pick<CreateParams, "context" | "attachments" | "confirmed"> | undefined> {
  const context = contextOf(ctx, text);
  const confirmed = await confirmedSecrets(ctx, text, context);
  if (confirmed === undefined) return undefined;
  return {
    context,
    attachments: images === undefined || images.length === 0 ? undefined : images.map((uri) => ({ uri })),
    confirmed: confirmed.length === 0 ? undefined : confirmed,
  };
}

/** What a request is sent with of the editor: the active file, its selections, the chosen text of a terminal. */
function contextOf(ctx: Ctx, text: string): Context {
  return { ...editorContext(), terminal: text.includes("@terminal") ? ctx.terminalText : undefined };
}

/** The references to secrets that the user agrees to attach; undefined if the user gave up. */
async function confirmedSecrets(ctx: Ctx, text: string, context: Context): Promise<string[] | undefined> {
  const confirmed: string[] = [];
  if (text.includes("@")) {
    const found = await ctx.request("planloom/reference/resolve", { text, context }).catch(() => undefined);
    for (const each of found?.unresolved.filter(({ code }) => code === "secret") ?? []) {
      const [attach, leave] = [t("Attach"), t("Leave Out")];
      const choice = await vscode.window.showWarningMessage(
        t("{0} may hold secrets. Attach it?", each.reference),
        { modal: true, detail: t("Its text is sent to the model that writes the plan.") },
        leave,
        attach,
      );
      if (choice === undefined) return undefined;
      if (choice === attach) confirmed.push(each.reference);
    }
  }
  return confirmed;
}

/** Say something to a plan; what it must wait for is shown. A plan that continues an ended one is displayed. */
async function say(
  ctx: Ctx,
  { planId, text, images }: { planId: string; text: string } & Images,
): Promise<object | undefined> {
  const attached = await attachedTo(ctx, text, images);
  if (attached === undefined) return undefined;
  const said = await ctx.ask("planloom/plan/message", { planId, text, ...attached });
  if (said?.outcome === "continued") await ctx.show(said.planId);
  if (said?.waitsFor != null) ctx.notify("info", said.waitsFor);
  // A file that may hold secrets was asked for.
  for (const each of said?.unresolved?.filter(({ code }) => code !== "secret") ?? [])
    ctx.notify("warning", each.message);
  return said;
}

async function complete(
  ctx: Ctx,
  { requestId, text, offset }: { requestId: number; text: string; offset: number },
): Promise<void> {
  const { uri } = editorContext();
  const found = await ctx
    .request("planloom/reference/complete", {
      text,
      offset,
      limit: COMPLETIONS,
      context: { uri },
    })
    .catch(() => undefined);
  const items = found?.items ?? [];
  ctx.panel.post({ kind: "completions", requestId, items: [...items] });
  // The server finds symbols itself where it can ask for them, and knows their lines.
  if (items.some(({ kind }) => kind === "symbol")) return;
  // The editor's language servers may take their time.
  const symbols = await symbolsAt(text, offset, SYMBOLS);
  if (symbols.length > 0) ctx.panel.post({ kind: "completions", requestId, items: [...items, ...symbols] });
}

/** Show what an approval would change: one file, at a line of the changed text, or all of them below each other. */
async function diff(
  ctx: Ctx,
  { approvalId, uri, line }: { approvalId: string; uri?: string | undefined; line?: number | undefined },
): Promise<void> {
  const approval = ctx.current()?.plan.pending.approvals.find((each) => each.approvalId === approvalId);
  if (approval === undefined) return;
  if (uri === undefined) return ctx.diffs.showAll(approval);
  const file = approval.files.find((each) => each.uri === uri);
  if (file !== undefined) await ctx.diffs.show(approvalId, file, true, line);
}

/** Save files of a plan; what the user has typed in them is saved too. */
async function save(ctx: Ctx, uris: readonly string[]): Promise<void> {
  const { failed } = await saveFiles(uris);
  if (failed.length > 0)
    ctx.notify("warning", plural(failed.length, "1 file could not be saved.", "{0} files could not be saved."));
}

/** Show all that the displayed plan proposes, or else all that it has changed. */
export async function showAllChanges(ctx: Ctx): Promise<void> {
  const plan = ctx.current()?.plan;
  const approval = plan?.pending.approvals.find((each) => each.files.length > 0);
  if (approval !== undefined) return ctx.diffs.showAll(approval);
  if (plan === undefined) return ctx.notify("info", t("The plan has no changes to show."));
  await changes(ctx, { planId: plan.planId });
}

/** Show what an ended plan has changed: one file, or all of them side by side. */
async function changes(ctx: Ctx, { planId, uri }: { planId: string; uri?: string | undefined }): Promise<void> {
  const plan = ctx.current()?.plan;
  if (plan?.planId !== planId) return;
  const files = plan.report?.files.filter((file) => file.change !== "createFolder") ?? [];
  const asked = uri === undefined ? files : files.filter((file) => file.uri === uri);
  if (!(await ctx.diffs.showPlan(plan, asked))) ctx.notify("info", t("The plan has no changes to show."));
}

async function undo(ctx: Ctx, { planId, stepId, redo }: UndoParams): Promise<object | undefined> {
  const result = await ctx.ask("planloom/plan/undo", { planId, stepId, redo });
  if (result === undefined) return undefined;
  const { reverted, conflicts } = result;
  if (conflicts.length > 0)
    ctx.notify(
      "warning",
      plural(
        conflicts.length,
        "1 file could not be undone: you changed the same lines since.",
        "{0} files could not be undone: you changed the same lines since.",
      ),
    );
  else if (reverted.length === 0)
    ctx.notify("info", redo === true ? t("There was nothing to redo.") : t("There was nothing to undo."));
  return result;
}

/** Open a file. One that an undo or a later step has removed is named, rather than the editor's own error. */
async function open(ctx: Ctx, { uri, line }: { uri: string; line?: number }): Promise<void> {
  const target = vscode.Uri.parse(uri, true);
  if (!isFile(target)) return;
  const found = await vscode.workspace.fs.stat(target).then(
    ({ type }) => type,
    () => undefined,
  );
  const name = vscode.workspace.asRelativePath(target);
  if (found === undefined) return ctx.notify("info", t("{0} is not there: it was deleted, renamed or undone.", name));
  if (found & vscode.FileType.Directory) {
    await vscode.commands.executeCommand("revealInExplorer", target);
    return;
  }
  const selection = line === undefined ? undefined : new vscode.Range(line, 0, line, 0);
  await vscode.window.showTextDocument(target, { preview: true, selection });
}

/** Let the user pick the Python that runs the server, and start the server in it. */
async function choosePython(ctx: Ctx): Promise<void> {
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
