// An error in the panel: what is wrong, and a button for each thing that mends it.

import { html, nothing } from "lit";

import { explanation, mendLabel } from "../models/mends";
import type { PlanView } from "../plan/views";
import type { Mend } from "../protocol";
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

/** Why a plan is paused for its model. */
export function pausedForModel(panel: Panel, { plan, problem }: PlanView): View {
  if (problem == null) return nothing;
  return html`<div class="banner warning" id="model-problem">
    ${icon("debug-pause")}<span>${shown(explanation(problem))}</span>${mendButtons(panel, problem.mends, plan.planId)}
  </div>`;
}
