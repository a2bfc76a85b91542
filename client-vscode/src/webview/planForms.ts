// The forms of each plan in the panel: what is open, typed or chosen in them.

import * as v from "valibot";

import { type FileChoice, REVIEWS } from "../protocol";

/** The kinds of steps that the form knows; a task calls a tool or is work for an agent. */
export const FORM_KINDS = ["task", "check", "approval", "clarification", "sub_plan"] as const;
export type FormKind = (typeof FORM_KINDS)[number];

/** The kinds of checks, in the order in which a form offers them. */
export const CHECK_KINDS = ["command", "condition", "file_exists", "file_contains", "no_new_errors"] as const;

/** The content of the form for an existing step, or for a new step after another. */
export type StepDraft = v.InferOutput<typeof stepDraft>;

/** What belongs to one plan. It is plain JSON, so that the editor can keep it while the page is closed. */
export type PlanForms = v.InferOutput<typeof savedForms>;

/** One form of a plan, by its name, which closes once its request was accepted: its texts and choices begin with it. */
export type Form = "step" | "reject" | `${"skip" | "answer" | "retry" | "conflict"} ${string}`;

/** A state that holds the forms of plans, by their ids. */
interface WithForms {
  readonly plans: Readonly<Record<string, PlanForms>>;
}

const text = v.string();
const texts = v.record(text, text);
const stepDraft = v.object({
  target: v.variant("kind", [
    v.object({ kind: v.literal("existing"), stepId: text }),
    v.object({ kind: v.literal("new"), after: v.nullable(text) }),
  ]),
  description: text,
  instruction: text,
  tool: text,
  dependsOn: v.array(text),
  agent: text,
  critical: v.boolean(),
  /** Its kind where it is no task, with what that kind needs. */
  kind: v.optional(v.picklist(FORM_KINDS)),
  question: v.optional(text),
  checks: v.optional(
    v.array(
      v.object({
        kind: v.picklist(CHECK_KINDS),
        path: v.optional(text),
        text: v.optional(text),
        command: v.optional(text),
      }),
    ),
  ),
  template: v.optional(text),
  /** The arguments of the tool, or of the template's parameters: each as it is typed. */
  values: v.optional(v.record(text, text)),
  /** The rules of the step; left out where there are none. */
  when: v.optional(text),
  forEach: v.optional(text),
  repeatUntil: v.optional(text),
  problem: v.optional(text),
});
/** The forms of a plan, also as a page before has saved them. */
export const savedForms = v.object({
  open: v.array(text),
  /** The step whose row had the focus last: the rows are one tab stop. */
  row: v.optional(text),
  /** Whether the steps are drawn as a graph. */
  drawn: v.optional(v.boolean()),
  /** Whether the details of the plan are shown. */
  about: v.optional(v.boolean()),
  /** The version whose changes were read. */
  read: v.optional(v.number()),
  step: v.optional(stepDraft),
  /** When changes are reviewed, if the user chose it for this plan. */
  review: v.optional(v.picklist(REVIEWS)),
  /** What is written in a form of one text, by the form. */
  texts,
  /** Files left out, by approval. */
  leftOut: v.record(text, v.array(text)),
  /** Whether the user has shown or hidden the changed lines of a file of an approval, by the names of unseen.ts. */
  diffs: v.fallback(v.record(text, v.boolean()), {}),
  /** Which offer of a command's approval is chosen, by approval. */
  confinements: v.fallback(v.record(text, v.number()), {}),
  /** Which text of a conflict stays, by edit and file. */
  choices: v.record(text, v.picklist(["mine", "theirs", "both", "text"] satisfies FileChoice["choice"][])),
  /** What was merged in the editor, beside the user's own text, by edit and file. */
  merged: v.fallback(v.record(text, v.object({ mine: text, text })), {}),
});
const NO_FORMS: PlanForms = {
  open: [],
  texts: {},
  leftOut: {},
  diffs: {},
  confinements: {},
  choices: {},
  merged: {},
};

/** The name under which a choice, or a merged text, is kept for a file of a conflict. */
export function conflictKey(editId: string, uri: string): string {
  return `conflict ${editId} ${uri}`;
}

export function formsOf(ui: WithForms, planId: string): PlanForms {
  return ui.plans[planId] ?? NO_FORMS;
}

/** Change the forms of one plan; `change` gets a copy. */
export function withForms<U extends WithForms>(ui: U, planId: string, change: (forms: PlanForms) => void): U {
  const copy = structuredClone(formsOf(ui, planId));
  change(copy);
  const { [planId]: _, ...others } = ui.plans;
  return { ...ui, plans: { ...others, [planId]: copy } };
}

/** Close a form whose request was accepted. */
export function close(forms: PlanForms, form: Form): void {
  if (form === "step") delete forms.step;
  delete forms.texts[form];
  for (const kept of [forms.choices, forms.merged])
    for (const key of Object.keys(kept)) if (key.startsWith(`${form} `)) delete kept[key];
}
