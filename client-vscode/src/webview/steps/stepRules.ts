// What decides whether and how often a step runs, and what it is besides work: shown in its row, since the plan is
// approved with it.

import { html, nothing } from "lit";

import type { Rule, Step, StepView } from "../../protocol";
import { icon, shown, type View } from "../ui";

export const RULE_ICON: Readonly<Record<Rule["kind"], string>> = {
  when: "git-compare",
  forEach: "list-unordered",
  repeatUntil: "sync",
};

/** The condition of a step and the rule of its loop, as long as they can still matter. */
export function stepRules({ step, rules = [] }: StepView): View {
  if (step.status === "completed") return nothing;
  return html`${rules.map(
    ({ kind, words, hint }) => html`<span class="rule" title=${hint}>${icon(RULE_ICON[kind])}${shown(words)}</span>`,
  )}`;
}

/** Where a loop or a sub-plan stands whose steps are at work. */
export function loopPosition({ position }: StepView): View {
  return position == null ? nothing : html`<span class="loop-position">${position}</span>`;
}

/** The icons of the kinds of steps that neither call a tool nor are work for an agent. */
export const NODE_ICON: Readonly<Partial<Record<Step["kind"], string>>> = {
  clarification: "question",
  check: "beaker",
  approval: "pass",
  sub_plan: "layers",
};
