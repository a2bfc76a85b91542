// The form of a template in the composer: a field for each parameter, and the steps that they make.

import { html, nothing } from "lit";

import type { Step, TemplateParameter } from "../../protocol";
import { t } from "../../words";
import { below, formKeys, select, textField } from "../fields";
import { parameterWords } from "../steps/stepForm";
import { headline } from "../text/format";
import { button, icon, iconButton, type Panel, shown, type View } from "../ui";
import { isSending, type Ui, withoutTemplate, withValue } from "../uiState";
import { filledValues, requestOf, type TemplateForm } from "./templates";

/** A step's call, unless its description says the same. */
function call({ tool, args, description }: Step): View {
  const about = headline(args);
  if (tool == null || (about !== "" && description.includes(about))) return nothing;
  return html`<span class="quiet">${shown(tool)} <span class="arg">${shown(about)}</span></span>`;
}

function isReady(ui: Ui, { preview }: TemplateForm): boolean {
  return preview?.problems.length === 0 && ui.server.kind === "running" && !isSending(ui);
}

export function templateForm(panel: Panel, form: TemplateForm): View {
  const { template, preview } = form;
  const { ui } = panel;
  const close = () => panel.update(withoutTemplate);
  const send = () => {
    const { form: now } = panel.ui;
    if (now === undefined || !isReady(panel.ui, now)) return;
    const { templateId } = now.template;
    panel.create({ kind: "create", text: requestOf(now), mode: "plan", templateId, parameters: filledValues(now) });
  };
  return html`<section
    class="template-form"
    aria-label=${t("Template {0}", template.name)}
    @keydown=${formKeys(close, send)}
  >
    <div class="template-head">
      ${icon("notebook-template")}<b>${shown(template.name)}</b><span class="grow"></span>
      ${iconButton("close", t("Close the template"), close)}
    </div>
    ${template.description === undefined ? nothing : html`<p class="quiet">${shown(template.description)}</p>`}
    ${template.parameters.map((parameter) => field(panel, form, parameter))}
    <details open>
      <summary>${t("Steps")}</summary>
      <ol class="template-steps">${(preview?.steps ?? template.steps).map(
        (step, index) =>
          html`<li><span class="number">${index + 1}</span><span>${shown(step.description)} ${call(step)}</span></li>`,
      )}</ol>
    </details>
    <div class="actions">
      ${button(isSending(ui) ? t("Sending…") : t("Plan"), send, {
        id: "template-send",
        title: t("Ctrl+Enter"),
        disabled: !isReady(ui, form),
      })}
      ${button(t("Back"), close, { id: "template-close", secondary: true })}
    </div>
  </section>`;
}

function field(panel: Panel, form: TemplateForm, parameter: TemplateParameter): View {
  const { name, default: usual = "", type, options = [] } = parameter;
  const value = form.values[name] ?? "";
  const id = `template-${name}`;
  const problem = form.preview?.problems.find((each) => each.name === name)?.problem;
  const write = (text: string) => panel.update((ui) => withValue(ui, name, text));
  // A field that nobody has filled in yet is no mistake.
  const wrong = problem !== undefined && value.trim() !== "";
  const choices = ["", ...options].map((option) => [option, option] as const);
  const control =
    type === "choice"
      ? select(name, choices, value || usual, write, { id })
      : textField(name, value, write, {
          id,
          placeholder: usual,
          invalid: wrong,
          inputmode: type === "number" ? "decimal" : "text",
        });
  return html`${below(id, parameterWords(parameter), control)}
    ${wrong ? html`<p class="bad" role="alert">${problemWords(problem)}</p>` : nothing}`;
}

/** The server's sentence in the editor's language; one that is not known stays as it is. */
function problemWords(problem: string): View | string {
  switch (problem) {
    case "it must be a number":
      return t("It must be a number.");
    case "it must be a path in the workspace":
      return t("It must be a path in the workspace.");
    default:
      return shown(problem);
  }
}
