// The actions that the server offers for a plan or one of its steps, as buttons with the server's words.

import { nothing } from "lit";

import type { Action, Plan, Review, ReviewChoice } from "../../protocol";
import { type ButtonOptions, button, linkButton, type Panel, type View } from "../ui";

type Name = "approve" | "direct" | "pause" | "resume" | "review" | "cancel" | "undo" | "redo";

/** A button for a command among these offers; nothing where the server does not offer it. `as` says something else on it. */
export function actionButton(
  panel: Panel,
  plan: Plan,
  offers: readonly Action[],
  name: Name,
  { as, link, ...look }: ButtonOptions & { as?: string; link?: boolean } = {},
): View {
  const found = offers.find(({ command }) => command === `planloom.${name}`);
  if (found === undefined) return nothing;
  const { planId, version } = plan;
  // Of a step, its id follows that of its plan.
  const [, second] = found.arguments;
  const act = (): void => {
    if (name === "approve")
      panel.decide(planId, "planloom/plan/approve", { planId, version, review: reviewOf(panel, plan) });
    else if (name === "undo" || name === "redo") {
      const stepId = typeof second === "string" ? second : undefined;
      panel.decide(planId, "planloom/plan/undo", { planId, stepId, redo: name === "redo" || undefined });
    } else panel.decide(planId, `planloom/plan/${name}`, { planId });
  };
  return (link ? linkButton : button)(as ?? found.title, act, look);
}

/** When changes of this plan are reviewed: as chosen for the plan, else by the user's setting. */
export function reviewOf(panel: Panel, plan: Plan): Review {
  const { server } = panel.ui;
  const setting = server.kind === "running" ? server.review : "each";
  return plan.status === "pending_approval"
    ? (panel.forms(plan.planId).review ?? plan.review ?? setting)
    : (plan.review ?? setting);
}

/** When changes of this plan are reviewed, with what that asks; undefined while the server does not run. */
export function choiceOf(panel: Panel, plan: Plan | undefined): ReviewChoice | undefined {
  const { server } = panel.ui;
  if (server.kind !== "running") return undefined;
  const review = plan === undefined ? server.review : reviewOf(panel, plan);
  return server.reviews.find((each) => each.review === review);
}
