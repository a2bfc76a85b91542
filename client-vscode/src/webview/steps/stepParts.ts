// What a step is and where it stands, the same in its row, in its card and in the graph.

import { html, nothing } from "lit";

import { STEP_ICON } from "../../plan/signs";
import { type PlanView, stepView } from "../../plan/views";
import type { Plan, Rule, Step, StepStatus, StepView } from "../../protocol";
import { t } from "../../words";
import { icon, shown, type View } from "../ui";

export const RULE_ICON: Readonly<Record<Rule["kind"], string>> = {
  when: "git-compare",
  forEach: "list-unordered",
  repeatUntil: "sync",
};

/** The step at work, of several the first. */
export function runningStep(plan: Plan): string | undefined {
  return plan.steps.find((step) => step.status === "running")?.stepId;
}

/** The icons of the kinds of steps that neither call a tool nor are work for an agent. */
export const NODE_ICON: Readonly<Partial<Record<Step["kind"], string>>> = {
  clarification: "question",
  check: "beaker",
  approval: "pass",
  sub_plan: "layers",
};

/** The status of a step, its icon, and what that says: what it waits for, if it waits for a person or a resource. */
export function stepLook({ step, sign, words }: StepView): { status: StepStatus; icon: string; label: string } {
  return { status: sign === "running" ? sign : step.status, icon: STEP_ICON[sign], label: words };
}

/** What a step has asked, and what the user has answered. */
export function questionsBefore(view: PlanView, stepId: string): View {
  const asked = stepView(view, stepId)?.asked ?? [];
  return asked.length === 0
    ? nothing
    : html`<dl class="asked-before" aria-label=${t("Questions and answers")}>${asked.map(
        ({ question, answer }) => html`<dt>${icon("question")} ${shown(question)}</dt>
          <dd>${icon("reply")} ${shown(answer)}</dd>`,
      )}</dl>`;
}
