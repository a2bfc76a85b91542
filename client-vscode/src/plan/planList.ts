// The list of all plans: what the ledger has, with what this window knows of those that it follows.

import type { PlanSummary, PlanView } from "../protocol";
import type { PanelState } from "./views";

/** One plan of the list: `waits` if it waits for the user. `updatedAt` is its last change. */
export interface ListedPlan
  extends Pick<PlanSummary, "planId" | "request" | "status" | "sign" | "state" | "live" | "progress" | "updatedAt"> {
  readonly waits: boolean;
}

/** All plans: those that wait for the user, then those that have not ended, then the others; each newest first. */
export function listed(summaries: readonly PlanSummary[], { plans }: PanelState): readonly ListedPlan[] {
  const found = new Map<string, ListedPlan>(summaries.map((each) => [each.planId, { ...each, waits: false }]));
  for (const view of Object.values(plans))
    found.set(view.plan.planId, ofView(view, found.get(view.plan.planId)?.updatedAt));
  const rank = ({ waits, live }: ListedPlan): number => (waits ? 0 : live ? 1 : 2);
  return [...found.values()].sort(
    (one, other) => rank(one) - rank(other) || other.updatedAt.localeCompare(one.updatedAt),
  );
}

function ofView({ plan, sign, state, waits, live, progress }: PlanView, updatedAt: string | undefined): ListedPlan {
  const { planId, request, status, completedAt, createdAt } = plan;
  const known = { planId, request, status, live, progress, updatedAt: updatedAt ?? completedAt ?? createdAt };
  return live && waits !== undefined
    ? { ...known, sign: "waiting", state: waits, waits: true }
    : { ...known, sign, state, waits: false };
}
