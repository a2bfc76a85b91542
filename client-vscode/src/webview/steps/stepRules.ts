// What decides whether and how often a step runs, and what it is besides work: shown in its row, since the plan is
// approved with it.

import { html, nothing } from "lit";

import type { Step, StepView } from "../../protocol";
import { t } from "../../words";
import { icon, phrase, shown, type View } from "../ui";

const DEFAULT_ROUNDS = 5;

/** The condition of a step and the rule of its loop, as long as they can still matter. */
export function stepRules(step: Step): View {
  if (step.status === "completed") return nothing;
  const { when, forEach, repeatUntil } = step;
  return html`${
    when == null
      ? nothing
      : html`<span class="rule" title=${t("Runs only if this holds when it is due")}>${icon("git-compare")}${phrase("if {0}", shown(when))}</span>`
  }${
    forEach == null
      ? nothing
      : html`<span class="rule" title=${t("Becomes a step for each item")}>${icon("list-unordered")}${phrase("for each of {0}", shown(forEach))}</span>`
  }${
    repeatUntil == null
      ? nothing
      : html`<span class="rule" title=${t("At most {0} rounds", step.repeatMost ?? DEFAULT_ROUNDS)}>${icon("sync")}${phrase("again until {0}", shown(repeatUntil))}</span>`
  }`;
}

/** Where a loop or a sub-plan stands whose steps are at work. */
export function loopPosition({ position }: StepView): View {
  return position == null ? nothing : html`<span class="loop-position">${position}</span>`;
}

/** The icons of the kinds of steps that neither call a tool nor are work for an agent. */
export const NODE_ICON = { clarification: "question", check: "beaker", approval: "pass", sub_plan: "layers" } as const;

/** Whether a step is a node of the plan of such a kind. */
export function isNode<T extends Pick<Step, "kind">>(step: T): step is T & { kind: keyof typeof NODE_ICON } {
  return step.kind in NODE_ICON;
}

/** The kind of such a step. */
export function nodeOf({ kind, templateId }: Step & { kind: keyof typeof NODE_ICON }): View {
  const words = {
    sub_plan: () => phrase("template {0}", shown(templateId ?? "")),
    check: () => t("check"),
    approval: () => t("asks for your yes"),
    clarification: () => t("question"),
  };
  return html`<span class="tool">${icon(NODE_ICON[kind])}${words[kind]()}</span>`;
}
