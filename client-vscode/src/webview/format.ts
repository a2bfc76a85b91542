// Formats statuses, reasons, figures and paths for the panel.

import type { ChangedFile, PlanView } from "../plan/planView";
import { dependants } from "../plan/waiting";
import type {
  ChangeKind,
  Detection,
  DetectionRule,
  Json,
  JsonObject,
  Plan,
  PlanPaused,
  PlanStatus,
  Review,
  Step,
  StepStatus,
  TaskSkipped,
  Usage,
} from "../protocol";

export const PLAN_STATUS: Readonly<Record<PlanStatus, string>> = {
  draft: "Drafting",
  pending_approval: "Ready for review",
  approved: "Starting",
  rejected: "Rejected",
  executing: "Running",
  paused: "Paused",
  completed: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};

export const STEP_STATUS: Readonly<Record<StepStatus, { icon: string; label: string }>> = {
  pending: { icon: "circle-large-outline", label: "not started" },
  blocked: { icon: "circle-large-outline", label: "waits for other steps" },
  ready: { icon: "circle-large", label: "ready" },
  running: { icon: "loading", label: "running" },
  needs_clarification: { icon: "question", label: "waits for your answer" },
  completed: { icon: "pass-filled", label: "done" },
  failed: { icon: "error", label: "failed" },
  skipped: { icon: "debug-step-over", label: "skipped" },
};

export const PAUSE_REASON: Readonly<Record<string, string>> = {
  user: "Paused by you.",
  clarification: "A step has a question for you.",
  recovery: "A step failed; choose how to continue.",
  conflict: "Your typing and an edit overlap; choose which stays.",
  budget: "The plan's budget is used up. Resume grants the same amount again.",
  model_unavailable: "The model cannot be reached. Resume tries again.",
  unsaved_files: "A command needs files on disk that have unsaved changes. Save them, or resume.",
  restart: "The server was restarted. Nothing runs until you resume.",
  error: "The plan could not continue.",
  storage: "The plan ledger could not be written, so the plan was stopped. Nothing runs until you resume.",
} satisfies Record<PlanPaused["reason"], string>;

export const SKIP_REASON: Readonly<Record<string, string>> = {
  user: "skipped by you",
  approval_denied: "its changes were not applied",
  dependency_failed: "a step it depends on did not finish",
  condition: "its condition did not hold",
  policy: "skipped after it failed, as the setting says",
} satisfies Record<TaskSkipped["reason"], string>;

const RULES: Readonly<Record<string, string>> = {
  question: "a question",
  numbered_list: "a numbered list",
  verb_and_scope: "something to build or change",
  multiple_tasks: "several tasks",
  long_request: "a long request",
  none: "one small task",
  disabled: "planning is off",
  model: "judged by the model",
  qualification: "judged by risk and complexity",
} satisfies Record<DetectionRule, string>;

/** The reason for a detection, in a few words. */
export function reasonOf(detection: Detection): string {
  return RULES[detection.rule] ?? detection.rule.replaceAll("_", " ");
}

/** `800 ms`, `4.2 s`, `3 min 20 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `1 step`, `3 steps`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** `940`, `12.4k`, `1.3M`. */
function amount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** The tokens and requests of a plan or a step; empty before the first. */
export function spent({ requests, promptTokens, completionTokens }: Usage): string {
  if (requests === 0 && promptTokens + completionTokens === 0) return "";
  return `${amount(promptTokens + completionTokens)} tokens · ${counted(requests, "request")}`;
}

/** The effects that happen without asking: those that the settings allow, and with `auto` writing too. */
export function askedUnasked(review: Review, allowed: readonly string[]): readonly string[] {
  return review === "auto" && !allowed.includes("writing") ? ["writing", ...allowed] : allowed;
}

/** Whether an effect is asked about before it happens, whenever changes are reviewed. */
function isFirst(word: string): boolean {
  return word === "commands" || word === "web pages";
}

/** What the user will be asked when a plan runs with this review and these settings. */
export function whatIsAsked(review: Review, allowed: readonly string[]): string {
  const unasked = askedUnasked(review, allowed);
  const effects = [
    ["writing", "changes"],
    ["deleting", "deletions"],
    ["commands", "commands"],
    ["web pages", "web pages"],
  ] as const;
  const asked = effects.filter(([effect]) => !unasked.includes(effect)).map(([, word]) => word);
  if (review === "end") {
    const [files, others] = [asked.filter((word) => !isFirst(word)), asked.filter(isFirst)];
    const once = `Asks once, at the end, about ${listed(files.length === 0 ? ["protected files"] : files)}`;
    const each = others.map((word) => word.replace(/s$/, ""));
    return each.length > 0 ? `${once}; before each ${listed(each)} it asks first.` : `${once}.`;
  }
  return review === "each" && asked.length === effects.length
    ? "Asks in every step, before each change, deletion, command and web page."
    : `Asks only about ${listed([...asked, "protected files"])}.`;
}

/** `1, 3 and 4`. */
function listed(words: readonly (string | number)[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** The steps that are skipped too if the user refuses what this one asks for; undefined if there are none. */
export function skippedWith(plan: Plan, stepId: string): string | undefined {
  const lost = dependants(plan, stepId).map((step) => plan.steps.indexOf(step) + 1);
  if (lost.length === 0) return undefined;
  // A refusal ends a step that is one call. A step of the model goes on: the model may find another way.
  const unless =
    plan.steps.find((step) => step.stepId === stepId)?.tool == null ? ", unless the model finds another way" : "";
  return lost.length === 1
    ? `Step ${lost[0]} depends on it and is skipped too${unless}.`
    : `Steps ${listed(lost)} depend on it and are skipped too${unless}.`;
}

/** `Step 3`, or `The plan` for what belongs to no step. */
export function stepNumber(plan: Plan, stepId: string | null | undefined): string {
  const place = plan.steps.findIndex((step) => step.stepId === stepId);
  return place < 0 ? "The plan" : `Step ${place + 1}`;
}

/** Why a step of an ended plan was not done. */
export function whyNot(view: PlanView, step: Step): string {
  if (step.status === "failed") return `failed: ${step.result?.error ?? "the reason is unknown"}`;
  const left = view.plan.report?.left.find((each) => each.stepId === step.stepId);
  if (left !== undefined && left.reason !== "") return left.reason;
  if (step.status !== "skipped") return "the plan ended before it ran";
  return SKIP_REASON[step.skipReason ?? "user"] ?? "skipped";
}

/** The path of a file, relative to the workspace folder that holds it. */
export function pathOf(uri: string, folders: readonly string[]): string {
  const holder = folders
    .map((folder) => (folder.endsWith("/") ? folder : `${folder}/`))
    .find((folder) => uri.startsWith(folder));
  if (holder === undefined) return decoded(uri.replace(/^file:\/\//, ""));
  const path = decoded(uri.slice(holder.length));
  return folders.length > 1 ? `${decoded(holder.slice(0, -1).split("/").pop() ?? "")}/${path}` : path;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** One value of a tool's arguments, as text. */
export function valueText(value: Json | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** The most telling argument of a call: its path, else its command, pattern, query or address. */
export function headline(args: JsonObject | null | undefined): string {
  if (args == null) return "";
  const name = ["path", "command", "old_path", "pattern", "query", "url"].find(
    (each) => typeof args[each] === "string",
  );
  return name === undefined ? "" : valueText(args[name]);
}

/** The numbers of the steps on which a step depends: `1, 3`. */
export function dependencyNumbers(plan: Plan, step: Step): string {
  return step.dependsOn
    .map((id) => plan.steps.findIndex((each) => each.stepId === id) + 1)
    .map((place, index) => (place > 0 ? String(place) : step.dependsOn[index]))
    .join(", ");
}

export const CHANGE_LETTER: Readonly<Record<string, string>> = {
  create: "A",
  edit: "M",
  delete: "D",
  rename: "R",
  createFolder: "A",
} satisfies Record<ChangeKind, string>;

/** The last state of each file. */
export function latest(files: readonly ChangedFile[]): readonly ChangedFile[] {
  return [...new Map(files.map((file) => [file.uri, file])).values()];
}
