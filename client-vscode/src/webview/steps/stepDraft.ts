// What the form of a step holds: made of the step, and read back as the edit that it means.

import {
  AGENTS,
  type Check,
  type Json,
  type Plan,
  type Step,
  type StepEdit,
  type StepFields,
  type ToolInfo,
} from "../../protocol";
import { t } from "../../words";
import type { FormKind, StepDraft } from "../planForms";

export type CheckDraft = NonNullable<StepDraft["checks"]>[number];
/** The fields that say what a check checks. */
export const CHECK_FIELDS: Readonly<Record<Check["kind"], readonly ("path" | "text" | "command")[]>> = {
  command: ["command"],
  condition: ["text"],
  file_exists: ["path"],
  file_contains: ["path", "text"],
  no_new_errors: [],
};

function formKind({ kind }: Pick<Step, "kind">): FormKind {
  return kind === "tool_call" || kind === "processing" ? "task" : kind;
}

export function draftOf(step: Step): StepDraft {
  const { args, tool, checks, templateId, when, forEach, repeatUntil } = step;
  const kind = formKind(step);
  return {
    target: { kind: "existing", stepId: step.stepId },
    description: step.description,
    instruction: step.instruction,
    tool: tool ?? "",
    dependsOn: [...step.dependsOn],
    agent: step.agent,
    critical: step.critical,
    kind,
    question: step.question,
    checks: checks.map(({ kind, path, text, command }) => ({ kind, path, text, command })),
    template: templateId,
    values: texts(args),
    when,
    forEach,
    repeatUntil,
  };
}

export function emptyDraft(after: string | null): StepDraft {
  return {
    target: { kind: "new", after },
    description: "",
    instruction: "",
    tool: "",
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
    const { description, instruction, tool, values = {}, question = "", template = "", checks = [] } = draft;
    const typed = [description, instruction, tool, ...Object.values(values), question, template];
    return typed.join("").trim() !== "" || checks.some((check) => !isEmpty(check));
  }
  const step = plan.steps.find((each) => each.stepId === target.stepId);
  return step !== undefined && editOf(draft, step) !== undefined;
}

/** The edit of a draft: what differs from the step, undefined if nothing does, or the problem with the draft. */
export function editOf(
  draft: StepDraft,
  step: Step | undefined,
  tools: readonly ToolInfo[] = [],
): StepEdit | { problem: string } | undefined {
  const { args, problem: unread } =
    (draft.kind ?? "task") === "task" ? argsOf(draft, step, tools) : { args: {}, problem: undefined };
  const problem = problemOf(draft) ?? unread;
  if (problem !== undefined) return { problem };
  const { target, description } = draft;
  const now = fieldsOf(draft, args);
  if (target.kind === "new" || step === undefined) {
    const isTask = now.kind === "processing" || now.kind === "tool_call";
    const instruction = isTask && draft.instruction.trim() !== "" ? draft.instruction : description;
    const args = now.kind === "tool_call" ? { args: now.args ?? {} } : isTask ? { args: null } : {};
    const fields = differing({ ...now, ...args, instruction }, { checks: [] });
    return { op: "add", after: target.kind === "new" ? target.after : null, step: { ...fields, description } };
  }
  const set = differing(now, fieldsOf(draftOf(step), step.args ?? null));
  return Object.keys(set).length === 0 ? undefined : { op: "update", stepId: step.stepId, set };
}

/** What a draft says of its step; null where the step has nothing of the kind. */
function fieldsOf(draft: StepDraft, args: StepFields["args"]): StepFields {
  const { kind = "task", description, instruction, dependsOn, critical, checks = [] } = draft;
  const tool = filled(draft.tool);
  const own: StepFields =
    kind === "task"
      ? { kind: tool === null ? "processing" : "tool_call", tool, args: tool === null ? null : (args ?? null) }
      : kind === "sub_plan"
        ? { kind, args: filledIn(draft.values ?? {}) }
        : { kind };
  return {
    description,
    instruction,
    dependsOn,
    agent: AGENTS.find((each) => each === draft.agent) ?? "koda",
    critical,
    checks,
    // What the step was before it became another kind would be kept unseen.
    question: kind === "approval" || kind === "clarification" ? filled(draft.question) : null,
    templateId: kind === "sub_plan" ? filled(draft.template) : null,
    when: filled(draft.when),
    forEach: filled(draft.forEach),
    repeatUntil: filled(draft.repeatUntil),
    ...own,
  };
}

/** The fields that say something else than those before. */
function differing(now: StepFields, before: StepFields): StepFields {
  const said = (value: unknown): string => JSON.stringify(value ?? null);
  return Object.fromEntries(
    Object.entries(now).filter(([name, value]) => said(value) !== said(before[name as keyof StepFields])),
  );
}

function problemOf(draft: StepDraft): string | undefined {
  const { kind = "task", checks = [] } = draft;
  if (draft.description.trim() === "") return t("A step needs a description.");
  if (checks.some((check) => CHECK_FIELDS[check.kind].some((name) => filled(check[name]) === null)))
    return t("A check lacks what it is to check.");
  if (kind === "check" && checks.length === 0) return t("A check needs something to check.");
  if (kind === "clarification" && filled(draft.question) === null) return t("A question needs its words.");
  if (kind === "sub_plan" && filled(draft.template) === null) return t("A sub-plan needs a template.");
  return undefined;
}

/** The form of one argument, as the tool's schema has it; without one, as the step has the value. */
export interface ArgumentField {
  readonly name: string;
  readonly description: string;
  readonly type: string;
  readonly choices: readonly string[];
  readonly required: boolean;
}

interface Schema {
  readonly properties?: Readonly<Record<string, { type?: string; description?: string; enum?: readonly string[] }>>;
  readonly required?: readonly string[];
}

/** The arguments of the tool that a draft calls. */
export function argumentFields(
  { tool, values = {} }: StepDraft,
  step: Step | undefined,
  tools: readonly ToolInfo[],
): ArgumentField[] {
  const found = tools.find(({ name }) => name === tool.trim());
  const { properties = {}, required = [] } = (found?.parameters ?? {}) as Schema;
  const known = Object.entries(properties).map(([name, { type = "", description = "", enum: choices = [] }]) => {
    return { name, description, type, choices, required: required.includes(name) };
  });
  const others = found !== undefined || tool.trim() === "" ? [] : Object.keys(values);
  const typeOf = (name: string): string => (typeof (step?.args?.[name] ?? "") === "string" ? "string" : "");
  return [
    ...known,
    ...others.map((name) => ({ name, description: "", type: typeOf(name), choices: [], required: false })),
  ];
}

/** The typed arguments as the tool gets them: what is no text is written as JSON. */
function argsOf(
  draft: StepDraft,
  step: Step | undefined,
  tools: readonly ToolInfo[],
): { args: Record<string, Json>; problem?: string } {
  const args: Record<string, Json> = {};
  for (const { name, type, required } of argumentFields(draft, step, tools)) {
    const value = draft.values?.[name];
    if (value === undefined || (value === "" && !required && step?.args?.[name] !== "")) continue;
    try {
      args[name] = type === "string" ? value : (JSON.parse(value) as Json);
    } catch {
      return { args, problem: t("The argument {0} cannot be read: {1}", name, value) };
    }
  }
  return { args };
}

/** Reads typed arguments: one JSON object, or null if nothing is typed. */
export function readArgs(text: string): { value: NonNullable<StepFields["args"]> | null; problem?: string } {
  if (text.trim() === "") return { value: null };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value: value as NonNullable<StepFields["args"]> };
    return { value: null, problem: t("Arguments are a JSON object: {0}.", "{ … }") };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { value: null, problem: t("Arguments are no JSON: {0}", words) };
  }
}

/** Whether nobody has written into a check that needs it. */
export function isEmpty(check: CheckDraft): boolean {
  const fields = CHECK_FIELDS[check.kind];
  return fields.every((name) => filled(check[name]) === null) && fields.length > 0;
}

function filled(text: string | undefined): string | null {
  return text?.trim() || null;
}

function filledIn(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ""));
}

function texts(args: Step["args"]): Record<string, string> {
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(args ?? {}).map(([name, value]) => [name, text(value)]));
}
