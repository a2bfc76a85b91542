// The form that adds or changes one step.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";

import { AGENTS, type Check, type Plan, type Step, type Template } from "../../protocol";
import { t } from "../../words";
import { below, formKeys, select, textArea, textField } from "../fields";
import { CHECK_KINDS, FORM_KINDS, type FormKind, type StepDraft } from "../planForms";
import { agentName } from "../text/format";
import { asking, button, iconButton, linkButton, type Panel, shown, type View } from "../ui";
import { isBusy } from "../uiState";
import { type ArgumentField, argumentFields, CHECK_FIELDS, type CheckDraft, editOf, isEmpty } from "./stepDraft";

type Write = (change: (draft: StepDraft) => void) => void;

/** The form for a step of the plan, or for a new one. */
export function stepForm(panel: Panel, plan: Plan, step: Step | undefined): View {
  const { planId, version } = plan;
  const draft = panel.forms(planId).step;
  if (draft === undefined) return nothing;
  const close = () => panel.change(planId, (forms) => delete forms.step);
  const write: Write = (change) =>
    panel.change(planId, (forms) => {
      if (forms.step !== undefined) change(forms.step);
    });
  const save = () => {
    const edit = editOf(panel.forms(planId).step ?? draft, step, panel.ui.tools);
    if (edit === undefined) return close();
    const problem = "problem" in edit ? edit.problem : undefined;
    write((each) => (each.problem = problem));
    if (!("problem" in edit)) panel.decide(planId, "planloom/plan/edit", { planId, version, edits: [edit] }, "step");
  };
  const others = plan.steps.filter((each) => each.stepId !== step?.stepId);
  return html`<div
    class="step-form"
    role="form"
    aria-label=${step === undefined ? t("New step") : t("Edit step")}
    @keydown=${formKeys(close, save)}
  >
    ${line("description", t("Description"), draft, write)} ${kindField(draft, write)}
    ${(draft.kind ?? "task") === "task" ? taskFields(panel, draft, step, write) : nothing}
    ${nodeFields(panel, draft, write)}
    ${when(
      others.length > 0,
      () => html`<fieldset>
        <legend>${t("Waits for")}</legend>
        ${others.map((each) => dependency(plan, draft, each, write))}
      </fieldset>`,
    )}
    ${ruleFields(draft, write)}
    <vscode-checkbox
      .label=${t("The plan fails if this step fails")}
      ?checked=${draft.critical}
      @change=${() => write((now) => (now.critical = !now.critical))}
    ></vscode-checkbox>
    ${draft.problem === undefined ? nothing : html`<p class="bad" role="alert">${shown(draft.problem)}</p>`}
    <div class="actions">
      ${button(step === undefined ? t("Add step") : t("Save step"), save, {
        id: "step-save",
        disabled: isBusy(panel.ui, planId, "step"),
      })}
      ${button(t("Back"), close, { secondary: true })}
      <span class="hint grow">${t("Ctrl+⏎ saves")}</span>
    </div>
  </div>`;
}

type Line = "description" | "question" | "when" | "forEach" | "repeatUntil";

/** A field of one line below its words. */
function line(name: Line, words: string, draft: StepDraft, write: Write, placeholder = ""): View {
  const id = `step-${name}`;
  const typed = (text: string) => write((now) => (now[name] = text));
  return below(id, words, textField(words, draft[name] ?? "", typed, { id, placeholder }));
}

function taskFields(panel: Panel, draft: StepDraft, step: Step | undefined, write: Write): View {
  const { tools = [] } = panel.ui;
  const agents = AGENTS.map((agent) => [agent, agentName(agent)] as const);
  const chosen =
    tools.some(({ name }) => name === draft.tool) || draft.tool === "" ? [] : [[draft.tool, draft.tool] as const];
  const offered = [
    ["", t("none: an instruction for the agent")] as const,
    ...chosen,
    ...tools.map(({ name }) => [name, name] as const),
  ];
  const describe = (text: string) => write((now) => (now.instruction = text));
  return html`<span hidden data-asks=${asking({ kind: "tools" })}></span>
    <div class="two">
      <span>${below(
        "step-tool",
        t("Tool"),
        select(t("Tool"), offered, draft.tool, (tool) => write((now) => (now.tool = tool)), { id: "step-tool" }),
      )}</span>
      <span>${below(
        "step-agent",
        t("Agent"),
        select(t("Agent"), agents, draft.agent, (agent) => write((now) => (now.agent = agent)), { id: "step-agent" }),
      )}</span>
    </div>
    ${argumentFields(draft, step, tools).map((field) => argument(panel, field, draft, write))}
    ${draft.tool === "" ? below("step-instruction", t("Instruction"), textArea(t("Instruction"), draft.instruction, describe, { id: "step-instruction" })) : nothing}`;
}

/** Arguments that are texts of files. */
const LONG = /content|text|patch/;

/** The field of one argument; a long text can be written in the editor instead, in the plan's document. */
function argument(
  panel: Panel,
  { name, description, type, choices, required }: ArgumentField,
  draft: StepDraft,
  write: Write,
): View {
  const value = draft.values?.[name] ?? "";
  const typed = (text: string) => write((now) => (now.values = { ...now.values, [name]: text }));
  const id = `step-arg-${name}`;
  const words = html`<span title=${description}>${shown(name)}${required ? nothing : html` <span class="quiet">${t("optional")}</span>`}</span>`;
  if (type === "boolean")
    return html`<vscode-checkbox
      id=${id}
      .label=${name}
      ?checked=${value === "true"}
      @change=${() => typed(value === "true" ? "false" : "true")}
    ></vscode-checkbox>`;
  if (choices.length > 0)
    return below(
      id,
      words,
      select(
        name,
        ["", ...choices].map((each) => [each, each] as const),
        value,
        typed,
        { id },
      ),
    );
  if (type !== "string" || !(LONG.test(name) || value.includes("\n")))
    return below(id, words, textField(name, value, typed, { id, title: description }));
  const rows = Math.min(14, Math.max(4, value.split("\n").length));
  return html`${below(id, words, textArea(name, value, typed, { id, rows, monospace: true }))}
    ${linkButton(t("Edit in the editor"), () => panel.post({ kind: "show", what: "document" }), {
      icon: "go-to-file",
      title: t("Opens the plan as a document; what is saved there is a new version"),
    })}`;
}

function dependency(plan: Plan, draft: StepDraft, step: Step, write: Write): View {
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

/** What decides whether and how often a step runs. */
function ruleFields(draft: StepDraft, write: Write): View {
  const { when = "", forEach = "", repeatUntil = "" } = draft;
  return html`<details class="rules" ?open=${`${when}${forEach}${repeatUntil}` !== ""}>
    <summary>${t("Condition and loop")}</summary>
    ${line("when", t("Runs only if"), draft, write, "steps.ID.ok, exists('path'), …")}
    ${line("forEach", t("For each of"), draft, write, "glob('src/*.py'), $ID, [1, 2]")}
    ${line("repeatUntil", t("Again until"), draft, write, "last.ok")}
  </details>`;
}

export function kindField(draft: StepDraft, write: Write): View {
  const words: Record<FormKind, string> = {
    task: t("Task"),
    check: t("Check"),
    approval: t("Approval"),
    clarification: t("Question"),
    sub_plan: t("Sub-plan"),
  };
  const kinds = FORM_KINDS.map((kind) => [kind, words[kind]] as const);
  const choose = (value: string) => {
    const kind = FORM_KINDS.find((each) => each === value);
    write((each) => {
      each.kind = kind;
      each.values = {};
      // A check that nobody has written would keep a task from being saved.
      const written = (each.checks ?? []).filter((check) => !isEmpty(check));
      each.checks = kind === "check" && written.length === 0 ? [{ kind: "command" }] : written;
    });
  };
  const id = "step-kind";
  return below(id, t("Kind"), select(t("Kind"), kinds, draft.kind ?? "task", choose, { id }));
}

/** The fields of the kind that is chosen; the checks of any step that has some. */
export function nodeFields(panel: Panel, draft: StepDraft, write: Write): View {
  const { kind, checks = [] } = draft;
  const optional = kind === "approval" ? t("Shall the plan go on?") : "";
  return html`${when(kind === "approval" || kind === "clarification", () => line("question", t("Question"), draft, write, optional))}${kind === "sub_plan" ? templateFields(panel.ui.templates ?? [], draft, write) : nothing}${when(kind === "check" || checks.length > 0, () => checkFields(checks, write))}`;
}

function checkFields(checks: readonly CheckDraft[], write: Write): View {
  const words: Record<Check["kind"], string> = {
    command: t("Command succeeds"),
    condition: t("Condition holds"),
    file_exists: t("File exists"),
    file_contains: t("File contains"),
    no_new_errors: t("No new errors"),
  };
  const kinds = CHECK_KINDS.map((kind) => [kind, words[kind]] as const);
  const add = () => write((now) => (now.checks = [...(now.checks ?? []), { kind: "command" }]));
  const change = (index: number, more: Partial<CheckDraft>) =>
    write((now) => (now.checks = now.checks?.map((each, place) => (place === index ? { ...each, ...more } : each))));
  const field = (check: CheckDraft, index: number, name: "path" | "text" | "command"): View => {
    const isCondition = check.kind === "condition";
    const [label, placeholder] = {
      command: [t("Command"), "make test"] as const,
      path: [t("Path"), "src/main.py"] as const,
      text: isCondition ? ([t("Condition"), "steps.ID.ok"] as const) : ([t("Text"), ""] as const),
    }[name];
    const options = { id: `step-check-${index}-${name}`, classes: "whole", placeholder };
    return textField(label, check[name] ?? "", (text) => change(index, { [name]: text }), options);
  };
  const choose = (index: number) => (value: string) => {
    const kind = CHECK_KINDS.find((each) => each === value);
    if (kind !== undefined) change(index, { kind, path: undefined, text: undefined, command: undefined });
  };
  return html`<fieldset>
    <legend>${t("Checks")}</legend>
    ${checks.map(
      (check, index) => html`<div class="check-fields">
        ${select(t("Check"), kinds, check.kind, choose(index), { id: `step-check-${index}` })}
        ${iconButton("trash", t("Remove this check"), () => write((now) => now.checks?.splice(index, 1)))}
        ${CHECK_FIELDS[check.kind].map((name) => field(check, index, name))}
      </div>`,
    )}
    ${linkButton(t("Add a check"), add, { icon: "add", id: "step-add-check" })}
  </fieldset>`;
}

/** The name under which a step names a template: its id where another one has the name, too. */
export function nameOf(template: Template, templates: readonly Template[]): string {
  return templates.some((each) => each !== template && isNamed(each, template.name))
    ? template.templateId
    : template.name;
}

function isNamed(template: Template, name: string): boolean {
  return template.templateId === name || template.name.toLowerCase() === name.toLowerCase();
}

function templateOf(name: string | undefined, templates: readonly Template[]): Template | undefined {
  if (name === undefined) return undefined;
  return templates.find(({ templateId }) => templateId === name) ?? templates.find((each) => isNamed(each, name));
}

function templateFields(known: readonly Template[], draft: StepDraft, write: Write): View {
  const chosen = templateOf(draft.template, known);
  const choose = (value: string) => {
    const name = value || undefined;
    const names = templateOf(name, known)?.parameters.map((each) => each.name) ?? [];
    write((now) => {
      now.template = name;
      now.values = Object.fromEntries(Object.entries(now.values ?? {}).filter(([each]) => names.includes(each)));
    });
  };
  const named = chosen === undefined ? (draft.template ?? "") : nameOf(chosen, known);
  const offered = [
    ["", ""] as const,
    ...(chosen === undefined && named !== "" ? [[named, named] as const] : []),
    ...known.map((each) => [nameOf(each, known), each.name] as const),
  ];
  const id = "step-template";
  return html`<span hidden data-asks=${asking({ kind: "templates" })}></span>
    ${below(id, t("Template"), select(t("Template"), offered, named, choose, { id }))}
    ${chosen?.parameters.map((parameter) => {
      const { name, default: usual } = parameter;
      const typed = (text: string) => write((now) => (now.values = { ...now.values, [name]: text }));
      const options = { id: `step-value-${name}`, placeholder: usual ?? "" };
      return below(options.id, parameterWords(parameter), textField(name, draft.values?.[name] ?? "", typed, options));
    })}`;
}

/** The words for the field of a template's parameter. */
export function parameterWords({ name, description, default: usual }: Template["parameters"][number]): View {
  return html`<span class="template-name">${shown(name)}</span>${when(usual == null, () => html`<span class="warn" title=${t("required")}>*</span>`)} <span class="quiet">${shown(description)}</span>`;
}
