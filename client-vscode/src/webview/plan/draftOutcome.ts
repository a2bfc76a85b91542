// What became of the last draft: why it failed, with the feedback that it was for, or what the planner warns of.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";

import type { PlanView } from "../../plan/views";
import { t } from "../../words";
import { focusSoon, icon, linkButton, type Panel, shown, type View } from "../ui";

export function draftOutcome(panel: Panel, view: PlanView): View {
  const { draft, plan } = view;
  if (draft == null) return nothing;
  const { feedback = "", failed, warnings } = draft;
  const again = () => {
    panel.change(plan.planId, (forms) => (forms.prompt = { kind: "regenerate", text: feedback }));
    focusSoon("#prompt-text");
  };
  return html`<div class="banner warning draft-outcome" role="status">
    ${icon("warning")}<span>${warnings.map((each) => html`<div>${shown(each)}</div>`)}${when(failed && feedback !== "", () => html`<div class="quiet">${t("Your feedback: {0}", feedback)}</div>`)}</span>
    ${failed ? linkButton(t("Try again…"), again, { icon: "refresh", id: "draft-again" }) : nothing}
  </div>`;
}
