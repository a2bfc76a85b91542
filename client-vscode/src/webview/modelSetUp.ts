// The card of the empty panel that offers ways to a model, where none is set up.

import { html, nothing } from "lit";

import type { Way } from "../models/ways";
import { t } from "../words";
import { icon, type Panel, type View } from "./ui";
import type { Ui } from "./uiState";

/** Whether a request waits for the user to choose a model, or to go on without one. */
export function isHeld({ server }: Ui): boolean {
  return server.kind === "running" && server.needsModel?.held === true;
}

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
