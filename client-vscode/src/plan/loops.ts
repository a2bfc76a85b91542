// Computes how far loops and sub-plans have come from the steps that they were unrolled into, as the server does.

import type { Plan, Step } from "../protocol";

const DEFAULT_ROUNDS = 5;
const SETTLED: readonly string[] = ["completed", "failed", "skipped"];

/** The most rounds of a step that is repeated. */
export function mostRounds({ repeatMost }: Step): number {
  return repeatMost ?? DEFAULT_ROUNDS;
}

/** The steps that a loop or a sub-plan was unrolled into. */
function childrenOf(plan: Plan, { stepId }: Step): readonly Step[] {
  return plan.steps.filter((step) => step.parent === stepId);
}

/** How far the steps of a loop or a sub-plan have come, in percent; undefined before there are any. */
export function shareDone(plan: Plan, loop: Step): number | undefined {
  const children = childrenOf(plan, loop);
  if (children.length === 0) return undefined;
  const done = children.reduce((sum, each) => sum + (isSettled(each) ? 100 : (each.progress ?? 0)), 0);
  return Math.min(100, Math.floor(done / (loop.repeatUntil == null ? children.length : mostRounds(loop))));
}

/** Whether a step is a loop or a sub-plan that waits for its steps. */
export function isUnderWay(plan: Plan, step: Step): boolean {
  return plan.status === "executing" && !isSettled(step) && plan.steps.some((each) => each.parent === step.stepId);
}

/** How many steps of a loop have ended, or which round it is in. */
export function position(plan: Plan, loop: Step): { kind: "round" | "ended"; count: number; of: number } {
  const children = childrenOf(plan, loop);
  if (loop.repeatUntil != null) return { kind: "round", count: children.length, of: mostRounds(loop) };
  return { kind: "ended", count: children.filter(isSettled).length, of: children.length };
}

function isSettled({ status }: Step): boolean {
  return SETTLED.includes(status);
}
