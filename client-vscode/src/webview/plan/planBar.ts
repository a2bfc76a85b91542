// The bar at the top of a long plan: its state, its main button and the way to what happens, while the head is out of view.

import { html, nothing } from "lit";

import { offers, type PlanView } from "../../plan/views";
import type { Plan } from "../../protocol";
import { t } from "../../words";
import { button, linkButton, type Panel, shown, type View } from "../ui";
import { reviewOf } from "./planHeader";
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

function mainButton(panel: Panel, view: PlanView): View {
  const { plan } = view;
  const { planId, version } = plan;
  const main = (icon: string, label: string, click: () => void) => button(label, click, { id: "bar-main", icon });
  const control = (action: "pause" | "resume") => () => panel.decide(planId, `planloom/plan/${action}`, { planId });
  if (offers(view, "planloom.approve"))
    return main("play", t("Start"), () =>
      panel.decide(planId, "planloom/plan/approve", { planId, version, review: reviewOf(panel, plan) }),
    );
  if (offers(view, "planloom.pause")) return main("debug-pause", t("Pause"), control("pause"));
  if (offers(view, "planloom.resume") && view.decisions === 0)
    return main("debug-continue", t("Resume"), control("resume"));
  return nothing;
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
