// Templates: those of the server for the composer, one chosen from the palette, a plan saved as one.

import * as vscode from "vscode";

import type { Ctx } from "../ctx";
import type { Template } from "../protocol";
import { t } from "../words";

/** Send the panel the templates that there are. */
export async function sendTemplates(ctx: Ctx): Promise<void> {
  const found = await ctx.ask("planloom/template/list", {});
  if (found !== undefined) ctx.panel.post({ kind: "templates", templates: [...found.templates] });
}

/** Send the panel the steps of a template with these values, and what is missing. */
export async function preview(
  ctx: Ctx,
  { requestId, templateId, parameters }: { requestId: number; templateId: string; parameters: Record<string, string> },
): Promise<void> {
  const filled = await ctx.ask("planloom/template/preview", { templateId, parameters });
  if (filled !== undefined) ctx.panel.post({ kind: "templatePreview", requestId, templateId, preview: filled });
}

/** Let the user choose a template, and open its form in the composer. */
export async function planTemplate(ctx: Ctx): Promise<void> {
  const template = await choose(ctx, t("Plan from a Template"));
  if (template !== undefined) await ctx.panel.compose({ template });
}

/** Save the displayed plan as a template. */
export async function saveTemplate(ctx: Ctx): Promise<void> {
  const plan = ctx.current()?.plan;
  if (plan === undefined) return ctx.notify("info", t("There is no plan yet. Plan a task first."));
  const name = await vscode.window.showInputBox({
    title: t("Save Plan as Template"),
    prompt: t("A name for the template. It has the plan's steps as they stand."),
    validateInput: (text) => (text.trim() === "" ? t("A template needs a name.") : undefined),
  });
  if (name === undefined) return;
  const saved = await ctx.ask("planloom/template/save", { planId: plan.planId, name });
  if (saved !== undefined) ctx.notify("info", t("The template {0} is saved. Type / in the composer to use it.", name));
}

/** Let the user choose one of the templates that they saved, and delete it. */
export async function deleteTemplate(ctx: Ctx): Promise<void> {
  const template = await choose(ctx, t("Delete Template"), ({ builtin }) => !builtin);
  if (template !== undefined) await ctx.ask("planloom/template/delete", { templateId: template.templateId });
}

async function choose(
  ctx: Ctx,
  title: string,
  fits: (template: Template) => boolean = () => true,
): Promise<Template | undefined> {
  const templates = (await ctx.ask("planloom/template/list", {}))?.templates.filter(fits);
  if (templates === undefined) return undefined;
  if (templates.length === 0) {
    ctx.notify("info", t("There are no templates of your own yet."));
    return undefined;
  }
  const items = templates.map((template) => ({ label: template.name, detail: template.description ?? "", template }));
  const choice = await vscode.window.showQuickPick(items, { title, matchOnDetail: true });
  return choice?.template;
}
