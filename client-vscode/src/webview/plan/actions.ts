// The actions that the server offers for a plan or one of its steps, as buttons and menu entries with the server's words.

import { nothing } from "lit";

import type { Action, Plan, Review, ReviewChoice } from "../../protocol";
import { type ButtonOptions, button, focusSoon, linkButton, type MenuItem, type Panel, type View } from "../ui";

/** What an offered action does; undefined for one that belongs to a card. */
function performed(panel: Panel, plan: Plan, { command, arguments: [, second] }: Action): (() => void) | undefined {
  const { planId, version } = plan;
  const name = command.replace("planloom.", "");
  switch (name) {
    case "approve":
      return () => panel.decide(planId, "planloom/plan/approve", { planId, version, review: reviewOf(panel, plan) });
    case "undo":
    case "redo": {
      // Of a step, its id follows that of its plan.
      const stepId = typeof second === "string" ? second : undefined;
      return () => panel.decide(planId, "planloom/plan/undo", { planId, stepId, redo: name === "redo" || undefined });
    }
    case "restore":
      return () => panel.decide(planId, "planloom/plan/restore", { planId, version, to: Number(second) });
    case "saveFiles":
      return () => panel.post({ kind: "saveAndGoOn", planId });
    case "regenerate":
      return () => panel.decide(planId, "planloom/plan/regenerate", { planId, version });
    case "reject":
      return () => {
        panel.change(planId, (forms) => (forms.texts.reject = ""));
        focusSoon("#prompt-text");
      };
    case "direct":
    case "pause":
    case "resume":
    case "review":
    case "cancel":
      return () => panel.decide(planId, `planloom/plan/${name}`, { planId });
    default:
      return undefined;
  }
}

/** A button for a command among these offers; nothing where the server does not offer it. `as` says something else on it. */
export function actionButton(
  panel: Panel,
  plan: Plan,
  offers: readonly Action[],
  name: string,
  { as, link, ...look }: ButtonOptions & { as?: View | string; link?: boolean } = {},
): View {
  const found = offers.find(({ command }) => command === `planloom.${name}`);
  const act = found === undefined ? undefined : performed(panel, plan, found);
  if (found === undefined || act === undefined) return nothing;
  return (link ? linkButton : button)(as ?? found.title, act, {
    title: found.title,
    ...(as === undefined ? {} : { ariaLabel: found.title }),
    ...look,
  });
}

/** The offers as entries of a menu, without those that stand beside it. */
export function actionItems(
  panel: Panel,
  plan: Plan,
  offers: readonly Action[],
  beside: readonly string[],
): MenuItem[] {
  return offers.flatMap((offer) => {
    const name = offer.command.replace("planloom.", "");
    const act = beside.includes(name) ? undefined : performed(panel, plan, offer);
    return act === undefined ? [] : [{ label: offer.title, act, id: name }];
  });
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
