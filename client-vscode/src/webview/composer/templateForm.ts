// The form of a template in the composer: a field for each parameter, and the steps that they make.

import { html, nothing } from "lit";

import type { Step, TemplateParameter } from "../../protocol";
import { t } from "../../words";
import { headline } from "../text/format";
import { fieldValue, icon, iconButton, type Panel, shown, type View } from "../ui";
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
    @keydown=${(event: KeyboardEvent) => {
      if (event.key === "Escape") close();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    }}
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
      <vscode-button id="template-send" ?disabled=${!isReady(ui, form)} title=${t("Ctrl+Enter")} @click=${send}
        >${isSending(ui) ? t("Sending…") : t("Plan")}</vscode-button
      >
      <vscode-button secondary id="template-close" @click=${close}>${t("Back")}</vscode-button>
    </div>
  </section>`;
}

function field(
  panel: Panel,
  form: TemplateForm,
  { name, description, default: usual, type, options }: TemplateParameter,
): View {
  const value = form.values[name] ?? "";
  const id = `template-${name}`;
  const problem = form.preview?.problems.find((each) => each.name === name)?.problem;
  const write = (event: Event) => panel.update((ui) => withValue(ui, name, fieldValue(event)));
  // A field that nobody has filled in yet is no mistake.
  const wrong = problem !== undefined && value.trim() !== "";
  return html`<label for=${id}><span class="template-name">${shown(name)}</span>${
    usual === undefined ? html`<span class="warn" title=${t("required")}>*</span>` : nothing
  } <span class="quiet">${shown(description)}</span></label>
    ${
      type === "choice"
        ? html`<vscode-single-select id=${id} .label=${name} .value=${value || (usual ?? "")} @change=${write}>
          <vscode-option value=""></vscode-option>
          ${options?.map((option) => html`<vscode-option value=${option} ?selected=${option === (value || usual)}>${option}</vscode-option>`)}
        </vscode-single-select>`
        : html`<vscode-textfield
          id=${id}
          .label=${name}
          placeholder=${usual ?? ""}
          inputmode=${type === "number" ? "decimal" : "text"}
          .value=${value}
          ?invalid=${wrong}
          @input=${write}
        ></vscode-textfield>`
    }
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
