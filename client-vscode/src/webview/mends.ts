// An error in the panel: what is wrong, and a button for each thing that mends it.

import { html, nothing } from "lit";

import { explanation, mendLabel } from "../models/mends";
import type { PlanView } from "../plan/views";
import type { Mend } from "../protocol";
import { t } from "../words";
import { icon, type Panel, shown, type View } from "./ui";

/** A button for each mend; a plan that had the error goes on afterwards. */
export function mendButtons(panel: Panel, mends: readonly Mend[], planId?: string): View {
  if (mends.length === 0) return nothing;
  return html`<div class="actions mends">
    ${mends.map(
      (mend, index) => html`<vscode-button
        data-mend=${mend}
        ?secondary=${index > 0}
        @click=${() => panel.post({ kind: "mend", mend, planId, draft: mend === "folder" ? panel.ui.draft : undefined })}
      >${mendLabel(mend)}</vscode-button>`,
    )}
  </div>`;
}

/** A link to the page about an error or a pause; the editor opens it in a browser. */
export function helpLink(page: string | null | undefined): View {
  return page == null ? nothing : html` <a class="help" href=${page}>${t("Learn More")}</a>`;
}

/** Why a plan is paused for its model. */
export function pausedForModel(panel: Panel, { plan, problem }: PlanView): View {
  if (problem == null) return nothing;
  return html`<div class="banner warning" id="model-problem">
    ${icon("debug-pause")}<span>${shown(explanation(problem))}${helpLink(problem.help)}</span>${mendButtons(panel, problem.mends, plan.planId)}
  </div>`;
}
