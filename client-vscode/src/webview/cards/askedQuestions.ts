// What a step has asked, and what the user has answered.

import { html, nothing } from "lit";

import { type PlanView, stepView } from "../../plan/views";
import { t } from "../../words";
import { icon, shown, type View } from "../ui";

export function questionsBefore(view: PlanView, stepId: string): View {
  const asked = stepView(view, stepId)?.asked ?? [];
  return asked.length === 0
    ? nothing
    : html`<dl class="asked-before" aria-label=${t("Questions and answers")}>${asked.map(
        ({ question, answer }) => html`<dt>${icon("question")} ${shown(question)}</dt>
          <dd>${icon("reply")} ${shown(answer)}</dd>`,
      )}</dl>`;
}
