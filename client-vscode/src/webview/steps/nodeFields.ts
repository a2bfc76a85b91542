// The fields of the step form for steps that are no work: checks, questions, sub-plans.

import { html, nothing } from "lit";

import type { Check, Step, StepFields, Template } from "../../protocol";
import { t } from "../../words";
import { CHECK_KINDS, FORM_KINDS, type FormKind, type StepDraft } from "../planForms";
import { fieldValue, icon, iconButton, type Panel, shown, type View } from "../ui";

type CheckField = "path" | "text" | "command";
type Write = (change: (draft: StepDraft) => void) => void;

export function formKind({ kind }: Pick<Step, "kind">): FormKind {
  return kind === "tool_call" || kind === "processing" ? "task" : kind;
}

/** What a step says as a node, as a draft holds it. */
export function nodeDraft(step: Step): Pick<StepDraft, "kind" | "question" | "checks" | "template" | "values"> {
  const kind = formKind(step);
  return {
    ...(kind === "task" ? {} : { kind }),
    ...(step.question == null ? {} : { question: step.question }),
    ...(step.checks.length === 0 ? {} : { checks: step.checks.map(written) }),
    ...(step.templateId == null ? {} : { template: step.templateId }),
    ...(kind === "sub_plan" ? { values: texts(step.args) } : {}),
  };
}

/** What a draft says as a node where that differs from its step, or the problem with it. */
export function changedNode(draft: StepDraft, step: Step | undefined): StepFields | { problem: string } {
  const kind = draft.kind ?? "task";
  const question = draft.question?.trim() || null;
  const template = draft.template?.trim() || null;
  const checks = draft.checks ?? [];
  if (checks.some((check) => fieldsOf(check.kind).some((name) => !check[name]?.trim())))
    return { problem: t("A check lacks what it is to check.") };
  if (kind === "check" && checks.length === 0) return { problem: t("A check needs something to check.") };
  if (kind === "clarification" && question === null) return { problem: t("A question needs its words.") };
  if (kind === "sub_plan" && template === null) return { problem: t("A sub-plan needs a template.") };
  const before = step === undefined ? undefined : formKind(step);
  const changed: StepFields = kind !== "task" && kind !== before ? { kind } : {};
  if (JSON.stringify(checks) !== JSON.stringify(step?.checks.map(written) ?? [])) changed.checks = checks;
  // What the step was before it became another kind would be kept unseen.
  const isAsked = (of: FormKind | undefined) => of === "approval" || of === "clarification";
  if (isAsked(kind) && question !== (step?.question ?? null)) changed.question = question;
  if (isAsked(before) && !isAsked(kind)) changed.question = null;
  if (before === "sub_plan" && kind !== "sub_plan") changed.templateId = null;
  if (kind !== "sub_plan") return changed;
  if (template !== (step?.templateId ?? null)) changed.templateId = template;
  const values = Object.fromEntries(Object.entries(draft.values ?? {}).filter(([, value]) => value.trim() !== ""));
  if (kind !== before || JSON.stringify(values) !== JSON.stringify(texts(step?.args))) changed.args = values;
  return changed;
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

function written({ kind, path, text, command }: Check): NonNullable<StepDraft["checks"]>[number] {
  return {
    kind,
    ...(path == null ? {} : { path }),
    ...(text == null ? {} : { text }),
    ...(command == null ? {} : { command }),
  };
}

function isEmpty(check: Pick<Check, "kind" | CheckField>): boolean {
  const fields = fieldsOf(check.kind);
  return fields.length > 0 && fields.every((name) => !check[name]?.trim());
}

function texts(args: Step["args"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(args ?? {}).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}

function fieldsOf(kind: Check["kind"]): readonly CheckField[] {
  const fields: Record<Check["kind"], readonly CheckField[]> = {
    command: ["command"],
    condition: ["text"],
    file_exists: ["path"],
    file_contains: ["path", "text"],
    no_new_errors: [],
  };
  return fields[kind];
}

export function kindField(draft: StepDraft, write: Write): View {
  const words: Record<FormKind, string> = {
    task: t("Task"),
    check: t("Check"),
    approval: t("Approval"),
    clarification: t("Question"),
    sub_plan: t("Sub-plan"),
  };
  const now = draft.kind ?? "task";
  const choose = (event: Event) => {
    const kind = FORM_KINDS.find((each) => each === fieldValue(event));
    write((each) => {
      each.kind = kind;
      // A check that nobody has written would keep a task from being saved.
      const written = (each.checks ?? []).filter((check) => !isEmpty(check));
      each.checks = kind === "check" && written.length === 0 ? [{ kind: "command" }] : written;
    });
  };
  return html`<label for="step-kind">${t("Kind")}</label>
    <vscode-single-select id="step-kind" .label=${t("Kind")} @change=${choose}>
      ${FORM_KINDS.map((kind) => html`<vscode-option value=${kind} ?selected=${kind === now}>${words[kind]}</vscode-option>`)}
    </vscode-single-select>`;
}

/** The fields of the kind that is chosen; the checks of any step that has some. */
export function nodeFields(panel: Panel, draft: StepDraft, write: Write): View {
  const { kind, checks = [] } = draft;
  return html`${kind === "approval" || kind === "clarification" ? questionField(draft, write) : nothing}${
    kind === "sub_plan" ? templateFields(panel.ui.templates, draft, write) : nothing
  }${kind === "check" || checks.length > 0 ? checkFields(checks, write) : nothing}`;
}

function questionField(draft: StepDraft, write: Write): View {
  const optional = draft.kind === "approval" ? t("Shall the plan go on?") : "";
  return html`<label for="step-question">${t("Question")}</label>
    <vscode-textfield
      id="step-question"
      .label=${t("Question")}
      placeholder=${optional}
      .value=${draft.question ?? ""}
      @input=${(event: Event) => write((now) => (now.question = fieldValue(event)))}
    ></vscode-textfield>`;
}

function checkFields(checks: NonNullable<StepDraft["checks"]>, write: Write): View {
  const kinds: Record<Check["kind"], string> = {
    command: t("Command succeeds"),
    condition: t("Condition holds"),
    file_exists: t("File exists"),
    file_contains: t("File contains"),
    no_new_errors: t("No new errors"),
  };
  const words = (kind: Check["kind"], name: CheckField): readonly [string, string] => {
    if (name === "command") return [t("Command"), "make test"];
    if (name === "path") return [t("Path"), "src/main.py"];
    return kind === "condition" ? [t("Condition"), "steps.ID.ok"] : [t("Text"), ""];
  };
  const add = () => write((now) => (now.checks = [...(now.checks ?? []), { kind: "command" }]));
  const row = (check: (typeof checks)[number], index: number) => html`<div class="check-fields">
    <vscode-single-select
      id=${`step-check-${index}`}
      .label=${t("Check")}
      @change=${(event: Event) =>
        write((now) => {
          const kind = CHECK_KINDS.find((each) => each === fieldValue(event));
          if (kind !== undefined) now.checks?.splice(index, 1, { kind });
        })}
    >${CHECK_KINDS.map((kind) => html`<vscode-option value=${kind} ?selected=${kind === check.kind}>${kinds[kind]}</vscode-option>`)}
    </vscode-single-select>
    ${iconButton("trash", t("Remove this check"), () => write((now) => now.checks?.splice(index, 1)))}
    ${fieldsOf(check.kind).map((name) => {
      const [label, example] = words(check.kind, name);
      return html`<vscode-textfield
        id=${`step-check-${index}-${name}`}
        class="whole"
        .label=${label}
        placeholder=${example}
        .value=${check[name] ?? ""}
        @input=${(event: Event) =>
          write((now) => {
            const each = now.checks?.[index];
            if (each !== undefined) each[name] = fieldValue(event);
          })}
      ></vscode-textfield>`;
    })}
  </div>`;
  return html`<fieldset>
    <legend>${t("Checks")}</legend>
    ${checks.map(row)}
    <button class="link" type="button" id="step-add-check" @click=${add}>${icon("add")} ${t("Add a check")}</button>
  </fieldset>`;
}

function templateFields(templates: readonly Template[] | undefined, draft: StepDraft, write: Write): View {
  const known = templates ?? [];
  const chosen = templateOf(draft.template, known);
  const choose = (event: Event) => {
    const name = fieldValue(event) || undefined;
    const names = templateOf(name, known)?.parameters.map((each) => each.name) ?? [];
    write((now) => {
      now.template = name;
      now.values = Object.fromEntries(Object.entries(now.values ?? {}).filter(([each]) => names.includes(each)));
    });
  };
  const isUnknown = chosen === undefined && draft.template !== undefined;
  return html`<label for="step-template">${t("Template")}</label>
    <vscode-single-select
      id="step-template"
      .label=${t("Template")}
      @change=${choose}
    >
      <vscode-option value="" ?selected=${draft.template === undefined}></vscode-option>
      ${isUnknown ? html`<vscode-option value=${draft.template} selected>${draft.template}</vscode-option>` : nothing}
      ${known.map(
        (each) =>
          html`<vscode-option value=${nameOf(each, known)} ?selected=${each === chosen}>${each.name}</vscode-option>`,
      )}
    </vscode-single-select>
    ${chosen?.parameters.map(({ name, description, default: usual }) => {
      const id = `step-value-${name}`;
      return html`<label for=${id}><span class="template-name">${shown(name)}</span>${
        usual == null ? html`<span class="warn" title=${t("required")}>*</span>` : nothing
      } <span class="quiet">${shown(description)}</span></label>
        <vscode-textfield
          id=${id}
          .label=${name}
          placeholder=${usual ?? ""}
          .value=${draft.values?.[name] ?? ""}
          @input=${(event: Event) => write((now) => (now.values = { ...now.values, [name]: fieldValue(event) }))}
        ></vscode-textfield>`;
    })}`;
}
