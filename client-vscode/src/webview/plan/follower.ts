// Keeps the view with what runs, around each drawing.

import type { Plan } from "../../protocol";
import { runningStep } from "../steps/stepParts";

/**
 * A user who looks at the running step, or at the one that ran last, goes on to the next one; one who looks elsewhere, or
 * has changed to another plan, stays there.
 */
export function follower(root: HTMLElement): (plan: Plan | undefined, draw: () => void) => void {
  let last: { readonly planId: string; readonly stepId: string } | undefined;
  const row = (stepId: string): Element | null =>
    root.querySelector(`.step[data-step="${CSS.escape(stepId)}"] > .step-row`);
  return (plan, draw) => {
    const before = last === undefined ? undefined : row(last.stepId)?.getBoundingClientRect();
    const looked = before !== undefined && before.top >= 0 && before.bottom <= window.innerHeight;
    draw();
    const stepId = plan === undefined ? undefined : runningStep(plan);
    if (plan === undefined || stepId === undefined) return;
    if (looked && last?.planId === plan.planId && last.stepId !== stepId)
      row(stepId)?.scrollIntoView({ block: "nearest" });
    last = { planId: plan.planId, stepId };
  };
}
