// Formats statuses, reasons, figures and paths for the panel.

import type { ChangedFile, PlanView } from "../../plan/planView";
import { dependants } from "../../plan/waiting";
import type {
  Agent,
  ChangeKind,
  Detection,
  DetectionRule,
  Json,
  JsonObject,
  Plan,
  PlanPaused,
  Review,
  Step,
  StepStatus,
  TaskSkipped,
  Usage,
} from "../../protocol";
import { list, number, plural, t } from "../../words";

export const STEP_ICON: Readonly<Record<StepStatus, string>> = {
  pending: "circle-large-outline",
  blocked: "circle-large-outline",
  ready: "circle-large",
  running: "loading",
  needs_clarification: "question",
  completed: "pass-filled",
  failed: "error",
  skipped: "debug-step-over",
};

/** Why a plan is paused; a newer server may send other reasons. */
export function pauseReason(reason: string): string {
  const words: Readonly<Record<string, string>> = {
    user: t("Paused by you."),
    clarification: t("A step has a question for you."),
    recovery: t("A step failed; choose how to continue."),
    conflict: t("Your typing and an edit overlap; choose which stays."),
    budget: t("The plan's budget is used up. Resume grants the same amount again."),
    model_unavailable: t("The model cannot be reached. Resume tries again."),
    unsaved_files: t("A command needs files on disk that have unsaved changes. Save them, or resume."),
    restart: t("The server was restarted. Nothing runs until you resume."),
    error: t("The plan could not continue."),
    storage: t("The plan ledger could not be written, so the plan was stopped. Nothing runs until you resume."),
  } satisfies Record<PlanPaused["reason"], string>;
  return words[reason] ?? t("Paused.");
}

/** Why a step was skipped. */
export function skipReason(reason: string): string {
  const words: Readonly<Record<string, string>> = {
    user: t("skipped by you"),
    approval_denied: t("its changes were not applied"),
    dependency_failed: t("a step it depends on did not finish"),
    condition: t("its condition did not hold"),
    policy: t("skipped after it failed, as the setting says"),
  } satisfies Record<TaskSkipped["reason"], string>;
  return words[reason] ?? t("skipped");
}

/** The name of an agent; the wire has another. */
export function agentName(agent: Agent): string {
  return { chapo: t("Strategy"), koda: t("Code"), devo: t("Operations") }[agent];
}

/** What kind of task a request is, and how large. */
export function taskWords({ taskType, complexity }: NonNullable<Plan["qualification"]>): string {
  const type = {
    question: t("question"),
    code: t("code"),
    devops: t("operations"),
    mixed: t("code and operations"),
  }[taskType];
  const size = {
    trivial: t("very small"),
    simple: t("small"),
    moderate: t("medium-sized"),
    complex: t("large"),
  }[complexity];
  return `${type} · ${size}`;
}

/** The risk of a plan. */
export function riskName(risk: Plan["overallRisk"]): string {
  return { low: t("low risk"), medium: t("medium risk"), high: t("high risk") }[risk];
}

/** What an edit does to its file. */
export function changeName(change: ChangeKind): string {
  const words = {
    create: t("new file"),
    edit: t("edited"),
    delete: t("deleted"),
    rename: t("renamed"),
    createFolder: t("new folder"),
  };
  return words[change];
}

/** The reason for a detection, in a few words. */
export function reasonOf(detection: Detection): string {
  const words: Readonly<Record<string, string>> = {
    question: t("a question"),
    numbered_list: t("a numbered list"),
    verb_and_scope: t("something to build or change"),
    multiple_tasks: t("several tasks"),
    long_request: t("a long request"),
    none: t("one small task"),
    disabled: t("planning is off"),
    model: t("judged by the model"),
    qualification: t("judged by risk and complexity"),
    unsure: t("maybe more than one small task"),
  } satisfies Record<DetectionRule, string>;
  return words[detection.rule] ?? detection.rule.replaceAll("_", " ");
}

/** The first line of a text. */
export function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** `800 ms`, `4.2 s`, `3 min 20 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return t("{0} ms", Math.round(milliseconds));
  const seconds = milliseconds / 1000;
  const digits = seconds < 10 ? 1 : 0;
  if (seconds < 60) return t("{0} s", number(seconds, digits, digits));
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? t("{0} min {1} s", minutes, Math.floor(seconds % 60))
    : t("{0} h {1} min", Math.floor(minutes / 60), minutes % 60);
}

/** `940`, `12.4k`, `1.3M`. */
export function amount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? t("{0}k", number(count / 1000, 1, 1)) : t("{0}M", number(count / 1_000_000, 1, 1));
}

/** The tokens that were read and written. */
export function tokenCount({ promptTokens, completionTokens }: Usage): number {
  return promptTokens + completionTokens;
}

/** The tokens and requests of a plan or a step; empty before the first. */
export function spent(usage: Usage): string {
  const { requests } = usage;
  if (requests === 0 && tokenCount(usage) === 0) return "";
  return `${t("{0} tokens", amount(tokenCount(usage)))} · ${plural(requests, "1 request", "{0} requests")}`;
}

const SMALLEST_COST = 0.0001;

/** An amount of money, in the currency of the user's prices: `0.0231`, `12.50`. */
export function money(cost: number): string {
  if (cost > 0 && cost < SMALLEST_COST) return `< ${number(SMALLEST_COST, 4)}`;
  return number(cost, cost < 1 ? 4 : 2, 2);
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
    ["writing", t("changes")],
    ["deleting", t("deletions")],
    ["commands", t("commands")],
    ["web pages", t("web pages")],
  ] as const;
  const asked = effects.filter(([effect]) => !unasked.includes(effect));
  const names = (some: typeof asked): readonly string[] => some.map(([, word]) => word);
  if (review === "end") {
    const files = names(asked.filter(([effect]) => !isFirst(effect)));
    const others = names(asked.filter(([effect]) => isFirst(effect)));
    const once = list(files.length === 0 ? [t("protected files")] : files);
    return others.length > 0
      ? t("Asks once, at the end, about {0}; about {1} it asks first.", once, list(others))
      : t("Asks once, at the end, about {0}.", once);
  }
  return review === "each" && asked.length === effects.length
    ? t("Asks in every step, before each change, deletion, command and web page.")
    : t("Asks only about {0}.", list([...names(asked), t("protected files")]));
}

/** The name of an effect that happens without asking. */
export function effectName(effect: string): string {
  const words: Readonly<Record<string, string>> = {
    writing: t("writing"),
    deleting: t("deleting"),
    commands: t("commands"),
    "web pages": t("web pages"),
  };
  return words[effect] ?? effect;
}

/** The steps that are skipped too if the user refuses what this one asks for; undefined if there are none. */
export function skippedWith(plan: Plan, stepId: string): string | undefined {
  const lost = dependants(plan, stepId).map((step) => plan.steps.indexOf(step) + 1);
  if (lost.length === 0) return undefined;
  // A refusal ends a step that is one call. A step of the model goes on: the model may find another way.
  const isModels = plan.steps.find((step) => step.stepId === stepId)?.tool == null;
  const [only, ...others] = lost;
  const steps = list(lost.map(String));
  if (only !== undefined && others.length === 0)
    return isModels
      ? t("Step {0} depends on it and is skipped too, unless the model finds another way.", steps)
      : t("Step {0} depends on it and is skipped too.", steps);
  return isModels
    ? t("Steps {0} depend on it and are skipped too, unless the model finds another way.", steps)
    : t("Steps {0} depend on it and are skipped too.", steps);
}

/** `Step 3`, or `The plan` for what belongs to no step. */
export function stepNumber(plan: Plan, stepId: string | null | undefined): string {
  const place = stepPlace(plan, stepId);
  return place === undefined ? t("The plan") : t("Step {0}", place);
}

/** The number of a step, from 1. */
export function stepPlace(plan: Plan, stepId: string | null | undefined): number | undefined {
  const place = plan.steps.findIndex((step) => step.stepId === stepId);
  return place < 0 ? undefined : place + 1;
}

/** Why a step of an ended plan was not done. */
export function whyNot(view: PlanView, step: Step): string {
  if (step.status === "failed") return t("failed: {0}", step.result?.error ?? t("the reason is unknown"));
  const left = view.plan.report?.left.find((each) => each.stepId === step.stepId);
  if (left !== undefined && left.reason !== "") return left.reason;
  if (step.status !== "skipped") return t("the plan ended before it ran");
  return skipReason(step.skipReason ?? "user");
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
