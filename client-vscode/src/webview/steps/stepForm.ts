// The form that adds or changes one step.

import { html, nothing } from "lit";

import { AGENTS, type Plan, type Step, type StepEdit } from "../../protocol";
import { t } from "../../words";
import type { StepDraft } from "../planForms";
import { agentName } from "../text/format";
import { fieldValue, type Panel, shown, type View } from "../ui";
import { isBusy } from "../uiState";
import { changedNode, formKind, kindField, nodeDraft, nodeFields } from "./nodeFields";
import { changedRules, type Rule, ruleFields, rulesOf } from "./ruleFields";

export function draftOf(step: Step): StepDraft {
  return {
    target: { kind: "existing", stepId: step.stepId },
    description: step.description,
    instruction: step.instruction,
    tool: step.tool ?? "",
    args: step.args == null ? "" : JSON.stringify(step.args, null, 2),
    dependsOn: [...step.dependsOn],
    agent: step.agent,
    critical: step.critical,
    ...nodeDraft(step),
    ...rulesOf(step),
  };
}

export function emptyDraft(after: string | null): StepDraft {
  return {
    target: { kind: "new", after },
    description: "",
    instruction: "",
    tool: "",
    args: "",
    dependsOn: [],
    agent: "koda",
    critical: false,
  };
}

/** Whether the form holds something that would be lost if it closed. */
export function hasWork(draft: StepDraft | undefined, plan: Plan): boolean {
  if (draft === undefined) return false;
  const { target } = draft;
  if (target.kind === "new") {
    const { description, instruction, tool, args, question = "", template = "", checks = [] } = draft;
    const typed = [description, instruction, tool, args, question, template];
    return typed.join("").trim() !== "" || checks.some(({ kind: _, ...of }) => Object.values(of).join("") !== "");
  }
  const step = plan.steps.find((each) => each.stepId === target.stepId);
  return step !== undefined && editOf(draft, step) !== undefined;
}

export function editForm(panel: Panel, plan: Plan, step: Step): View {
  return form(panel, plan, step);
}

export function addForm(panel: Panel, plan: Plan): View {
  return form(panel, plan, undefined);
}

/** The edit of a draft: what differs from the step, undefined if nothing does, or the problem with the draft. */
export function editOf(draft: StepDraft, step: Step | undefined): StepEdit | { problem: string } | undefined {
  if (draft.description.trim() === "") return { problem: t("A step needs a description.") };
  const node = changedNode(draft, step);
  if ("problem" in node) return node;
  const isTask = (draft.kind ?? "task") === "task";
  const args = isTask ? readArgs(draft.args) : { value: null };
  if ("problem" in args) return args;
  const tool = draft.tool.trim() === "" ? null : draft.tool.trim();
  const kind = tool === null ? "processing" : "tool_call";
  const agent = AGENTS.find((each) => each === draft.agent) ?? "koda";
  if (draft.target.kind === "new" || step === undefined) {
    const after = draft.target.kind === "new" ? draft.target.after : null;
    const instruction = isTask && draft.instruction.trim() !== "" ? draft.instruction : draft.description;
    const { description, critical, dependsOn } = draft;
    return {
      op: "add",
      after,
      step: {
        description,
        instruction,
        agent,
        critical,
        dependsOn: [...dependsOn],
        ...(isTask ? { kind, ...(tool === null ? {} : { tool, args: args.value ?? {} }) } : {}),
        ...node,
        ...changedRules(draft, undefined),
      },
    };
  }
  const set: Extract<StepEdit, { op: "update" }>["set"] = { ...changedRules(draft, step), ...node };
  if (draft.description !== step.description) set.description = draft.description;
  if (draft.critical !== step.critical) set.critical = draft.critical;
  if (draft.dependsOn.join("\n") !== step.dependsOn.join("\n")) set.dependsOn = [...draft.dependsOn];
  if (isTask) {
    if (draft.instruction !== step.instruction) set.instruction = draft.instruction;
    if (tool !== (step.tool ?? null)) set.tool = tool;
    if (formKind(step) !== "task" || (tool === null) !== (step.tool == null)) set.kind = kind;
    if (JSON.stringify(args.value) !== JSON.stringify(step.args ?? null)) set.args = args.value;
    if (agent !== step.agent) set.agent = agent;
  }
  return Object.keys(set).length === 0 ? undefined : { op: "update", stepId: step.stepId, set };
}

type ArgsValue = Extract<StepEdit, { op: "update" }>["set"]["args"];

/** Reads typed arguments: one JSON object, or null if nothing is typed. */
export function readArgs(text: string): { value: NonNullable<ArgsValue> | null } | { problem: string } {
  if (text.trim() === "") return { value: null };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { problem: t("Arguments are a JSON object: {0}.", "{ … }") };
    return { value: value as NonNullable<ArgsValue> };
  } catch (error) {
    return { problem: t("Arguments are no JSON: {0}", error instanceof Error ? error.message : String(error)) };
  }
}

function form(panel: Panel, plan: Plan, step: Step | undefined): View {
  const { planId, version } = plan;
  const draft = panel.forms(planId).step;
  if (draft === undefined) return nothing;
  const close = () => panel.change(planId, (forms) => delete forms.step);
  const write = (change: (draft: StepDraft) => void) =>
    panel.change(planId, (forms) => {
      if (forms.step !== undefined) change(forms.step);
    });
  const typed: Typed = (name) => (event) => write((now) => (now[name] = fieldValue(event)));
  const save = () => {
    const now = panel.forms(planId).step ?? draft;
    const edit = editOf(now, step);
    if (edit === undefined) return close();
    const problem = "problem" in edit ? edit.problem : undefined;
    write((each) => (each.problem = problem));
    if (!("problem" in edit))
      panel.decide(planId, "planloom/plan/edit", { planId, version, edits: [edit] }, { form: "step" });
  };
  const others = plan.steps.filter((each) => each.stepId !== step?.stepId);
  return html`<div
    class="step-form"
    role="form"
    aria-label=${step === undefined ? t("New step") : t("Edit step")}
    @keydown=${(event: KeyboardEvent) => {
      if (event.key === "Escape") close();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    }}
  >
    <label for="step-description">${t("Description")}</label>
    <vscode-textfield
      id="step-description"
      .label=${t("Description")}
      .value=${draft.description}
      @input=${typed("description")}
    ></vscode-textfield>
    ${kindField(draft, write)}
    ${(draft.kind ?? "task") === "task" ? taskFields(draft, typed) : nothing}
    ${nodeFields(panel, draft, write)}
    ${
      others.length === 0
        ? nothing
        : html`<fieldset>
          <legend>${t("Waits for")}</legend>
          ${others.map((each) => dependency(plan, draft, each, write))}
        </fieldset>`
    }
    ${ruleFields(draft, typed)}
    <vscode-checkbox
      .label=${t("The plan fails if this step fails")}
      ?checked=${draft.critical}
      @change=${() => write((now) => (now.critical = !now.critical))}
    ></vscode-checkbox>
    ${draft.problem === undefined ? nothing : html`<p class="bad" role="alert">${shown(draft.problem)}</p>`}
    <div class="actions">
      <vscode-button
        id="step-save"
        ?disabled=${isBusy(panel.ui, planId, { form: "step" })}
        @click=${save}
      >${step === undefined ? t("Add step") : t("Save step")}</vscode-button>
      <vscode-button secondary @click=${close}>${t("Back")}</vscode-button>
      <span class="hint grow">${t("Ctrl+⏎ saves")}</span>
    </div>
  </div>`;
}

type Typed = (name: "description" | "instruction" | "tool" | "args" | "agent" | Rule) => (event: Event) => void;

function taskFields(draft: StepDraft, typed: Typed): View {
  return html`<label for="step-instruction">${t("Instruction")}</label>
    <vscode-textarea
      id="step-instruction"
      .label=${t("Instruction")}
      rows="3"
      resize="vertical"
      .value=${draft.instruction}
      @input=${typed("instruction")}
    ></vscode-textarea>
    <div class="two">
      <span><label for="step-tool">${t("Tool")}</label>
        <vscode-textfield
          id="step-tool"
          .label=${t("Tool")}
          placeholder=${t("none: an instruction for the agent")}
          .value=${draft.tool}
          @input=${typed("tool")}
        ></vscode-textfield></span>
      <span><label for="step-agent">${t("Agent")}</label>
        <vscode-single-select id="step-agent" .label=${t("Agent")} @change=${typed("agent")}>
          ${AGENTS.map(
            (agent) =>
              html`<vscode-option value=${agent} ?selected=${agent === draft.agent}>${agentName(agent)}</vscode-option>`,
          )}
        </vscode-single-select></span>
    </div>
    <label for="step-args">${t("Arguments (JSON)")}</label>
    <vscode-textarea
      id="step-args"
      .label=${t("Arguments")}
      rows="4"
      monospace
      resize="vertical"
      .value=${draft.args}
      @input=${typed("args")}
    ></vscode-textarea>`;
}

function dependency(
  plan: Plan,
  draft: StepDraft,
  step: Step,
  write: (change: (draft: StepDraft) => void) => void,
): View {
  const number = plan.steps.indexOf(step) + 1;
  const on = draft.dependsOn.includes(step.stepId);
  const toggle = () =>
    write(
      (now) =>
        (now.dependsOn = on ? now.dependsOn.filter((id) => id !== step.stepId) : [...now.dependsOn, step.stepId]),
    );
  return html`<label class="dependency"><input
    type="checkbox"
    .checked=${on}
    @change=${toggle}
  /> <span class="number">${number}</span> <span>${shown(step.description)}</span></label>`;
}
