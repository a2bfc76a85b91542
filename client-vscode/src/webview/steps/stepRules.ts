// What decides whether and how often a step runs, and what it is besides work: shown in its row, since the plan is
// approved with it.

import { html, nothing } from "lit";

import type { Step } from "../../protocol";
import { t } from "../../words";
import { icon, phrase, shown, type View } from "../ui";

/** The condition of a step and the rule of its loop, as long as they can still matter. */
export function stepRules(step: Step): View {
  if (step.status === "completed") return nothing;
  const { when, forEach, repeatUntil, repeatMost } = step;
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
      : html`<span class="rule" title=${t("At most {0} rounds", repeatMost ?? DEFAULT_ROUNDS)}>${icon("sync")}${phrase("again until {0}", shown(repeatUntil))}</span>`
  }`;
}

/** Whether a step is a node of the plan that neither calls a tool nor is work for an agent. */
export function isNode({ kind }: Step): boolean {
  return kind === "clarification" || kind === "check" || kind === "approval" || kind === "sub_plan";
}

/** The kind of such a step. */
export function nodeOf({ kind, templateId }: Step): View {
  const node = (name: string, words: View | string): View => html`<span class="tool">${icon(name)}${words}</span>`;
  if (kind === "sub_plan") return node("layers", phrase("template {0}", shown(templateId ?? "")));
  if (kind === "check") return node("beaker", t("check"));
  return kind === "approval" ? node("pass", t("asks for your yes")) : node("question", t("question"));
}

const DEFAULT_ROUNDS = 5;
