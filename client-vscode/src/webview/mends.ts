// An error in the panel: what is wrong, and a button for each thing that mends it.

import { html, nothing } from "lit";

import { type Mend, mendLabel } from "../models/mends";
import { modelProblem, ofCode } from "../models/problems";
import type { PlanView } from "../plan/views";
import type { PlanError } from "../protocol";
import { icon, type Panel, shown, type View } from "./ui";

/** A button for each mend; a plan that had the error goes on afterwards. */
export function mendButtons(panel: Panel, mends: readonly Mend[], planId?: string): View {
  if (mends.length === 0) return nothing;
  return html`<div class="actions mends">
    ${mends.map(
      (mend, index) => html`<vscode-button
        data-mend=${mend}
        ?secondary=${index > 0}
        @click=${() =>
          panel.post({
            kind: "mend",
            mend,
            ...(planId === undefined ? {} : { planId }),
            ...(mend === "folder" ? { draft: panel.ui.draft } : {}),
          })}
      >${mendLabel(mend)}</vscode-button>`,
    )}
  </div>`;
}

/** Why a plan is paused for its model. */
export function pausedForModel(panel: Panel, { plan }: PlanView): View {
  const { message, mends } = modelProblem(plan.modelProblem, plan.pausedAt);
  return html`<div class="banner warning" id="model-problem">
    ${icon("debug-pause")}<span>${shown(message)}</span>${mendButtons(panel, mends, plan.planId)}
  </div>`;
}

/** What is wrong with a plan that failed, and what mends it. */
export function planError(panel: Panel, planId: string, error: PlanError): { title: string; mends: View } {
  const { message, mends } = ofCode(error);
  return { title: message, mends: mendButtons(panel, mends, planId) };
}
