// What decides whether a step runs: shown in its row, since the plan is approved with it.

import { html, nothing } from "lit";

import type { Step } from "../protocol";
import { t } from "../words";
import { icon, phrase, shown, type View } from "./ui";

/** The condition of a step, as long as it can still matter. */
export function stepRules(step: Step): View {
  if (step.when == null || step.status === "completed") return nothing;
  return html`<span class="rule" title=${t("Runs only if this holds when it is due")}>${icon("git-compare")}${phrase("if {0}", shown(step.when))}</span>`;
}
