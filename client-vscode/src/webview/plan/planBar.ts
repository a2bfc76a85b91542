// The bar at the top of a long plan: its state, its main button and the way to what happens, while the head is out of view.

import { html, nothing } from "lit";

import { offers, type PlanView } from "../../plan/views";
import type { Plan } from "../../protocol";
import { t } from "../../words";
import { linkButton, type Panel, shown, type View } from "../ui";
import { actionButton } from "./actions";
import { toSummary } from "./summary";

/** The step at work, of several the first. */
export function runningStep(plan: Plan): string | undefined {
  return plan.steps.find((step) => step.status === "running")?.stepId;
}

/** `away` names what is out of view: `head`, `outcome`, and the id of the running step. */
export function planBar(panel: Panel, view: PlanView): View {
  const { plan } = view;
  const { away } = panel.ui;
  if (!away.includes("head")) return nothing;
  const { completed, total } = view.progress;
  const running = runningStep(plan);
  return html`<div class="plan-bar" role="toolbar" aria-label=${t("The plan")}>
    <span class="plan-bar-state"><strong>${shown(view.state)}</strong>
      <span class="quiet">${completed}/${total}</span></span>
    <span class="plan-bar-actions">${
      view.decisions > 0
        ? linkButton(t("Show"), () => show(".cards"), { icon: "bell-dot", id: "bar-waits" })
        : running !== undefined && away.includes(running)
          ? linkButton(t("Follow"), () => show('.step[data-status="running"]'), {
              id: "follow",
              title: t("Show the running step, and stay with what runs"),
            })
          : toSummary(panel, "bar-summary")
    } ${mainButton(panel, view)}</span>
  </div>`;
}

/** What the bar offers of the whole plan: the first of these that the server offers. */
const MAIN = [
  ["approve", "play"],
  ["pause", "debug-pause"],
  ["resume", "debug-continue"],
] as const;

function mainButton(panel: Panel, view: PlanView): View {
  const { plan, actions, decisions } = view;
  const [name, icon] =
    MAIN.find(([each]) => offers(view, `planloom.${each}`) && (each !== "resume" || decisions === 0)) ?? [];
  if (name === undefined || icon === undefined) return nothing;
  const words = name === "approve" ? { as: t("Start") } : {};
  return actionButton(panel, plan, actions, name, { id: "bar-main", icon, ...words });
}

function show(selector: string): void {
  document.querySelector(selector)?.scrollIntoView({ block: "center" });
}

/**
 * Keeps the view with what runs, around each drawing. A user who looks at the running step, or at the one that ran last,
 * goes on to the next one; one who looks elsewhere, or has changed to another plan, stays there.
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
