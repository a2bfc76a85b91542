// The panel without a plan: what Planloom does, and examples to begin with; the ways to a model where none is set up; and
// what keeps plans from working in this window.

import { html, nothing } from "lit";

import type { Way } from "../panel/messages";
import { t } from "../words";
import { mendButtons } from "./mends";
import { icon, linkButton, type Panel, type View } from "./ui";
import { composed, type Ui } from "./uiState";

export function welcome(panel: Panel): View {
  return html`<section class="welcome">
      <h2>${t("From a request to reviewed edits")}</h2>
      <ol>
        <li>${icon("comment")}<span><b>${t("Ask.")}</b> ${t("A small request runs at once, a larger one becomes a plan.")}</span></li>
        <li>
          ${icon("checklist")}<span
            ><b>${t("Review.")}</b> ${t("Change, move, skip or add steps. Nothing is written before you approve.")}</span
          >
        </li>
        <li>
          ${icon("diff")}<span
            ><b>${t("Apply.")}</b> ${t("Each change arrives in your open buffers beside what you are typing, and can be undone.")}</span
          >
        </li>
      </ol>
      <h2>${t("For example")}</h2>
      <ul class="examples">
        ${examples().map(
          (text) =>
            html`<li>${linkButton(text, () => panel.update((ui) => composed(ui, text, Date.now())), { icon: "lightbulb" })}</li>`,
        )}
      </ul>
    </section>`;
}

/** Requests that most projects can use; a click writes one into the composer. */
function examples(): readonly string[] {
  return [
    t("Write a README that says what this project does and how to start it"),
    t("Find functions without tests and write tests for the three most important ones"),
    t("Explain how this project is built, and where a newcomer should begin to read"),
  ];
}

/** What keeps plans from working in this window: no folder is open, or it is not trusted. */
export function windowState(panel: Panel): View {
  const { server } = panel.ui;
  if (server.kind !== "running") return nothing;
  if (server.noFolder === true)
    return html`<section class="banner" id="no-folder">
      ${icon("folder")}<span>${t("No folder is open. A plan works on the files of a folder.")}</span>
      ${mendButtons(panel, ["folder"])}
    </section>`;
  if (!server.trusted)
    return html`<section class="banner" id="restricted">
      ${icon("lock")}<span
        >${t("This folder is in Restricted Mode: plans can be drafted and read, nothing is written or run.")}</span
      >
      ${mendButtons(panel, ["trust"])}
    </section>`;
  return nothing;
}

/** Whether a request waits for the user to choose a model, or to go on without one. */
export function isHeld({ server }: Ui): boolean {
  return server.kind === "running" && server.needsModel?.held === true;
}

/** The card that offers ways to a model, where none is set up. */
export function modelSetUp(panel: Panel): View {
  const { ui } = panel;
  const { server } = ui;
  if (server.kind !== "running" || server.needsModel === undefined) return nothing;
  const button = (way: Way, label: string): View =>
    html`<vscode-button secondary data-way=${way} @click=${() => panel.post({ kind: "setUp", way })}>${label}</vscode-button>`;
  return html`<section class="banner set-up ${isHeld(ui) ? "warning" : ""}" id="model-set-up" aria-label=${t("Choose a model")}>
    ${icon("hubot")}
    <span
      ><b>${isHeld(ui) ? t("Your request is held: choose a model first") : t("Choose a model")}</b>
      <div>${t("No model is set up. Without one, only requests that say exactly what to write or run can be carried out.")}</div></span
    >
    <div class="actions">
      ${button("ollama", "Ollama")} ${button("key", t("API key…"))} ${button("address", t("Server address…"))}
      ${server.needsModel.editor ? button("editor", t("The editor's own model")) : nothing}
      ${button("without", t("Go on without"))}
    </div>
  </section>`;
}
