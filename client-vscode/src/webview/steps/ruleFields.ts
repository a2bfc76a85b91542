// The fields of the step form for what decides whether and how often a step runs.

import { html } from "lit";

import type { Step } from "../../protocol";
import { t } from "../../words";
import type { StepDraft } from "../planForms";
import type { View } from "../ui";

const RULES = ["when", "forEach", "repeatUntil"] as const;
export type Rule = (typeof RULES)[number];
type Rules = Partial<Record<Rule, string | null>>;

/** The rules of a step as a draft holds them. */
export function rulesOf(step: Step): Partial<Record<Rule, string>> {
  return Object.fromEntries(RULES.flatMap((rule) => (step[rule] == null ? [] : [[rule, step[rule]]])));
}

/** The rules in which a draft differs from its step; null clears one. */
export function changedRules(draft: StepDraft, step: Step | undefined): Rules {
  const changed: Rules = {};
  for (const rule of RULES) {
    const now = (draft[rule] ?? "").trim();
    if (now !== (step?.[rule] ?? "")) changed[rule] = now === "" ? null : now;
  }
  return changed;
}

export function ruleFields(draft: StepDraft, typed: (rule: Rule) => (event: Event) => void): View {
  const words: Record<Rule, readonly [string, string]> = {
    when: [t("Runs only if"), "steps.ID.ok, exists('path'), …"],
    forEach: [t("For each of"), "glob('src/*.py'), $ID, [1, 2]"],
    repeatUntil: [t("Again until"), "last.ok"],
  };
  return html`<details class="rules" ?open=${RULES.some((rule) => (draft[rule] ?? "") !== "")}>
    <summary>${t("Condition and loop")}</summary>
    ${RULES.map(
      (rule) => html`<label for=${`step-${rule}`}>${words[rule][0]}</label>
        <vscode-textfield
          id=${`step-${rule}`}
          .label=${words[rule][0]}
          placeholder=${words[rule][1]}
          .value=${draft[rule] ?? ""}
          @input=${typed(rule)}
        ></vscode-textfield>`,
    )}
  </details>`;
}
