// What in a plan waits for the user, and which steps are lost if the user refuses: pure functions over the plan.

import type { Plan, Step, StepWait } from "../protocol";
import { t } from "../words";
import type { PlanView } from "./planView";

/** What a step, or the plan, waits for. */
type Wait = "approval" | "conflict" | "answer" | "recovery";

/** The decision that this step waits for. */
export function waitOf({ pending }: Plan, stepId: string): Wait | undefined {
  if (pending.conflicts.some((each) => each.stepId === stepId)) return "conflict";
  if (pending.approvals.some((each) => each.stepId === stepId)) return "approval";
  if (pending.questions.some((each) => each.stepId === stepId)) return "answer";
  return pending.recoveries.some((each) => each.stepId === stepId) ? "recovery" : undefined;
}

/** The kinds of decisions that the plan waits for. */
function waits({ pending }: Plan): readonly Wait[] {
  const { approvals, conflicts, questions, recoveries } = pending;
  const open: readonly (readonly [Wait, readonly object[]])[] = [
    ["approval", approvals],
    ["conflict", conflicts],
    ["answer", questions],
    ["recovery", recoveries],
  ];
  return open.filter(([, each]) => each.length > 0).map(([wait]) => wait);
}

/** What a step or plan waits for, in words that can follow its name. */
export function waitWords(wait: Wait): string {
  switch (wait) {
    case "approval":
      return t("waits for your approval");
    case "conflict":
      return t("waits for your choice");
    case "answer":
      return t("waits for your answer");
    case "recovery":
      return t("waits for your decision");
  }
}

/** What the plan waits for, in words; undefined if it does not wait for the user. */
export function waitingFor({ plan, pause }: PlanView): string | undefined {
  const [first, ...others] = waits(plan);
  if (first !== undefined) return others.length === 0 ? waitWords(first) : t("waits for you");
  if (plan.status === "pending_approval") return t("waits for your review");
  if (plan.status !== "paused") return undefined;
  return (pause?.reason ?? plan.pauseReason) === "user" ? undefined : t("is paused and waits for you");
}

/** What in a plan calls for the user's attention, as keys: a decision keeps its key until it is answered. */
export function causes({ plan, pause }: PlanView): readonly string[] {
  const { planId, version, status, pending } = plan;
  const decisions = [
    ...pending.conflicts.map((each) => `conflict ${each.editId}`),
    ...pending.approvals.map((each) => `approval ${each.listed?.listId ?? each.approvalId}`),
    ...pending.questions.map((each) => `question ${planId} ${each.stepId} ${each.question}`),
    ...pending.recoveries.map((each) => `recovery ${planId} ${each.stepId} ${each.error}`),
  ];
  if (decisions.length > 0) return [...new Set(decisions)];
  if (status === "pending_approval") return [`review ${planId} ${version}`];
  const reason = pause?.reason ?? plan.pauseReason;
  return status === "paused" && reason !== "user" ? [`pause ${planId} ${reason ?? ""}`] : [];
}

/** What this step waits for that another step uses. */
export function resourceOf(view: PlanView, stepId: string): StepWait | undefined {
  return view.waits.find((each) => each.stepId === stepId);
}

/** What a step waits for that another step uses, in words that can follow its name. */
export function resourceWords({ resource, path }: StepWait): string {
  switch (resource) {
    case "terminal":
      return t("waits for the terminal");
    case "model":
      return t("waits for the model");
    case "path":
      return t("waits for {0}", path ?? "");
  }
}

/** What a running plan waits for, in words, if none of its steps is at work. */
export function stalledWords(view: PlanView): string | undefined {
  const { plan, waits } = view;
  const [first] = waits;
  if (plan.status !== "executing" || first === undefined) return undefined;
  if (plan.steps.some((step) => step.status === "running" && resourceOf(view, step.stepId) === undefined))
    return undefined;
  return resourceWords(first);
}

/** The waits for steps of other plans, one of each plan. */
export function waitsForPlans({ plan, waits }: PlanView): readonly StepWait[] {
  const others = waits.filter((each) => each.usedByPlan !== plan.planId);
  return [...new Map(others.map((each) => [each.usedByPlan, each])).values()];
}

/** The steps that have not run and depend on this one, directly or not, in the plan's order. */
export function dependants(plan: Plan, stepId: string): readonly Step[] {
  const lost = new Set([stepId]);
  let before: number;
  do {
    before = lost.size;
    for (const step of plan.steps) {
      if (lost.has(step.stepId)) for (const id of step.blocks) lost.add(id);
      if (step.dependsOn.some((id) => lost.has(id))) lost.add(step.stepId);
    }
  } while (lost.size > before);
  return plan.steps.filter(
    (step) => step.stepId !== stepId && lost.has(step.stepId) && ["pending", "blocked", "ready"].includes(step.status),
  );
}

/** The steps of an ended plan that did not complete, except those whose condition did not hold. */
export function notDone({ plan }: PlanView): readonly Step[] {
  if (!["completed", "failed", "cancelled"].includes(plan.status)) return [];
  return plan.steps.filter(
    (step) => step.status !== "completed" && !(step.status === "skipped" && step.skipReason === "condition"),
  );
}

/** Whether a plan has completed without all of its steps. */
export function isPartly(view: PlanView): boolean {
  return view.plan.status === "completed" && notDone(view).length > 0;
}

/**
 * A request for the steps of a plan that are not done. The rules planner reads a list literally if nothing else is
 * there; a model needs the request to which the steps belong.
 */
export function restOf(view: PlanView): string {
  const { author, request } = view.plan;
  const steps = notDone(view)
    .map((step, index) => `${index + 1}. ${(step.instruction || step.description).trim()}`)
    .join("\n");
  if (author === "rules") return steps;
  const others = "The other steps are done and stay as they are. The earlier request was:";
  return `Do what is left of an earlier request:\n${steps}\n\n${others}\n\n${request}`;
}
